//! TCP's sequence numbers: the place of each packet's bytes, copies of bytes that were sent before, and what its
//! acknowledgement says of the other direction.

use std::collections::BTreeMap;

use link::tap::{ACK, SYN, Sack, TapRecord, TcpOptions};

use crate::packet::{Packet, side};

/// A probe of a closed window has so much of the bytes that are sent once it opens (RFC 9293 section 3.8.6.1).
const PROBE_BYTES: u64 = 1;

/// The two streams of bytes of a TCP connection.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Per direction: the sequence number at which it starts, and the first packet with each byte's range.
    sides: [Option<Stream>; 2],
    /// The options of each side's SYN, if it was seen.
    syn_options: [Option<TcpOptions>; 2],
}

#[derive(Debug)]
struct Stream {
    origin: u32,
    /// The end of the highest bytes that were sent.
    end: u64,
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
            end: 0,
            carried: BTreeMap::new(),
        });
        let start = stream.place(record.seq);
        packet.end = start + bytes;
        if bytes > 0 {
            stream.end = stream.end.max(packet.end);
            let before = stream.carried.range(..=start).next_back();
            let is_copy = |end: u64| end > start + PROBE_BYTES || end >= packet.end;
            packet.first_copy = before
                .filter(|&(_, &(end, _))| is_copy(end))
                .map(|(_, &(_, first))| first);
            if packet.first_copy.is_none() {
                stream.carried.insert(start, (packet.end, number));
            }
        }
        if record.tcp_flags & SYN != 0 {
            self.syn_options[side] = Some(record.options);
        }
        if record.tcp_flags & ACK != 0
            && let Some(peer) = &self.sides[1 - side]
        {
            packet.acked = Some(peer.place(record.ack));
            packet.edge = self
                .window(record)
                .map(|bytes| peer.place(record.ack) + bytes);
            packet.sacked = match record.options.sack {
                Sack::UpTo(end) => Some(peer.place(end)),
                Sack::Absent | Sack::Permitted => None,
            };
        }
    }

    /// Returns the window that a packet advertises. It is scaled if both SYNs have the option, and in no SYN (RFC 7323
    /// section 2.2).
    fn window(&self, record: &TapRecord) -> Option<u64> {
        let [Some(up), Some(down)] = self.syn_options else {
            return None;
        };
        let own = [up, down][side(record.direction)];
        let is_scaled = up.window_shift.is_some() && down.window_shift.is_some();
        let shift = own
            .window_shift
            .filter(|_| is_scaled && record.tcp_flags & SYN == 0);
        Some(u64::from(record.window) << shift.unwrap_or(0))
    }

    /// Reports whether both ends use SACK (RFC 2018 section 2).
    pub(crate) fn uses_sack(&self) -> bool {
        let permits =
            |options: &Option<TcpOptions>| options.map(|o| o.sack) == Some(Sack::Permitted);
        self.syn_options.iter().all(permits)
    }
}

impl Stream {
    /// Returns the place of a sequence number: of those that its 32 bits can mean, the nearest to what was sent last.
    /// Places begin with 0, also those before the first packet that was seen.
    fn place(&self, number: u32) -> u64 {
        let low = number.wrapping_sub(self.origin);
        let distance = low.wrapping_sub(self.end as u32) as i32;
        self.end.saturating_add_signed(distance.into())
    }
}
