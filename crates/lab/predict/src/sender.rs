//! The server's side: what it sends, when, and which packets it declares lost.

use std::collections::{BTreeMap, VecDeque};

use crate::Protocol;
use crate::congestion::{Ack, Congestion};
use crate::handshake::Request;
use crate::pacer::Pacer;
use crate::sizes::Sizes;

/// A packet is lost when one sent this many packets later has arrived.
const REORDERING: u64 = 3;
/// As long as a receiver may delay an acknowledgement.
const ACK_DELAY_NS: u64 = 40_000_000;
/// Probes without an answer after which the transfer is given up.
const MAX_PROBES: u32 = 12;

/// The sender of a response that is cut into parts of one packet each. Every packet has a position
/// of its own in the sending order, even one that repeats a part.
pub(crate) struct Sender {
    parts: usize,
    next_part: usize,
    /// Parts to be sent again.
    lost: VecDeque<usize>,
    /// By order, packets that are neither acknowledged nor lost.
    in_flight: BTreeMap<u64, InFlight>,
    next_order: u64,
    /// The window has already shrunk for losses of packets before this one.
    recovery_until: u64,
    /// The latest packet that arrived: its order and when it was sent.
    latest: (u64, u64),
    rtt_ns: u64,
    sizes: Sizes,
    /// As congestion control counts them.
    bytes_in_flight: u64,
    congestion: Congestion,
    pacer: Option<Pacer>,
    /// When a packet was last sent or acknowledged.
    last_activity_ns: u64,
    probes: u32,
}

#[derive(Clone, Copy)]
struct InFlight {
    part: usize,
    sent_ns: u64,
}

impl Sender {
    pub(crate) fn new(protocol: Protocol, request: Request, parts: usize, sizes: Sizes) -> Sender {
        Sender {
            parts,
            next_part: 0,
            lost: VecDeque::new(),
            in_flight: BTreeMap::new(),
            next_order: 0,
            recovery_until: 0,
            latest: (0, 0),
            rtt_ns: request.rtt_ns,
            bytes_in_flight: 0,
            congestion: Congestion::new(protocol, sizes.full_counted(), request.rtt_ns),
            pacer: (protocol == Protocol::H3)
                .then(|| Pacer::new(request.arrival_ns, sizes.full_counted())),
            sizes,
            last_activity_ns: request.arrival_ns,
            probes: 0,
        }
    }

    /// Returns when to call [`next_packet`](Self::next_packet) again if no acknowledgement arrives
    /// before.
    pub(crate) fn next_ns(&mut self, now_ns: u64) -> Option<u64> {
        let paced = self.may_send().then(|| self.paced_ns(now_ns));
        paced.into_iter().chain(self.probe_ns()).min()
    }

    /// Returns the order and the part of the next packet, if one may be sent now.
    pub(crate) fn next_packet(&mut self, now_ns: u64) -> Option<(u64, usize)> {
        let probing = self.probe_ns().is_some_and(|at_ns| at_ns <= now_ns);
        let part = if self.may_send() && self.paced_ns(now_ns) <= now_ns {
            self.lost.pop_front().unwrap_or_else(|| {
                self.next_part += 1;
                self.next_part - 1
            })
        } else if probing {
            self.probes += 1;
            // The receiver waits for the earliest one.
            self.in_flight.first_key_value()?.1.part
        } else {
            return None;
        };
        let order = self.next_order;
        self.next_order += 1;
        self.in_flight.insert(
            order,
            InFlight {
                part,
                sent_ns: now_ns,
            },
        );
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sent(self.sizes.counted(part));
        }
        self.bytes_in_flight += u64::from(self.sizes.counted(part));
        self.last_activity_ns = now_ns;
        Some((order, part))
    }

    /// Processes an acknowledgement of these packets.
    pub(crate) fn on_ack(&mut self, now_ns: u64, orders: &[u64]) {
        self.last_activity_ns = now_ns;
        self.probes = 0;
        let mut arrived = 0.0;
        for order in orders {
            let Some(packet) = self.in_flight.remove(order) else {
                continue;
            };
            let bytes = self.sizes.counted(packet.part);
            self.bytes_in_flight -= u64::from(bytes);
            self.latest = self.latest.max((*order, packet.sent_ns));
            if *order >= self.recovery_until {
                arrived += f64::from(bytes);
            }
            if orders.last() == Some(order) {
                let sample_ns = now_ns - packet.sent_ns;
                self.rtt_ns = (self.rtt_ns * 7 + sample_ns) / 8;
                let ack = Ack {
                    now_ns,
                    bytes: arrived,
                    rtt_ns: sample_ns,
                    order: *order,
                    next_order: self.next_order,
                };
                self.congestion.on_ack(&ack);
            }
        }
        self.detect_losses(now_ns);
    }

    /// Returns whether every probe has gone unanswered.
    pub(crate) fn is_stalled(&self) -> bool {
        self.probes > MAX_PROBES
    }

    /// Declares packets lost that [`REORDERING`] later ones, or one sent a quarter of a round trip
    /// later, have overtaken (RFC 8985, RFC 9002 section 6.1).
    fn detect_losses(&mut self, now_ns: u64) {
        let (latest, latest_sent_ns) = self.latest;
        let earlier = self.in_flight.range(..latest);
        let lost: Vec<(u64, InFlight)> = earlier
            .filter(|(order, packet)| {
                **order + REORDERING <= latest || packet.sent_ns + self.rtt_ns / 4 < latest_sent_ns
            })
            .map(|(order, packet)| (*order, *packet))
            .collect();
        for (order, packet) in lost {
            self.in_flight.remove(&order);
            self.bytes_in_flight -= u64::from(self.sizes.counted(packet.part));
            self.lost.push_back(packet.part);
            if order >= self.recovery_until {
                self.recovery_until = self.next_order;
                self.congestion.on_loss(now_ns);
            }
        }
    }

    fn may_send(&self) -> bool {
        let more = !self.lost.is_empty() || self.next_part < self.parts;
        // quinn checks whether a full datagram would fit, whatever it is about to send.
        let in_flight = self.bytes_in_flight + u64::from(self.sizes.full_counted());
        more && in_flight as f64 <= self.congestion.window()
    }

    fn paced_ns(&mut self, now_ns: u64) -> u64 {
        let (window, rtt_ns) = (self.congestion.window(), self.rtt_ns);
        self.pacer.as_mut().map_or(now_ns, |pacer| {
            pacer.ready_ns(now_ns, self.sizes.full_counted(), window, rtt_ns)
        })
    }

    /// Returns the probe timeout (RFC 8985 section 7, RFC 9002 section 6.2).
    fn probe_ns(&self) -> Option<u64> {
        let timeout_ns = (2 * self.rtt_ns + ACK_DELAY_NS) << self.probes.min(MAX_PROBES);
        (!self.in_flight.is_empty()).then(|| self.last_activity_ns + timeout_ns)
    }
}
