//! The client's side: receives packets and acknowledges them.

use crate::Protocol;

/// Linux acknowledges this many segments one by one while a connection is young or was idle
/// (TCP_MAX_QUICKACKS), so as not to slow slow start; later every second one.
const QUICK_ACKS: u64 = 16;
/// How long Linux delays an acknowledgement (TCP_DELACK_MIN).
const TCP_ACK_DELAY_NS: u64 = 40_000_000;
/// The default max_ack_delay (RFC 9000 section 18.2); every second packet is acknowledged at once.
const QUIC_ACK_DELAY_NS: u64 = 25_000_000;

pub(crate) struct Receiver {
    protocol: Protocol,
    received: Vec<bool>,
    missing: usize,
    /// All parts before this one have been received.
    in_order: usize,
    unacknowledged: Vec<u64>,
    arrivals: u64,
    /// When the unacknowledged packets will be acknowledged.
    ack_at_ns: Option<u64>,
}

impl Receiver {
    pub(crate) fn new(protocol: Protocol, packets: usize) -> Receiver {
        Receiver {
            protocol,
            received: vec![false; packets],
            missing: packets,
            in_order: 0,
            unacknowledged: Vec::new(),
            arrivals: 0,
            ack_at_ns: None,
        }
    }

    /// Receives a packet that carries `part` and was the `order`th to be sent.
    pub(crate) fn on_packet(&mut self, now_ns: u64, order: u64, part: usize) {
        self.arrivals += 1;
        self.unacknowledged.push(order);
        if !std::mem::replace(&mut self.received[part], true) {
            self.missing -= 1;
        }
        let gap = part != self.in_order;
        while self.received.get(self.in_order) == Some(&true) {
            self.in_order += 1;
        }
        let (quick, delay_ns) = match self.protocol {
            Protocol::H2 => (QUICK_ACKS, TCP_ACK_DELAY_NS),
            Protocol::H3 => (0, QUIC_ACK_DELAY_NS),
        };
        let at_once = gap || self.arrivals <= quick || self.unacknowledged.len() >= 2;
        self.ack_at_ns = Some(if at_once { now_ns } else { now_ns + delay_ns });
    }

    /// Returns whether all parts have been received.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.ack_at_ns
    }

    /// Takes the packets of an acknowledgement that is due by now.
    pub(crate) fn take_ack(&mut self, now_ns: u64) -> Option<Vec<u64>> {
        self.ack_at_ns.take_if(|at_ns| *at_ns <= now_ns)?;
        Some(std::mem::take(&mut self.unacknowledged))
    }
}
