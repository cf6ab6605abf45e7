//! The TCP connections of a capture, with each segment's place in its stream.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use link::tap::{ACK, FIN, SYN, Sack, TcpOptions};

use crate::frame::{Segment, Sight};
use crate::ranges::Ranges;
use crate::{Capture, Ends};

/// The longest payload where no SYN names one: that of Ethernet, over IPv4 and over IPv6.
const ETHERNET_PAYLOAD: [u64; 2] = [1_460, 1_440];
/// What a sender must assume in the same case (RFC 9293 section 3.7.1).
const DEFAULT_PAYLOAD: u64 = 536;
/// The least MTU of IPv4 without headers and their options (RFC 791): none names less than that.
const LEAST_PAYLOAD: u64 = 28;
/// The largest scale of windows (RFC 7323 section 2.3).
const LONGEST_SHIFT: u8 = 14;
/// The option that a stamp takes in every segment.
const STAMP_BYTES: u64 = 12;

/// A host passes a packet from interface to interface within this time.
const AGAIN_NS: u64 = 1_000_000;

/// A segment of a connection. Places are counted from its sender's SYN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// 0 from the client, 1 from the server.
    pub(crate) side: usize,
    pub(crate) number: u32,
    pub(crate) at_ns: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The end of what it acknowledges of the other direction.
    pub(crate) acked: Option<u64>,
    pub(crate) flags: u8,
    pub(crate) window: u16,
    pub(crate) options: TcpOptions,
    pub(crate) stamp: Option<u32>,
    pub(crate) ip_id: u16,
    pub(crate) ip_version: u8,
    pub(crate) ecn: u8,
    pub(crate) first_byte: Option<u8>,
}

impl Placed {
    /// Returns the bytes of its payload.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.end - self.start - u64::from((self.flags & (SYN | FIN)).count_ones())
    }
}

/// What a capture did not keep of a connection's TCP options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    /// Some of a SYN, so that the scale of windows is unknown, and whether SACK is used.
    pub(crate) of_syn: bool,
    /// Some of any segment, e.g. SACK's blocks.
    pub(crate) any: bool,
}

/// A connection whose handshake is in the capture.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    /// The initial sequence numbers, up and down: what the connection is known by in both captures.
    pub(crate) origins: [u32; 2],
    /// The longest payload of a packet on the wire, up and down.
    pub(crate) longest: [u64; 2],
    /// A segment with less payload is not full, up and down.
    pub(crate) surely_full: [u64; 2],
    /// Packets that the capture has again, from another interface.
    pub(crate) seen_twice: usize,
    /// A segment is longer: the capture was made with segmentation offload.
    pub(crate) has_offload: bool,
    /// What the capture did not keep of TCP's options.
    pub(crate) lacks: Lacks,
    /// The timestamps of the SYNs, up and down.
    pub(crate) syn_stamps: [BTreeSet<u32>; 2],
    /// The capture has more of its segments than are kept.
    pub(crate) is_too_long: bool,
    /// In the order of time.
    pub(crate) segments: Vec<Placed>,
}

impl Connection {
    /// Returns its addresses with their ports, in order.
    pub(crate) fn ends(&self) -> Ends {
        let mut ends = [self.client, self.server];
        ends.sort_unstable();
        ends
    }

    /// Returns how many bytes were acknowledged and are in no packet of the capture.
    pub(crate) fn missing_bytes(&self) -> u64 {
        let mut had = [Ranges::default(), Ranges::default()];
        let mut acked = [0; 2];
        for segment in &self.segments {
            had[segment.side].add(segment.start, segment.end);
            let of = &mut acked[1 - segment.side];
            *of = segment.acked.unwrap_or(0).max(*of);
        }
        let missing = had.iter().zip(acked);
        missing.map(|(had, acked)| had.missing_before(acked)).sum()
    }
}

