//! One capture of a connection: where it was made, and what that shows.
//!
//! The end at which the capture was made is seen exactly. All else is beyond it: the network and the other end. Packets
//! are placed as if each took half of the least round trip, and the time beyond that is the other end's. The walk's
//! reasons for that time are guesses, so that it becomes [`Part::Unexplained`] ([`Single::known`]).

use std::collections::BTreeMap;

use explain::{Part, Step};
use link::tap::{ACK, Fate, SYN};

use crate::connection::{Connection, Placed};
use crate::pieces::{boundaries, cut};
use crate::transit::{Copies, Transit};

/// A host answers in the handshake within this time, where only its kernel does.
const HOST_NS: u64 = 2_000_000;
/// The round trip is so many times as long as the time that the capture's own end takes, at least.
const LEAST_RATIO: u64 = 4;

/// A connection in one capture.
pub(crate) struct Single {
    /// The end at which the capture was made: 0 is the client's, 1 the server's.
    pub(crate) near: usize,
    /// The least round trip.
    pub(crate) rtt_ns: u64,
    pub(crate) transits: Vec<Transit>,
    /// Bytes that were acknowledged and that no packet has.
    pub(crate) missing_bytes: u64,
    /// Packets in which the near end sent bytes again that were not acknowledged.
    pub(crate) repairs: usize,
    /// When the near end first sent bytes that it had to send again.
    first_repaired_ns: Option<u64>,
}

/// Why a connection in one capture cannot be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undetermined {
    /// The client's answer to the SYN-ACK is not in the capture.
    NoHandshake,
    /// The handshake fits neither end: the times from the SYN to its answer, and from that to the client's next packet.
    Between([u64; 2]),
    TooLong,
}

impl Single {
    /// Finds out at which end a connection was captured, and places its packets by the client's clock, from `origin_ns`
    /// on.
    pub(crate) fn of(connection: &Connection, origin_ns: i128) -> Result<Single, Undetermined> {
        let handshake = answered_ns(connection).zip(confirmed_ns(connection));
        let (to_server_ns, to_client_ns) = handshake.ok_or(Undetermined::NoHandshake)?;
        let is_near =
            |own: u64, other: u64| own <= HOST_NS && own.saturating_mul(LEAST_RATIO) <= other;
        let near = match () {
            () if is_near(to_client_ns, to_server_ns) => 0,
            () if is_near(to_server_ns, to_client_ns) => 1,
            () => return Err(Undetermined::Between([to_server_ns, to_client_ns])),
        };
        let rtt_ns = least_rtt_ns(connection, near).min([to_server_ns, to_client_ns][near]);
        let boundaries = boundaries(connection.segments.iter());
        // The other end's acknowledgements show what this end waited for. What this end's own ones caused is unknown.
        let shown = connection
            .segments
            .iter()
            .filter(|segment| segment.side != near || segment.end > segment.start);
        let pieces = cut(shown, &boundaries, connection.longest).ok_or(Undetermined::TooLong)?;
        let mut single = Single {
            near,
            rtt_ns,
            transits: Vec::with_capacity(pieces.len()),
            missing_bytes: connection.missing_bytes(),
            repairs: 0,
            first_repaired_ns: None,
        };
        let mut copies = Copies::default();
        // The last copy of each piece of the near end, and what the other end has acknowledged.
        let mut last_copies: BTreeMap<u64, usize> = BTreeMap::new();
        let mut acked = 0;
        for piece in pieces {
            let at_ns = (i128::from(piece.at_ns) - origin_ns) as u64;
            let (sent_ns, received_ns) = match piece.side == near {
                true => (at_ns, at_ns + rtt_ns / 2),
                false => (at_ns.saturating_sub(rtt_ns / 2), at_ns),
            };
            let is_copy = copies.is_copy(&piece);
            if piece.side != near {
                acked = acked.max(piece.acked.unwrap_or(0));
            } else if piece.end > acked {
                // Which copy arrived is unknown: the last one is taken.
                let last = last_copies.insert(piece.start, single.transits.len());
                if let Some(last) = last.filter(|_| is_copy) {
                    single.repairs += 1;
                    let last = &mut single.transits[last];
                    last.fate = Fate::InFlight;
                    last.received_ns = last.sent_ns;
                    let repaired_ns = single.first_repaired_ns.unwrap_or(u64::MAX);
                    single.first_repaired_ns = Some(repaired_ns.min(last.sent_ns));
                }
            }
            single.transits.push(Transit {
                placed: piece,
                sent_ns,
                received_ns,
                fate: Fate::Delivered,
                is_copy,
                numbers: match near {
                    0 => [Some(piece.number), None],
                    _ => [None, Some(piece.number)],
                },
            });
        }
        Ok(single)
    }

    /// Returns the part of a step as far as this capture shows it.
    pub(crate) fn known(&self, step: &Step) -> Part {
        let own = match self.near {
            0 => Part::Client,
            _ => Part::Server,
        };
        let is_known = match step.part {
            Part::TcpHandshake | Part::TlsHandshake | Part::Exchange => true,
            // An end may have waited for what the capture missed.
            part => (part == own || part == Part::Nagle) && self.missing_bytes == 0,
        };
        let is_before_repair = self
            .first_repaired_ns
            .is_none_or(|at_ns| step.to_ns <= at_ns);
        match is_known && is_before_repair {
            true => step.part,
            false => Part::Unexplained,
        }
    }
}

/// Returns how long after the last SYN its answer came.
pub(crate) fn answered_ns(connection: &Connection) -> Option<u64> {
    let segments = &connection.segments;
    let answer = segments.iter().position(|segment| is_syn(segment, 1))?;
    let asked = segments[..answer]
        .iter()
        .rfind(|segment| is_syn(segment, 0))?;
    Some(segments[answer].at_ns - asked.at_ns)
}

/// Returns how long after the last answer to the SYN the client's next packet came.
fn confirmed_ns(connection: &Connection) -> Option<u64> {
    let segments = &connection.segments;
    let answer = segments.iter().position(|segment| is_syn(segment, 1))?;
    let is_next = |segment: &Placed| segment.side == 0 && segment.flags & (SYN | ACK) == ACK;
    let next = answer + segments[answer..].iter().position(is_next)?;
    let answered = segments[..next]
        .iter()
        .rfind(|segment| is_syn(segment, 1))?;
    Some(segments[next].at_ns - answered.at_ns)
}

fn is_syn(segment: &Placed, side: usize) -> bool {
    segment.side == side && segment.flags & SYN != 0
}

/// Returns the least time from a segment of the near end to an acknowledgement of it. Of copies the last counts, so that
/// it is no longer than a round trip.
fn least_rtt_ns(connection: &Connection, near: usize) -> u64 {
    let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut least_ns, mut acked) = (u64::MAX, 0);
    for segment in &connection.segments {
        if segment.side == near {
            // What was acknowledged is sent again as a probe.
            if segment.end > segment.start.max(acked) {
                waiting.insert(segment.end, segment.at_ns);
            }
            continue;
        }
        acked = acked.max(segment.acked.unwrap_or(0));
        while let Some(first) = waiting.first_entry()
            && *first.key() <= acked
        {
            least_ns = least_ns.min(segment.at_ns - first.remove());
        }
    }
    least_ns
}
