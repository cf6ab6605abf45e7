//! Flow numbers and tickets. A ticket identifies a packet within its flow; every random draw depends on it.

use std::collections::BTreeMap;

use crate::model::{Direction, Packet};

/// The number of flows that are distinguished in each direction; later ones share the last number. A cell has tens of
/// flows: the limit only keeps a port scan from using up memory.
const MAX_FLOWS: u32 = 1 << 16;
/// IP bytes above which a packet counts as full-size: it carries bulk data. Acknowledgements and
/// most requests are smaller.
pub const FULL_SIZE_ABOVE_BYTES: u32 = 1000;

/// Identifies a packet by its series and its number within that. The full-size packets of a flow are one series and all
/// others are another. One acknowledgement more or less thus does not shift the draws of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Twice the number of the flow, plus 1 for packets that are not full-size.
    pub(crate) series: u64,
    /// 0 for the first packet of the series.
    pub(crate) index: u64,
}

/// Issues the tickets of one direction.
#[derive(Debug, Default)]
pub(crate) struct Tickets {
    /// Packets of each series so far.
    packets: BTreeMap<u64, u64>,
}

impl Tickets {
    /// Returns the ticket of this packet; `None` when it belongs to no numbered flow.
    pub(crate) fn next(&mut self, packet: &Packet) -> Option<Ticket> {
        let small = packet.ip_bytes <= FULL_SIZE_ABOVE_BYTES;
        let series = 2 * u64::from(packet.flow?) + u64::from(small);
        let next = self.packets.entry(series).or_default();
        let index = *next;
        *next += 1;
        Some(Ticket { series, index })
    }
}

/// Which packets open a flow, i.e. give it a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowRule {
    /// The first packet of a flow, in either direction. For traffic of any kind.
    #[default]
    AnyPacket,
    /// A packet from client to server that starts a connection, i.e. one with an *opening*: a TCP SYN
    /// or a QUIC Initial. Packets of other flows get no number: connections from before the window,
    /// whose late packets come at unpredictable times, must not shift the draws of those in it.
    Opening,
}

/// Numbers the flows of one direction in the order in which they open.
///
/// Both directions must agree on the numbers. The table of the up direction assigns them. Its caller passes each new
/// one to [`FlowTable::insert`] of the down direction before it delivers the packet that opened the flow. The number is
/// thus there before any reply.
///
/// A flow is identified by a number that the caller makes of both addresses and ports and that is
/// the same in both directions. Flow numbers do not depend on its value.
#[derive(Debug)]
pub struct FlowTable {
    rule: FlowRule,
    direction: Direction,
    /// The present number of each flow.
    numbers: BTreeMap<u64, u32>,
    /// The number of each connection, by flow and opening.
    connections: BTreeMap<(u64, u64), u32>,
    /// Flows that this table has numbered.
    opened: u32,
}

/// What a table knows about the flow of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowNumber {
    /// The number, for [`Packet::flow`].
    pub number: u32,
    /// The packet gave the flow this number: the other direction does not know it yet.
    pub changed: bool,
}

impl FlowTable {
    /// Returns an empty table: the next flow is the first.
    pub fn new(rule: FlowRule, direction: Direction) -> FlowTable {
        FlowTable {
            rule,
            direction,
            numbers: BTreeMap::new(),
            connections: BTreeMap::new(),
            opened: 0,
        }
    }

    /// Returns the number of a packet's flow, and assigns one if the packet opens the flow. `None`
    /// when it does not and nothing did before.
    ///
    /// `opening` identifies the connection that the packet starts, if it starts one: a retransmitted
    /// SYN or Initial has the same, the next connection between the same ports has another, and gets
    /// a number of its own. Packets that carry no opening belong to the connection opened last.
    pub fn number(&mut self, flow: u64, opening: Option<u64>) -> Option<FlowNumber> {
        let opening = opening.filter(|_| self.direction == Direction::Up);
        let present = self.numbers.get(&flow).copied();
        let number = match (opening, present, self.rule) {
            (Some(opening), ..) => self.connection(flow, opening),
            (None, Some(number), _) => number,
            (None, None, FlowRule::AnyPacket) => self.next_number(),
            (None, None, FlowRule::Opening) => return None,
        };
        let changed = present != Some(number) && self.set(flow, number);
        Some(FlowNumber { number, changed })
    }

    /// Adopts the number that the other direction has given a flow.
    pub fn insert(&mut self, flow: u64, number: u32) {
        // A flow that opened here keeps the number that its packets already have.
        let own = self.numbers.get(&flow).is_some_and(|own| own % 2 == 1);
        if !own || self.direction == Direction::Up {
            self.set(flow, number);
        }
    }

    fn connection(&mut self, flow: u64, opening: u64) -> u32 {
        if let Some(&number) = self.connections.get(&(flow, opening)) {
            return number;
        }
        let number = self.next_number();
        if self.connections.len() < MAX_FLOWS as usize {
            self.connections.insert((flow, opening), number);
        }
        number
    }

