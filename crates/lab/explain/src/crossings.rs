//! The packets of a cell, in the order in which the link carried them.

use std::collections::BTreeMap;

use link::tap::{Fate, TCP, TapRecord, UDP};

use crate::flow::Flow;
use crate::leg::Leg;
use crate::packet::{Packet, Transport, opens_tcp};
use crate::streams::Streams;
use crate::turns::turns;

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
                packet.idle = turn.idle;
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
