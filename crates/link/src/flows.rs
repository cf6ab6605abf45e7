//! Tickets: which packet of which flow, the key of every random draw.

use std::collections::BTreeMap;

use crate::model::{Packet, Transport};

/// Flows that are distinguished; later ones share one series of tickets. A cell has tens of flows:
/// the limit only keeps a port scan from using up memory.
const MAX_FLOWS: usize = 1 << 16;

/// Identifies a packet by its flow, in order of appearance, and its number within the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// 0 for the first flow seen.
    pub(crate) flow_order: u32,
    /// 0 for the flow's first packet.
    pub(crate) index: u64,
}

/// Issues tickets.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// The order of appearance of each [`Packet::flow`].
    order: BTreeMap<u64, u32>,
    /// Packets of each flow so far.
    packets: Vec<u64>,
}

impl Flows {
    /// Returns the ticket of this packet; `None` for ARP, ND and ICMP, which come at unpredictable
    /// times and must not shift the draws of other packets.
    pub(crate) fn ticket(&mut self, packet: &Packet) -> Option<Ticket> {
        if packet.transport == Transport::Other {
            return None;
        }
        let flow_order = self.order_of(packet.flow);
        let next = &mut self.packets[flow_order as usize];
        let index = *next;
        *next += 1;
        Some(Ticket { flow_order, index })
    }

    fn order_of(&mut self, flow: u64) -> u32 {
        if let Some(&order) = self.order.get(&flow) {
            return order;
        }
        let order = self.order.len().min(MAX_FLOWS);
        if order == self.packets.len() {
            self.packets.push(0);
        }
        let order = u32::try_from(order).expect("MAX_FLOWS fits u32");
        if self.order.len() < MAX_FLOWS {
            self.order.insert(flow, order);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(transport: Transport, flow: u64) -> Packet {
        Packet {
            token: 0,
            ip_bytes: 100,
            transport,
            src_port: 1,
            dst_port: 2,
            flow,
        }
    }

    fn ticket(flow_order: u32, index: u64) -> Option<Ticket> {
        Some(Ticket { flow_order, index })
    }

    #[test]
    fn flows_are_numbered_in_order_of_appearance() {
        let mut flows = Flows::default();
        assert_eq!(flows.ticket(&packet(Transport::Tcp, 99)), ticket(0, 0));
        assert_eq!(flows.ticket(&packet(Transport::Udp, 5)), ticket(1, 0));
        assert_eq!(flows.ticket(&packet(Transport::Tcp, 99)), ticket(0, 1));
        assert_eq!(flows.ticket(&packet(Transport::Udp, 5)), ticket(1, 1));
    }

    #[test]
    fn other_transports_get_no_ticket_and_no_number() {
        let mut flows = Flows::default();
        assert_eq!(flows.ticket(&packet(Transport::Other, 1)), None);
        assert_eq!(flows.ticket(&packet(Transport::Tcp, 2)), ticket(0, 0));
    }

    #[test]
    fn flows_beyond_the_limit_share_one_series() {
        let mut flows = Flows::default();
        for flow in 0..MAX_FLOWS as u64 {
            flows.ticket(&packet(Transport::Udp, flow));
        }
        let last = MAX_FLOWS as u32;
        assert_eq!(
            flows.ticket(&packet(Transport::Udp, 1 << 40)),
            ticket(last, 0)
        );
        assert_eq!(
            flows.ticket(&packet(Transport::Udp, 1 << 41)),
            ticket(last, 1)
        );
        assert_eq!(flows.ticket(&packet(Transport::Udp, 3)), ticket(3, 1));
        assert_eq!(flows.order.len(), MAX_FLOWS);
    }
}
