use std::collections::BTreeMap;

use crate::{Packet, Transport};

/// Flows told apart; later ones share one ticket series. A cell has tens of flows: the bound only
/// keeps a port scan from eating memory.
const MAX_FLOWS: usize = 1 << 16;

/// What luck is drawn by: which flow, in order of appearance, and which of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// 0 for the first flow seen.
    pub(crate) flow_order: u32,
    /// 0 for the flow's first packet.
    pub(crate) index: u64,
}

/// Hands out tickets.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    order: BTreeMap<u64, u32>,
    packets: Vec<u64>,
}

impl Flows {
    /// The ticket of this packet; `None` for what never draws luck, so that ARP, ND and ICMP,
    /// which come when they like, shift nobody.
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
    fn flows_count_apart_in_order_of_appearance() {
        let mut flows = Flows::default();
        assert_eq!(flows.ticket(&packet(Transport::Tcp, 99)), ticket(0, 0));
        assert_eq!(flows.ticket(&packet(Transport::Udp, 5)), ticket(1, 0));
        assert_eq!(flows.ticket(&packet(Transport::Tcp, 99)), ticket(0, 1));
        assert_eq!(flows.ticket(&packet(Transport::Udp, 5)), ticket(1, 1));
    }

    #[test]
    fn other_frames_have_no_ticket_and_take_no_place() {
        let mut flows = Flows::default();
        assert_eq!(flows.ticket(&packet(Transport::Other, 1)), None);
        assert_eq!(flows.ticket(&packet(Transport::Tcp, 2)), ticket(0, 0));
    }

    #[test]
    fn too_many_flows_share_the_last_series() {
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
