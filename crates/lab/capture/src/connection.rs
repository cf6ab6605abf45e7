//! The TCP connections of a capture, with each segment's place in its stream.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use link::tap::{ACK, FIN, SYN, TcpOptions};

use crate::frame::Segment;
use crate::ranges::Ranges;

/// The longest payload where no SYN names one: that of Ethernet over IPv4.
const ETHERNET_PAYLOAD: u64 = 1_460;
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

/// A connection whose handshake is in the capture.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    /// The initial sequence numbers, up and down: what the connection is known by in both captures.
    pub(crate) origins: [u32; 2],
    /// The longest payload of a packet on the wire, up and down.
    pub(crate) longest: [u64; 2],
    /// Packets that the capture has again, from another interface.
    pub(crate) seen_twice: usize,
    /// A segment is longer: the capture was made with segmentation offload.
    pub(crate) has_offload: bool,
    /// In the order of time.
    pub(crate) segments: Vec<Placed>,
}

impl Connection {
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
    /// Sorts a capture's segments, in the order of time, by connection.
    pub(crate) fn of(segments: &[Segment]) -> Connections {
        let mut open: Vec<Open> = Vec::new();
        let mut last: BTreeMap<[SocketAddr; 2], usize> = BTreeMap::new();
        for segment in segments {
            let mut ends = [segment.source, segment.destination];
            ends.sort_unstable();
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
                    Some(connection) => connections.established.push(connection),
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
            options: segment.options,
            stamp: segment.stamp,
            ip_id: segment.ip_id,
            ip_version: if segment.source.is_ipv4() { 4 } else { 6 },
            ecn: segment.ecn,
            first_byte: segment.first_byte,
        })
    });
    let placed: Vec<Placed> = placed.collect();
    let longest = [accepted.source, client].map(|receiver| {
        let named = segments.iter().filter(|segment| segment.source == receiver);
        let named = named.filter_map(|segment| Some((segment.longest?, segment.stamp)));
        let least = named.map(|(bytes, stamp)| {
            u64::from(bytes).saturating_sub(stamp.map_or(0, |_| STAMP_BYTES))
        });
        least
            .min()
            .filter(|bytes| *bytes > 0)
            .unwrap_or(ETHERNET_PAYLOAD)
    });
    let is_long = |segment: &Placed| segment.payload_bytes() > longest[segment.side];
    Some(Connection {
        client,
        server: accepted.source,
        origins,
        longest,
        seen_twice: all - segments.len(),
        has_offload: placed.iter().any(is_long),
        segments: placed,
    })
}

/// Returns segments without those that a capture on several interfaces has again, e.g. of a bridge and its port. They
/// equal one that came shortly before, also in what tells copies apart.
fn first_sights(segments: &[Segment]) -> Vec<&Segment> {
    let mut last = BTreeMap::new();
    let is_first = |segment: &&Segment| {
        let headers = (segment.seq, segment.ack, segment.flags, segment.window);
        let key = (
            segment.source,
            headers,
            segment.payload_bytes,
            segment.stamp,
            segment.ip_id,
        );
        let is_known = segment.ip_id != 0 || segment.payload_bytes > 0;
        let before_ns = last.insert(key, segment.at_ns);
        !(is_known && before_ns.is_some_and(|at_ns| segment.at_ns - at_ns < AGAIN_NS))
    };
    segments.iter().filter(is_first).collect()
}

/// Returns the place that is nearest to another, of those that 32 bits of a sequence number can mean.
fn unwrapped(low: u32, near: u64) -> Option<u64> {
    let distance = low.wrapping_sub(near as u32) as i32;
    near.checked_add_signed(distance.into())
}
