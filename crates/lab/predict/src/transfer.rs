//! The event loop of a response.

use std::collections::BTreeMap;

use link::Direction;

use crate::handshake::Request;
use crate::packets::ResponsePackets;
use crate::pipe::Pipe;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::sizes::Sizes;
use crate::{PredictError, Prediction, Protocol};

/// Sends the response until all of it has arrived.
pub(crate) fn transfer(
    mut pipe: Pipe,
    protocol: Protocol,
    response: ResponsePackets,
    request: Request,
) -> Result<Prediction, PredictError> {
    let packets = usize::try_from(response.packets).map_err(|_| PredictError::TooBig)?;
    let parts = request.preamble.len() + packets;
    let sizes = Sizes::new(protocol, response, request.preamble);
    let mut sender = Sender::new(protocol, request, parts, sizes);
    let mut receiver = Receiver::new(protocol, parts);
    let mut part_of = Vec::new();
    let mut acks = BTreeMap::new();
    let mut first_byte_ns = None;
    let mut now_ns = request.arrival_ns;
    loop {
        while let Some((order, part)) = sender.next_packet(now_ns) {
            part_of.push(part);
            pipe.send(now_ns, Direction::Down, order, sizes.ip_bytes(part));
        }
        if let Some(orders) = receiver.take_ack(now_ns) {
            let token = acks.len() as u64;
            acks.insert(token, orders);
            pipe.send(now_ns, Direction::Up, token, sizes.ack());
        }
        let next = [pipe.next_ns(), receiver.next_ns(), sender.next_ns(now_ns)];
        let next_ns = next.into_iter().flatten().min();
        now_ns = next_ns.ok_or(PredictError::Stalled)?.max(now_ns);
        if sender.is_stalled() {
            return Err(PredictError::Stalled);
        }
        while let Some(arrival) = pipe.arrival(now_ns) {
            match arrival.direction {
                Direction::Up => {
                    if let Some(orders) = acks.get(&arrival.token) {
                        sender.on_ack(arrival.at_ns, orders);
                    }
                }
                Direction::Down => {
                    let part = part_of[arrival.token as usize];
                    receiver.on_packet(arrival.at_ns, arrival.token, part);
                    if part >= request.preamble.len() {
                        first_byte_ns.get_or_insert(arrival.at_ns);
                    }
                    if receiver.is_complete() {
                        return Ok(Prediction {
                            first_byte_ns: first_byte_ns.unwrap_or(arrival.at_ns),
                            total_ns: arrival.at_ns,
                            packets: part_of.len() as u64,
                            dropped: pipe.dropped(),
                            excludes_random_loss: false,
                        });
                    }
                }
            }
        }
    }
}