/// The connections of a capture.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// In the order of their first SYN.
    pub(crate) established: Vec<Connection>,
    /// The capture began later than these.
    pub(crate) without_handshake: usize,
    /// The SYN has no answer in the capture.
    pub(crate) unanswered: usize,
}

/// A connection as its segments are collected.
struct Open {
    /// The client, with its initial sequence number, if the SYN is in the capture.
    client: Option<(SocketAddr, u32)>,
    segments: Vec<Segment>,
}

impl Connections {
    /// Sorts a capture's segments by connection.
    pub(crate) fn of(capture: &Capture) -> Connections {
        let mut open: Vec<Open> = Vec::new();
        let mut last: BTreeMap<Ends, usize> = BTreeMap::new();
        for segment in &capture.segments {
            let ends = segment.ends();
            let opens = segment.flags & (SYN | ACK) == SYN;
            let client = opens.then_some((segment.source, segment.seq));
            let current = last.get(&ends).copied();
            let is_new = current.is_none_or(|at| opens && open[at].client != client);
            let at = match current.filter(|_| !is_new) {
                Some(at) => at,
                None => {
                    open.push(Open {
                        client,
                        segments: Vec::new(),
                    });
                    open.len() - 1
                }
            };
            last.insert(ends, at);
            open[at].segments.push(*segment);
        }
        let mut connections = Connections::default();
        for open in open {
            match open.client {
                None => connections.without_handshake += 1,
                Some(client) => match established(client, &open.segments) {
                    Some(mut connection) => {
                        connection.is_too_long = capture.too_long.contains(&connection.ends());
                        connections.established.push(connection);
                    }
                    None => connections.unanswered += 1,
                },
            }
        }
        connections
    }
}

/// Returns a connection if its SYN was accepted.
fn established((client, isn): (SocketAddr, u32), segments: &[Segment]) -> Option<Connection> {
    let accepts = |segment: &&Segment| {
        segment.source != client
            && segment.flags & (SYN | ACK) == SYN | ACK
            // It may acknowledge data of the SYN, too (RFC 7413).
            && (1..=1 << 16).contains(&segment.ack.wrapping_sub(isn))
    };
    let accepted = segments.iter().find(accepts)?;
    let all = segments.len();
    let segments = first_sights(segments);
    let mut lacks = Lacks::default();
    for segment in segments.iter().filter(|segment| segment.lacks_options) {
        lacks.any = true;
        lacks.of_syn |= segment.flags & SYN != 0;
    }
    let options = |segment: &Segment| match segment.flags & SYN {
        // With an unknown scale no window is known to be full.
        SYN if lacks.of_syn => TcpOptions {
            window_shift: Some(LONGEST_SHIFT),
            ..segment.options
        },
        _ => segment.options,
    };
    let origins = [isn, accepted.seq];
    let mut ends = [0_u64; 2];
    let placed = segments.iter().filter_map(|&segment| {
        let side = usize::from(segment.source != client);
        let length = u64::from(segment.payload_bytes)
            + u64::from((segment.flags & (SYN | FIN)).count_ones());
        let start = unwrapped(segment.seq.wrapping_sub(origins[side]), ends[side])?;
        if length > 0 {
            ends[side] = ends[side].max(start + length);
        }
        let acks = segment.flags & ACK != 0;
        let acked = acks.then(|| segment.ack.wrapping_sub(origins[1 - side]));
        Some(Placed {
            side,
            number: segment.number,
            at_ns: segment.at_ns,
            start,
            end: start + length,
            acked: acked.and_then(|acked| unwrapped(acked, ends[1 - side])),
            flags: segment.flags,
            window: segment.window,
            options: options(segment),
            stamp: segment.stamp,
            ip_id: segment.ip_id,
            ip_version: if segment.source.is_ipv4() { 4 } else { 6 },
            ecn: segment.ecn,
            first_byte: segment.first_byte,
        })
    });
    let placed: Vec<Placed> = placed.collect();
    let syns = |end: SocketAddr| {
        let of_end = segments.iter().filter(move |segment| segment.source == end);
        of_end.filter(|segment| segment.flags & SYN != 0)
    };
    let syn_stamps = [client, accepted.source].map(|end| {
        let stamps = syns(end).filter_map(|segment| segment.stamp);
        stamps.collect::<BTreeSet<u32>>()
    });
    let has_stamps = syn_stamps.iter().all(|stamps| !stamps.is_empty());
    let stamp_bytes = if has_stamps { STAMP_BYTES } else { 0 };
    let named = [accepted.source, client].map(|receiver| {
        let named = syns(receiver).filter_map(|segment| segment.longest);
        named.min().map(u64::from)
    });
    let longest_or = |default: u64| {
        named.map(|bytes| {
            let bytes = bytes.unwrap_or(default);
            bytes.saturating_sub(stamp_bytes).max(LEAST_PAYLOAD)
        })
    };
    let longest = longest_or(ETHERNET_PAYLOAD[usize::from(client.is_ipv6())]);
    let is_long = |segment: &Placed| segment.payload_bytes() > longest[segment.side];
    Some(Connection {
        client,
        server: accepted.source,
        origins,
        longest,
        surely_full: longest_or(DEFAULT_PAYLOAD),
        seen_twice: all - segments.len(),
        has_offload: placed.iter().any(is_long),
        lacks,
        syn_stamps,
        is_too_long: false,
        segments: placed,
    })
}

