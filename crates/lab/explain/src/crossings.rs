//! The packets of a cell, in the order in which the link carried them.

use std::collections::BTreeMap;

use link::Cause;
use link::tap::{Fate, TCP, TapRecord, UDP};

use crate::flow::Flow;
use crate::leg::Leg;
use crate::packet::{Packet, Transport, side};
use crate::streams::Streams;

/// The packets of a cell.
#[derive(Debug)]
pub struct Crossings {
    pub(crate) packets: Vec<Packet>,
    pub(crate) flows: Vec<Flow>,
    of_port: BTreeMap<(Transport, u16), usize>,
}

impl Crossings {
    /// Returns the crossings of a cell's packets in the order of their arrival, over the legs up and down. Strays, and
    /// packets that are neither TCP nor UDP, are left out.
    pub fn of(tap: &[TapRecord], up: Leg, down: Leg) -> Crossings {
        let mut crossings = Crossings {
            packets: Vec::with_capacity(tap.len()),
            flows: Vec::new(),
            of_port: BTreeMap::new(),
        };
        let mut order: Vec<usize> = (0..tap.len()).collect();
        order.sort_by_key(|&index| (tap[index].arrival_ns, index));
        let mut streams = BTreeMap::new();
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
            let flow = crossings.flow(transport, record.client_port());
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
                packet.left_ns = leg.left_ns(record, free_ns).min(latest_ns);
                packet.behind = last[side].filter(|_| packet.arrival_ns < free_ns);
                last[side] = Some(number);
            }
            if transport == Transport::Tcp {
                let stream: &mut Streams = streams.entry(flow).or_default();
                stream.place(&mut packet, record, number);
            }
            crossings.flows[flow].add(number, &packet);
            crossings.packets.push(packet);
        }
        for flow in &mut crossings.flows {
            flow.finish(&crossings.packets);
        }
        crossings
    }

    /// Returns the number of the flow from a client's port.
    pub(crate) fn flow_of(&self, transport: Transport, port: u16) -> Option<usize> {
        self.of_port.get(&(transport, port)).copied()
    }

    fn flow(&mut self, transport: Transport, port: u16) -> usize {
        let next = self.flows.len();
        let flow = *self.of_port.entry((transport, port)).or_insert(next);
        if flow == next {
            self.flows.push(Flow::default());
        }
        flow
    }
}
