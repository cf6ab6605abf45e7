//! A request beside the packets of its connection: what each end had sent and received.

use link::Direction;

use crate::flow::{Flow, Side};
use crate::packet::{Packet, side};
use crate::request::Request;

/// A pause that is too long for the process of an end to have been working.
pub(crate) const TIMER_NS: u64 = 5_000_000;
/// The server's log leaves out a sample that follows one of its kind within this time (`docs/reference/server-log.md`).
const LEFT_OUT_NS: u64 = 1_000_000;
/// A full segment has at least this payload where the MTU is at least 1,280 bytes (RFC 8200 section 5), with 20 bytes
/// of options.
const LEAST_FULL_BYTES: u16 = 1_200;

/// A request with the packets of its connection.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub(crate) request: &'a Request<'a>,
    /// All packets of the cell.
    pub(crate) packets: &'a [Packet],
    pub(crate) flow: &'a Flow,
    /// Round-trip time of the empty link.
    pub(crate) rtt_ns: u64,
}

impl<'a> Observed<'a> {
    pub(crate) fn packet(&self, number: usize) -> &'a Packet {
        &self.packets[number]
    }

    /// Returns what the packet's sender sent.
    pub(crate) fn own(&self, number: usize) -> &'a Side {
        self.flow.side(self.packets[number].direction)
    }

    /// Returns what the packet's sender received.
    pub(crate) fn received(&self, number: usize) -> &'a Side {
        self.flow.other_side(self.packets[number].direction)
    }

    /// Returns the last packet with data that the sender of this one sent before it.
    pub(crate) fn previous_data(&self, number: usize) -> Option<usize> {
        let sent = &self.own(number).sent;
        let earlier = sent[..sent.partition_point(|&at| at < number)].iter();
        let mut earlier = earlier.rev().copied();
        earlier.find(|&at| self.packets[at].has_data)
    }

    /// Returns the last packet that was delivered by a time and meets a condition.
    pub(crate) fn latest(
        &self,
        delivered: &[usize],
        by_ns: u64,
        is_wanted: impl Fn(&Packet) -> bool,
    ) -> Option<usize> {
        let end = delivered.partition_point(|&number| self.delivery_ns(number) <= by_ns);
        let mut earlier = delivered[..end].iter().rev().copied();
        earlier.find(|&number| is_wanted(&self.packets[number]))
    }

    /// Returns the payload of a full segment of TCP in a direction: that of the connection's longest there. Others may
    /// be of another IP version, or take another path.
    pub(crate) fn full_bytes(&self, direction: Direction) -> u16 {
        let seen = LEAST_FULL_BYTES.max(self.flow.side(direction).longest);
        let known = self.request.longest[side(direction)];
        known.map_or(seen, |known| known.min(seen))
    }

    /// Returns when a packet that was delivered reached its receiver.
    pub(crate) fn delivery_ns(&self, number: usize) -> u64 {
        let packet = &self.packets[number];
        packet.delivery_ns.unwrap_or(packet.left_ns)
    }

    /// Returns whether the server was held back by something else than its congestion window when a receipt came, after
    /// which it sent a packet. Without a sample of that time it is unknown.
    pub(crate) fn was_app_limited(&self, number: usize, receipt: usize) -> Option<bool> {
        let packet = self.packet(number);
        let log = self.request.sender?;
        let received_ns = self.delivery_ns(receipt);
        let place = log.samples.partition_point(|s| s.at_ns < received_ns);
        let (before, since) = log.samples.split_at(place);
        let of_receipt = since.first().filter(|s| s.at_ns <= packet.arrival_ns);
        let just_before = || {
            before
                .last()
                .filter(|s| received_ns - s.at_ns < LEFT_OUT_NS)
        };
        let sample = of_receipt.or_else(just_before)?;
        (packet.direction == Direction::Down).then_some(sample.app_limited)
    }

    /// Reports whether a packet was sent so soon after a receipt that the receipt can have been what its sender waited
    /// for.
    pub(crate) fn is_prompt(&self, number: usize, receipt: usize) -> bool {
        self.packets[number].arrival_ns - self.delivery_ns(receipt) < TIMER_NS
    }

    /// Returns when the server had read the whole request. Without a log it is unknown.
    pub(crate) fn request_read_ns(&self) -> Option<u64> {
        let served = self.request.served?;
        match self.request.request_bytes {
            0 => Some(served.received_ns.unwrap_or(served.read_ns)),
            _ => served.received_ns,
        }
    }

    /// Returns when the application had handed over all that a packet's sender sends of this call, if that end reports it.
    pub(crate) fn handed_over_ns(&self, direction: Direction) -> Option<u64> {
        match direction {
            Direction::Up => self.request.sent_ns,
            Direction::Down => self.request.served.map(|served| served.written_ns),
        }
    }
}
