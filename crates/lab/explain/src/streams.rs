//! TCP's sequence numbers: the place of each packet's bytes, and copies of bytes that were sent before.

use std::collections::BTreeMap;

use link::tap::{ACK, TapRecord};

use crate::packet::{Packet, side};

/// The two streams of bytes of a TCP connection.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Per direction: the sequence number at which it starts, and the first packet with each byte's range.
    sides: [Option<Stream>; 2],
}

#[derive(Debug)]
struct Stream {
    origin: u32,
    /// The end of each range and the first packet that carried it, by the range's start.
    carried: BTreeMap<u64, (u64, usize)>,
}

impl Streams {
    /// Reports whether a SYN can be the one that the connection began with.
    pub(crate) fn may_have_begun_with(&self, record: &TapRecord) -> bool {
        let stream = self.sides[side(record.direction)].as_ref();
        stream.is_none_or(|stream| stream.origin == record.seq)
    }

    /// Gives a packet its place in the streams, and finds the first packet with the same bytes.
    pub(crate) fn place(&mut self, packet: &mut Packet, record: &TapRecord, number: usize) {
        let side = side(packet.direction);
        let bytes = u64::from(record.sequence_length());
        let stream = self.sides[side].get_or_insert_with(|| Stream {
            origin: record.seq,
            carried: BTreeMap::new(),
        });
        let start = u64::from(record.seq.wrapping_sub(stream.origin));
        packet.end = start + bytes;
        if bytes > 0 {
            let before = stream.carried.range(..=start).next_back();
            packet.first_copy = before
                .filter(|&(_, &(end, _))| end > start)
                .map(|(_, &(_, first))| first);
            if packet.first_copy.is_none() {
                stream.carried.insert(start, (packet.end, number));
            }
        }
        if record.tcp_flags & ACK != 0
            && let Some(peer) = &self.sides[1 - side]
        {
            packet.acked = Some(u64::from(record.ack.wrapping_sub(peer.origin)));
        }
    }
}
