//! One capture of a connection: where it was made, and what that shows.
//!
//! The end at which the capture was made is seen exactly. All else is beyond it: the network and the other end. Packets
//! are placed as if each took half of the least round trip, and the time beyond that is the other end's. The walk's
//! reasons for that time are guesses, so that it becomes [`Part::Unexplained`] ([`Single::known`]).

use std::collections::BTreeMap;

use explain::{Part, Step};
use link::tap::{ACK, Fate, SYN};

use crate::connection::{Connection, Placed};
use crate::exchange::Span;
use crate::pieces::{boundaries, cut};
use crate::transit::{Copies, Transit, clamped};

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
    /// TCP options of a SYN are cut off.
    lacks_syn_options: bool,
    /// Packets in which the near end sent bytes again that were not acknowledged.
    pub(crate) repairs: usize,
    /// Stretches in which bytes of the near end were missing at the other: from when they were first sent to when they
    /// were acknowledged. In order, and without overlaps.
    repaired_ns: Vec<[u64; 2]>,
}

/// Why a connection in one capture cannot be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undetermined {
    /// The client's answer to the SYN-ACK is not in the capture.
    NoHandshake,
    /// The handshake fits neither end: the times from the SYN to its answer, and from that to the client's next packet.
    Between([u64; 2]),
    /// Its segments have more pieces than are followed.
    TooManyPieces,
}

