//! A packet on its way across the link.

use link::Direction;
use link::tap::{ACK, Fate, SYN, TCP, TapRecord};

use crate::Part;

/// A QUIC packet with one ACK frame and a few ranges is at most so long: 1 byte of flags, 8 to 20 of connection id, 1
/// to 4 of packet number, 16 of tag (RFC 9000 section 17.3, RFC 9001 section 5.3).
const QUIC_ACK_BYTES: u16 = 55;

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Transport {
    Tcp,
    /// QUIC over UDP.
    Quic,
}

/// A packet that the link accepted or dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Its index among the cell's packets.
    pub(crate) index: usize,
    pub(crate) direction: Direction,
    pub(crate) flow: usize,
    pub(crate) arrival_ns: u64,
    /// When the bottleneck began to send it.
    pub(crate) begin_ns: u64,
    /// When the radio had woken up for it, before that.
    pub(crate) woke_ns: Option<u64>,
    /// When the bottleneck had sent it; its arrival if it was dropped before.
    pub(crate) left_ns: u64,
    /// When its receiver got it; absent if it was dropped, or on the link when the window ended.
    pub(crate) delivery_ns: Option<u64>,
    pub(crate) was_dropped: bool,
    /// The packet in front of it, for whose departure it waited.
    pub(crate) behind: Option<usize>,
    /// What it waited for if nothing in front of it was served.
    pub(crate) idle: Part,
    /// The first packet with the same bytes, which TCP's sequence numbers show.
    pub(crate) first_copy: Option<usize>,
    pub(crate) payload_bytes: u16,
    /// It has anything but an acknowledgement.
    pub(crate) has_data: bool,
    pub(crate) is_syn: bool,
    pub(crate) first_byte: u8,
    /// TCP: the end of its bytes, from the start of its direction.
    pub(crate) end: u64,
    /// TCP: the bytes that it acknowledges, from the start of the other direction.
    pub(crate) acked: Option<u64>,
    /// TCP: the right edge of the window that it advertises, likewise; absent if the scale of windows is unknown.
    pub(crate) edge: Option<u64>,
    /// TCP: the end of the highest bytes that it reports by SACK, likewise.
    pub(crate) sacked: Option<u64>,
}

impl Packet {
    /// Returns a packet as it arrived, before the bottleneck.
    pub(crate) fn of(record: &TapRecord, index: usize, flow: usize) -> Packet {
        let delivered = record.fate == Fate::Delivered;
        let is_syn = record.protocol == TCP && record.tcp_flags & SYN != 0;
        Packet {
            index,
            direction: record.direction,
            flow,
            arrival_ns: record.arrival_ns,
            begin_ns: record.arrival_ns,
            woke_ns: None,
            left_ns: record.arrival_ns,
            delivery_ns: delivered.then(|| record.departure_ns.max(record.arrival_ns)),
            was_dropped: matches!(record.fate, Fate::Dropped(_) | Fate::Left),
            behind: None,
            idle: Part::Unexplained,
            first_copy: None,
            payload_bytes: record.payload_bytes,
            // A small packet of QUIC is judged when all are known.
            has_data: match record.protocol {
                TCP => record.payload_bytes > 0 || is_syn,
                _ => record.payload_bytes > QUIC_ACK_BYTES,
            },
            is_syn,
            first_byte: record.first_byte,
            end: 0,
            acked: None,
            edge: None,
            sacked: None,
        }
    }
}

/// Reports whether a packet asks for a TCP connection.
pub(crate) fn opens_tcp(record: &TapRecord) -> bool {
    record.protocol == TCP && record.tcp_flags & (SYN | ACK) == SYN
}

/// Returns 0 for up and 1 for down.
pub(crate) fn side(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}
