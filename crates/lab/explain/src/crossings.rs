//! The packets of a cell, in the order in which the link carried them.

use std::collections::BTreeMap;

use link::tap::{Fate, TCP, TapRecord, UDP};
use link::{Cause, Direction};

use crate::flow::Flow;
use crate::leg::Leg;
use crate::packet::{Packet, Transport, opens_tcp};
use crate::streams::Streams;

/// The packets of a cell.
#[derive(Debug)]
pub struct Crossings {
    pub(crate) packets: Vec<Packet>,
    pub(crate) flows: Vec<Flow>,
    /// The connections from a client's port, in turn.
    of_port: BTreeMap<(Transport, u16), Vec<usize>>,
    /// Round-trip time of the empty link.
    pub(crate) rtt_ns: u64,
}

impl Crossings {
    /// Returns the crossings of a cell's packets in the order of their arrival, over the legs up and down. Strays, and
    /// packets that are neither TCP nor UDP, are left out.
    pub fn of(tap: &[TapRecord], up: &Leg, down: &Leg) -> Crossings {
        let mut crossings = Crossings {
            packets: Vec::with_capacity(tap.len()),
            flows: Vec::new(),
            of_port: BTreeMap::new(),
            rtt_ns: up.delay_ns.saturating_add(down.delay_ns),
        };
        let mut order: Vec<usize> = (0..tap.len()).filter(|&at| is_seen(&tap[at])).collect();
        order.sort_by_key(|&index| (tap[index].arrival_ns, index));
        let mut turns = turns(tap, &order, up, down);
        let mut streams: Vec<Streams> = Vec::new();
        for (number, &index) in order.iter().enumerate() {
            let record = &tap[index];
            let transport = match record.protocol {
                TCP => Transport::Tcp,
                _ => Transport::Quic,
            };
            let flow = crossings.flow(transport, record, &streams);
            streams.resize_with(crossings.flows.len(), Streams::default);
            let mut packet = Packet::of(record, index, flow);
            if let Some(turn) = turns[number].take() {
                packet.left_ns = turn.left_ns;
                packet.begin_ns = turn.begin_ns;
                packet.woke_ns = turn.woke_ns;
                packet.behind = turn.behind;
            }
            if transport == Transport::Tcp {
                streams[flow].place(&mut packet, record, number);
            }
            crossings.flows[flow].add(number, &packet);
            crossings.packets.push(packet);
        }
        for (flow, streams) in crossings.flows.iter_mut().zip(&streams) {
            flow.finish(&crossings.packets);
            flow.uses_sack = streams.uses_sack();
        }
        crossings
    }

    /// Returns the number of the last connection from a client's port that had begun by a time.
    pub(crate) fn flow_of(&self, transport: Transport, port: u16, by_ns: u64) -> Option<usize> {
        let mut flows = self.of_port.get(&(transport, port))?.iter().rev().copied();
        flows.find(|&flow| self.flows[flow].begun_ns <= by_ns)
    }

    /// Returns the connection of a packet. A SYN begins one unless it repeats that of the last from its port.
    fn flow(&mut self, transport: Transport, record: &TapRecord, streams: &[Streams]) -> usize {
        let key = (transport, record.client_port());
        let flows = self.of_port.entry(key).or_default();
        let is_new = match flows.last() {
            None => true,
            Some(&last) => opens_tcp(record) && !streams[last].may_have_begun_with(record),
        };
        if is_new {
            flows.push(self.flows.len());
            self.flows.push(Flow::new(record.arrival_ns));
        }
        flows[flows.len() - 1]
    }
}

/// Reports whether a packet crossed the link, or was dropped there: neither a stray nor a packet of another protocol.
fn is_seen(record: &TapRecord) -> bool {
    let is_offered = !matches!(record.fate, Fate::Refused | Fate::Unmapped);
    matches!(record.protocol, TCP | UDP) && !record.stray && is_offered
}

/// When the bottleneck served a packet.
#[derive(Clone, Copy, Debug)]
struct Turn {
    begin_ns: u64,
    left_ns: u64,
    woke_ns: Option<u64>,
    /// The packet in front, for whose departure it waited.
    behind: Option<usize>,
}

/// Returns the turn of each packet of `order`, by its number there. Those that a queue dropped have none.
fn turns(tap: &[TapRecord], order: &[usize], up: &Leg, down: &Leg) -> Vec<Option<Turn>> {
    let mut turns: Vec<Option<Turn>> = vec![None; order.len()];
    for (direction, leg) in [(Direction::Up, up), (Direction::Down, down)] {
        let takes_turn = |number: &usize| {
            let record = &tap[order[*number]];
            let is_served = matches!(
                record.fate,
                Fate::Delivered | Fate::InFlight | Fate::Dropped(Cause::Loss)
            );
            is_served && record.direction == direction
        };
        let mut served: Vec<usize> = (0..order.len()).filter(takes_turn).collect();
        if leg.is_fair {
            served.sort_by_key(|&number| (leg.shown_left_ns(&tap[order[number]]), number));
        }
        let mut last: Option<(usize, Turn)> = None;
        for number in served {
            let record = &tap[order[number]];
            let was_delivered = record.fate == Fate::Delivered;
            let latest_ns = match was_delivered {
                true => record.departure_ns.max(record.arrival_ns),
                false => u64::MAX,
            };
            let free_ns = last.map_or(0, |(_, front)| front.left_ns);
            let service = leg.service(record, free_ns, was_delivered);
            let left_ns = service.left_ns.min(latest_ns);
            let front = last.map(|(front, _)| front);
            let turn = Turn {
                begin_ns: service.begin_ns.min(left_ns),
                left_ns,
                woke_ns: service.woke_ns,
                behind: front.filter(|_| record.arrival_ns < free_ns),
            };
            turns[number] = Some(turn);
            last = Some((number, turn));
        }
    }
    turns
}