    /// Returns the number of the next flow. The up direction assigns even numbers and the down direction odd ones.
    fn next_number(&mut self) -> u32 {
        let order = self.opened.min(MAX_FLOWS);
        self.opened = order + 1;
        match self.direction {
            Direction::Up => 2 * order,
            Direction::Down => 2 * order + 1,
        }
    }

    /// Returns `false` when the table is full.
    fn set(&mut self, flow: u64, number: u32) -> bool {
        let room = self.numbers.len() < MAX_FLOWS as usize || self.numbers.contains_key(&flow);
        if room {
            self.numbers.insert(flow, number);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Transport;

    const SYN: Option<u64> = Some(77);
    const NEW: bool = true;
    const KNOWN: bool = false;

    fn packet(flow: Option<u32>, ip_bytes: u32) -> Packet {
        Packet {
            token: 0,
            ip_bytes,
            transport: Transport::Tcp,
            src_port: 1,
            dst_port: 2,
            flow,
        }
    }

    fn numbered(number: u32, changed: bool) -> Option<FlowNumber> {
        Some(FlowNumber { number, changed })
    }

    fn up(rule: FlowRule) -> FlowTable {
        FlowTable::new(rule, Direction::Up)
    }

    #[test]
    fn full_size_packets_are_a_series_of_their_own() {
        let mut tickets = Tickets::default();
        let mut next = |flow, ip_bytes| tickets.next(&packet(Some(flow), ip_bytes)).unwrap();
        let ticket = |series, index| Ticket { series, index };
        assert_eq!(next(3, 1500), ticket(6, 0));
        assert_eq!(next(3, 1000), ticket(7, 0));
        assert_eq!(next(3, 52), ticket(7, 1));
        assert_eq!(next(3, 1001), ticket(6, 1));
        assert_eq!(next(0, 1500), ticket(0, 0));
    }

    #[test]
    fn packets_without_a_flow_number_get_no_ticket() {
        assert_eq!(Tickets::default().next(&packet(None, 1500)), None);
    }

    #[test]
    fn flows_are_numbered_in_order_of_opening() {
        let mut table = up(FlowRule::Opening);
        assert_eq!(table.number(99, SYN), numbered(0, NEW));
        assert_eq!(table.number(5, SYN), numbered(2, NEW));
        assert_eq!(table.number(99, None), numbered(0, KNOWN));
        assert_eq!(table.number(5, None), numbered(2, KNOWN));
    }

    #[test]
    fn a_late_packet_of_an_earlier_connection_takes_no_number() {
        let mut table = up(FlowRule::Opening);
        assert_eq!(table.number(7, None), None);
        assert_eq!(table.number(8, SYN), numbered(0, NEW));
        assert_eq!(table.number(7, None), None);
        assert_eq!(up(FlowRule::AnyPacket).number(7, None), numbered(0, NEW));
    }

    #[test]
    fn a_retransmitted_opening_keeps_the_number_and_the_next_connection_gets_another() {
        let mut table = up(FlowRule::Opening);
        assert_eq!(table.number(1, Some(10)), numbered(0, NEW));
        assert_eq!(table.number(1, Some(10)), numbered(0, KNOWN));
        assert_eq!(table.number(1, Some(11)), numbered(2, NEW));
        assert_eq!(table.number(1, None), numbered(2, KNOWN));
        assert_eq!(table.number(1, Some(10)), numbered(0, NEW));
    }

    #[test]
    fn the_down_direction_adopts_numbers_and_opens_nothing_itself() {
        let mut down = FlowTable::new(FlowRule::Opening, Direction::Down);
        assert_eq!(down.number(1, SYN), None);
        down.insert(1, 4);
        assert_eq!(down.number(1, None), numbered(4, KNOWN));
        down.insert(1, 6);
        assert_eq!(down.number(1, None), numbered(6, KNOWN));
    }

    #[test]
    fn flows_that_the_server_starts_are_numbered_apart() {
        let mut down = FlowTable::new(FlowRule::AnyPacket, Direction::Down);
        assert_eq!(down.number(1, None), numbered(1, NEW));
        down.insert(1, 0);
        assert_eq!(down.number(1, None), numbered(1, KNOWN));
        down.insert(2, 2);
        assert_eq!(down.number(2, None), numbered(2, KNOWN));
    }

    #[test]
    fn flows_beyond_the_limit_share_the_last_number() {
        let mut table = up(FlowRule::Opening);
        for flow in 0..u64::from(MAX_FLOWS) {
            table.number(flow, SYN);
        }
        let last = 2 * MAX_FLOWS;
        assert_eq!(table.number(1 << 40, SYN).unwrap().number, last);
        assert_eq!(table.number(1 << 41, SYN).unwrap().number, last);
        assert_eq!(table.number(3, None), numbered(6, KNOWN));
        assert_eq!(table.numbers.len(), MAX_FLOWS as usize);
    }
}