impl Single {
    /// Finds out at which end a connection was captured, and places its packets by the client's clock, from `origin_ns`
    /// on.
    pub(crate) fn of(
        connection: &Connection,
        origin_ns: i128,
        most_pieces: usize,
    ) -> Result<Single, Undetermined> {
        let handshake = answered(connection).zip(confirmed(connection));
        let (to_server, to_client) = handshake.ok_or(Undetermined::NoHandshake)?;
        let is_near = |own: Took, other: Took| {
            own.most_ns <= HOST_NS && own.most_ns.saturating_mul(LEAST_RATIO) <= other.least_ns
        };
        let near = match () {
            () if is_near(to_client, to_server) => 0,
            () if is_near(to_server, to_client) => 1,
            () => {
                let least_ns = [to_server, to_client].map(|took| took.least_ns);
                return Err(Undetermined::Between(least_ns));
            }
        };
        let rtt_ns = least_rtt_ns(connection, near);
        let rtt_ns = rtt_ns.unwrap_or([to_server, to_client][near].least_ns);
        let boundaries = boundaries(connection.segments.iter());
        // The other end's acknowledgements show what this end waited for. What this end's own ones caused is unknown.
        let shown = connection
            .segments
            .iter()
            .filter(|segment| segment.side != near || segment.end > segment.start);
        let pieces = cut(shown, &boundaries, connection.longest, most_pieces)
            .ok_or(Undetermined::TooManyPieces)?;
        let mut single = Single {
            near,
            rtt_ns,
            transits: Vec::with_capacity(pieces.len()),
            missing_bytes: connection.missing_bytes(),
            lacks_syn_options: connection.lacks.of_syn,
            repairs: 0,
            repaired_ns: Vec::new(),
        };
        let mut repairs = Repairs::default();
        let mut copies = Copies::default();
        // The last copy of each piece of the near end, and what the other end has acknowledged.
        let mut last_copies: BTreeMap<u64, usize> = BTreeMap::new();
        let mut acked = 0;
        for piece in pieces {
            let at_ns = clamped(i128::from(piece.at_ns) - origin_ns);
            let (sent_ns, received_ns) = match piece.side == near {
                true => (at_ns, at_ns.saturating_add(rtt_ns / 2)),
                false => (at_ns.saturating_sub(rtt_ns / 2), at_ns),
            };
            let is_copy = copies.is_copy(&piece);
            if piece.side != near {
                acked = acked.max(piece.acked.unwrap_or(0));
                repairs.acknowledge(acked, at_ns);
            } else if piece.end > acked {
                // Which copy arrived is unknown: the last one is taken.
                let last = last_copies.insert(piece.start, single.transits.len());
                if let Some(last) = last.filter(|_| is_copy) {
                    single.repairs += 1;
                    let last = &mut single.transits[last];
                    last.fate = Fate::InFlight;
                    last.received_ns = last.sent_ns;
                    repairs.begin(piece.end, last.sent_ns);
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
        single.repaired_ns = repairs.finish();
        Ok(single)
    }

    /// Returns the part of an exchange's step as far as this capture shows it. After bytes that the near end had to send
    /// again, the rest of the exchange is unexplained.
    pub(crate) fn known(&self, span: &Span, step: &Step) -> Part {
        let own = match self.near {
            0 => Part::Client,
            _ => Part::Server,
        };
        let is_known = match step.part {
            Part::TcpHandshake | Part::TlsHandshake | Part::Exchange => true,
            // An end may have waited for what the capture missed.
            Part::Nagle => !self.lacks_syn_options && self.missing_bytes == 0,
            part => part == own && self.missing_bytes == 0,
        };
        let over = self
            .repaired_ns
            .partition_point(|repair| repair[1] <= span.start_ns);
        let repair = self.repaired_ns.get(over);
        let is_before_repair = repair.is_none_or(|repair| step.to_ns <= repair[0]);
        match is_known && is_before_repair {
            true => step.part,
            false => Part::Unexplained,
        }
    }
}

/// Bytes of the near end that it had to send again.
#[derive(Debug, Default)]
struct Repairs {
    /// When the bytes up to each end were first sent, if they are not acknowledged.
    open: BTreeMap<u64, u64>,
    over_ns: Vec<[u64; 2]>,
}

impl Repairs {
    fn begin(&mut self, end: u64, sent_ns: u64) {
        let first_ns = self.open.entry(end).or_insert(sent_ns);
        *first_ns = sent_ns.min(*first_ns);
    }

    fn acknowledge(&mut self, acked: u64, at_ns: u64) {
        while let Some(first) = self.open.first_entry()
            && *first.key() <= acked
        {
            self.over_ns.push([first.remove(), at_ns]);
        }
    }

    /// Returns the stretches of the repairs, those joined that overlap.
    fn finish(self) -> Vec<[u64; 2]> {
        let unfinished = self.open.into_values().map(|from_ns| [from_ns, u64::MAX]);
        let mut all: Vec<[u64; 2]> = self.over_ns.into_iter().chain(unfinished).collect();
        all.sort_unstable();
        let mut joined: Vec<[u64; 2]> = Vec::new();
        for [from_ns, to_ns] in all {
            match joined.last_mut() {
                Some(last) if from_ns <= last[1] => last[1] = to_ns.max(last[1]),
                _ => joined.push([from_ns, to_ns]),
            }
        }
        joined
    }
}

/// How long an answer took. Which of several copies it answers is unknown (Karn's rule, RFC 6298 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Took {
    /// After the last copy.
    pub(crate) least_ns: u64,
    /// After the first copy.
    most_ns: u64,
}

/// Returns how long the answer to the SYN took.
pub(crate) fn answered(connection: &Connection) -> Option<Took> {
    let segments = &connection.segments;
    let answer = segments.iter().position(|segment| is_syn(segment, 1))?;
    took(segments, answer, 0)
}

/// Returns how long the client's next packet took after the answer to the SYN.
fn confirmed(connection: &Connection) -> Option<Took> {
    let segments = &connection.segments;
    let answer = segments.iter().position(|segment| is_syn(segment, 1))?;
    let is_next = |segment: &Placed| segment.side == 0 && segment.flags & (SYN | ACK) == ACK;
    let next = answer + segments[answer..].iter().position(is_next)?;
    took(segments, next, 1)
}

/// Returns how long a segment came after the SYNs of a side.
fn took(segments: &[Placed], answer: usize, side: usize) -> Option<Took> {
    let before = &segments[..answer];
    let first = before.iter().find(|segment| is_syn(segment, side))?;
    let last = before.iter().rfind(|segment| is_syn(segment, side))?;
    let since = |syn: &Placed| segments[answer].at_ns.saturating_sub(syn.at_ns);
    Some(Took {
        least_ns: since(last),
        most_ns: since(first),
    })
}

fn is_syn(segment: &Placed, side: usize) -> bool {
    segment.side == side && segment.flags & SYN != 0
}

/// Returns the least time from a segment of the near end to an acknowledgement of it. Segments that were sent more than
/// once do not count (Karn's rule): which copy is acknowledged is unknown.
fn least_rtt_ns(connection: &Connection, near: usize) -> Option<u64> {
    // When the segment up to each end was sent; absent if any of it was sent twice.
    let mut waiting: BTreeMap<u64, Option<u64>> = BTreeMap::new();
    let (mut least_ns, mut acked, mut sent) = (None, 0, 0);
    for segment in &connection.segments {
        if segment.side == near {
            // What was acknowledged is sent again as a probe.
            let start = segment.start.max(acked);
            if segment.end <= start {
                continue;
            }
            let is_new = start >= sent;
            if !is_new {
                // The one after the copy's end may begin within the copy.
                let within = waiting.range_mut(start + 1..segment.end);
                within.for_each(|(_, sent_ns)| *sent_ns = None);
                let mut last = waiting.range_mut(segment.end..);
                if let Some((_, sent_ns)) = last.next() {
                    *sent_ns = None;
                }
            }
            let sent_ns = Some(segment.at_ns).filter(|_| is_new);
            waiting.entry(segment.end).or_insert(sent_ns);
            sent = sent.max(segment.end);
            continue;
        }
        acked = acked.max(segment.acked.unwrap_or(0));
        while let Some(first) = waiting.first_entry()
            && *first.key() <= acked
        {
            if let Some(sent_ns) = first.remove() {
                let took_ns = segment.at_ns.saturating_sub(sent_ns);
                least_ns = Some(least_ns.unwrap_or(took_ns).min(took_ns));
            }
        }
    }
    least_ns
}
