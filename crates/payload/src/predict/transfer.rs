//! The response, packet by packet.

use std::collections::BTreeMap;

use link::Direction;

use super::handshake::Asked;
use super::pipe::Pipe;
use super::receiver::Receiver;
use super::sender::Sender;
use super::{PredictError, Prediction, Protocol};
use crate::wire::{QUIC_HEADER, QUIC_TAG, TCP_HEADER, UDP_HEADER, Wire};

/// Sends the response until all of it is there.
pub(super) fn transfer(
    mut pipe: Pipe,
    protocol: Protocol,
    response: Wire,
    asked: Asked,
) -> Result<Prediction, PredictError> {
    let packets = usize::try_from(response.packets).map_err(|_| PredictError::TooBig)?;
    let parts = asked.ahead.len() + packets;
    let sizes = Sizes::new(protocol, response, asked.ahead);
    let mut sender = Sender::new(protocol, asked, parts, sizes.payload);
    let mut receiver = Receiver::new(protocol, parts);
    let mut part_of = Vec::new();
    let mut acks = BTreeMap::new();
    let mut first_byte_ns = None;
    let mut now_ns = asked.at_ns;
    loop {
        while let Some((order, part)) = sender.packet(now_ns) {
            part_of.push(part);
            pipe.send(now_ns, Direction::Down, order, sizes.ip_bytes(part));
        }
        if let Some(orders) = receiver.acknowledge(now_ns) {
            let token = acks.len() as u64;
            acks.insert(token, orders);
            pipe.send(now_ns, Direction::Up, token, sizes.ack);
        }
        let next = [pipe.next_ns(), receiver.next_ns(), sender.next_ns(now_ns)];
        let next_ns = next.into_iter().flatten().min();
        now_ns = next_ns.ok_or(PredictError::Stalled)?.max(now_ns);
        if sender.stalled() {
            return Err(PredictError::Stalled);
        }
        while let Some(arrival) = pipe.arrival(now_ns) {
            match arrival.direction {
                Direction::Up => {
                    if let Some(orders) = acks.get(&arrival.token) {
                        sender.acknowledged(arrival.at_ns, orders);
                    }
                }
                Direction::Down => {
                    let part = part_of[arrival.token as usize];
                    receiver.packet(arrival.at_ns, arrival.token, part);
                    if part >= asked.ahead.len() {
                        first_byte_ns.get_or_insert(arrival.at_ns);
                    }
                    if receiver.complete() {
                        return Ok(Prediction {
                            first_byte_ns: first_byte_ns.unwrap_or(arrival.at_ns),
                            total_ns: arrival.at_ns,
                            packets: part_of.len() as u64,
                            dropped: pipe.dropped(),
                            without_luck: false,
                        });
                    }
                }
            }
        }
    }
}

/// Bytes of packets.
struct Sizes {
    ahead: &'static [u32],
    full: u32,
    last: u32,
    last_part: usize,
    /// What congestion control counts of a packet.
    payload: u32,
    ack: u32,
}

impl Sizes {
    fn new(protocol: Protocol, response: Wire, ahead: &'static [u32]) -> Sizes {
        let before_last = response.packets.saturating_sub(1);
        let full = response.packet_bytes;
        let last = response.bytes.saturating_sub(before_last * u64::from(full));
        let (headers, ack) = match protocol {
            // Linux counts segments.
            Protocol::H2 => (IP_HEADER + TCP_HEADER, IP_HEADER + TCP_HEADER),
            // quinn counts datagrams; an ACK frame with one range has about 5 bytes.
            Protocol::H3 => {
                let ack = (QUIC_HEADER + QUIC_TAG) as u32 + 5;
                (IP_HEADER + UDP_HEADER, IP_HEADER + UDP_HEADER + ack)
            }
        };
        Sizes {
            ahead,
            full,
            last: u32::try_from(last).unwrap_or(full).clamp(headers + 1, full),
            last_part: ahead.len() + before_last as usize,
            payload: full.saturating_sub(headers).max(1),
            ack,
        }
    }

    fn ip_bytes(&self, part: usize) -> u32 {
        match self.ahead.get(part) {
            Some(ip_bytes) => *ip_bytes,
            None if part == self.last_part => self.last,
            None => self.full,
        }
    }
}

/// The bench calls over IPv4.
const IP_HEADER: u32 = 20;