/// What packets that are seen again have in common, which tells copies apart as far as possible.
type Headers = (
    SocketAddr,
    (u32, u32, u8, u16),
    u32,
    (Option<u32>, Option<u32>),
    u16,
);

/// The sights of packets that are alike and came shortly after each other.
#[derive(Default)]
struct Sights {
    first_ns: u64,
    /// How many packets they are.
    packets: usize,
    /// How many of them each place has shown.
    shown: Vec<(Sight, usize)>,
}

/// Returns segments without those that a capture on several interfaces has again, e.g. of a bridge and its port. They
/// equal one that came shortly before.
fn first_sights(segments: &[Segment]) -> Vec<&Segment> {
    let mut alike: BTreeMap<Headers, Sights> = BTreeMap::new();
    let is_first = |segment: &&Segment| {
        let sack = match segment.options.sack {
            Sack::UpTo(end) => Some(end),
            Sack::Absent | Sack::Permitted => None,
        };
        let key = (
            segment.source,
            (segment.seq, segment.ack, segment.flags, segment.window),
            segment.payload_bytes,
            (segment.stamp, sack),
            segment.ip_id,
        );
        let sights = alike.entry(key).or_default();
        if segment.at_ns.saturating_sub(sights.first_ns) >= AGAIN_NS {
            *sights = Sights {
                first_ns: segment.at_ns,
                ..Sights::default()
            };
        }
        let place = sights
            .shown
            .iter_mut()
            .find(|(sight, _)| *sight == segment.sight);
        let shown = match place {
            Some((_, shown)) => {
                *shown += 1;
                *shown
            }
            None => {
                sights.shown.push((segment.sight, 1));
                1
            }
        };
        // A host sends nothing twice so soon that takes sequence numbers, and nothing with the same identification.
        let takes_numbers = segment.payload_bytes > 0 || segment.flags & (SYN | FIN) != 0;
        let is_one = segment.ip_id != 0 || takes_numbers;
        let is_again = match segment.sight.is_interface {
            true => shown <= sights.packets,
            false => sights.packets > 0 && (is_one || shown <= sights.packets),
        };
        sights.packets += usize::from(!is_again);
        !is_again
    };
    segments.iter().filter(is_first).collect()
}

/// Returns the place that is nearest to another, of those that 32 bits of a sequence number can mean.
fn unwrapped(low: u32, near: u64) -> Option<u64> {
    let distance = low.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(distance.into())
}
