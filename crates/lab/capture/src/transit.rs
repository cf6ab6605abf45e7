//! A packet with both its times: what every construction from captures comes to.

use link::Direction;
use link::tap::{Fate, TCP, TapRecord};

use crate::connection::Placed;
use crate::ranges::Ranges;

/// TCP's and IPv4's headers without options.
const HEADER_BYTES: u16 = 40;

/// Later times count as this one. Sums of two do not overflow.
const MAX_NS: i128 = (u64::MAX / 4) as i128;

/// A packet on its way between the ends, by the client's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transit {
    pub(crate) placed: Placed,
    pub(crate) sent_ns: u64,
    /// When it was received; when it was sent if it was not.
    pub(crate) received_ns: u64,
    pub(crate) fate: Fate,
    /// Its sender had sent all of its bytes before.
    pub(crate) is_copy: bool,
    /// Its number in the client's capture and in the server's.
    pub(crate) numbers: [Option<u32>; 2],
}

impl Transit {
    /// Returns the packet as a link's record, with a port that stands for its connection.
    pub(crate) fn record(&self, port: u16, origins: [u32; 2]) -> TapRecord {
        let Placed {
            side, start, end, ..
        } = self.placed;
        let (direction, src_port, dst_port) = match side {
            0 => (Direction::Up, port, 0),
            _ => (Direction::Down, 0, port),
        };
        let payload_bytes = self.placed.payload_bytes() as u16;
        debug_assert!(end - start <= u64::from(u16::MAX), "pieces are short");
        TapRecord {
            arrival_ns: self.sent_ns,
            departure_ns: self.received_ns,
            seq: origins[side].wrapping_add(start as u32),
            ack: (self.placed.acked)
                .map_or(0, |acked| origins[1 - side].wrapping_add(acked as u32)),
            ip_bytes: payload_bytes.saturating_add(HEADER_BYTES),
            src_port,
            dst_port,
            payload_bytes,
            protocol: TCP,
            tcp_flags: self.placed.flags,
            first_byte: self.placed.first_byte.unwrap_or(0),
            direction,
            fate: self.fate,
            ip_version: self.placed.ip_version,
            ecn: self.placed.ecn,
            stray: false,
            window: self.placed.window,
            options: self.placed.options,
        }
    }

    /// Returns when it was sent and received, as far as that is assumed, since a capture missed it.
    pub(crate) fn assumed_ns(&self) -> [Option<u64>; 2] {
        if !self.was_delivered() {
            return [None; 2];
        }
        let side = self.placed.side;
        let lacks = |end: usize| self.numbers[end].is_none();
        [
            Some(self.sent_ns).filter(|_| lacks(side)),
            Some(self.received_ns).filter(|_| lacks(1 - side)),
        ]
    }

    /// Reports whether its receiver got it.
    pub(crate) fn was_delivered(&self) -> bool {
        self.fate == Fate::Delivered
    }
}

/// Finds copies among a connection's packets, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Copies([Ranges; 2]);

impl Copies {
    /// Reports whether all bytes of a packet had been sent before it.
    pub(crate) fn is_copy(&mut self, placed: &Placed) -> bool {
        placed.end > placed.start && self.0[placed.side].add(placed.start, placed.end) == 0
    }
}

/// Returns a time that can be counted on, whatever a file's times are.
pub(crate) fn clamped(ns: i128) -> u64 {
    ns.clamp(0, MAX_NS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_can_be_added() {
        assert_eq!([-5, 7].map(clamped), [0, 7]);
        let latest = clamped(i128::from(u64::MAX) + 600);
        assert!(latest.checked_add(latest).is_some());
    }
}
