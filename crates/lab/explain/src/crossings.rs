//! The packets of a cell, in the order in which the link carried them.

use std::collections::BTreeMap;

use link::Cause;
use link::tap::{Fate, TCP, TapRecord, UDP};

use crate::flow::Flow;
use crate::leg::Leg;
use crate::packet::{Packet, Transport, opens_tcp, side};
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
        let mut order: Vec<usize> = (0..tap.len()).collect();
        order.sort_by_key(|&index| (tap[index].arrival_ns, index));
        let mut streams: Vec<Streams> = Vec::new();
        let mut last: [Option<usize>; 2] = [None; 2];
        for index in order {
            let record = &tap[index];
            let transport = match record.protocol {
                TCP => Transport::Tcp,
                UDP => Transport::Quic,
                _ => continue,
            };
            let is_offered = !matches!(record.fate, Fate::Refused | Fate::Unmapped);
            if record.stray || !is_offered {
                continue;
            }
            let flow = crossings.flow(transport, record, &streams);
            streams.resize_with(crossings.flows.len(), Streams::default);
            let side = side(record.direction);
            let leg = [up, down][side];
            let number = crossings.packets.len();
            let mut packet = Packet::of(record, index, flow);
            let takes_turn = matches!(
                record.fate,
                Fate::Delivered | Fate::InFlight | Fate::Dropped(Cause::Loss)
            );
            if takes_turn {
                let front = last[side].map(|front: usize| &crossings.packets[front]);
                let free_ns = front.map_or(0, |front| front.left_ns);
                let latest_ns = packet.delivery_ns.unwrap_or(u64::MAX);
                let service = leg.service(record, free_ns, packet.delivery_ns.is_some());
                packet.left_ns = service.left_ns.min(latest_ns);
                packet.begin_ns = service.begin_ns.min(packet.left_ns);
                packet.woke_ns = service.woke_ns;
                packet.behind = last[side].filter(|_| packet.arrival_ns < free_ns);
                last[side] = Some(number);
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
