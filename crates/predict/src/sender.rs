//! The server: what it sends, when, and what it holds for lost.

use std::collections::{BTreeMap, VecDeque};

use crate::Protocol;
use crate::congestion::{Ack, Congestion};
use crate::handshake::Asked;
use crate::pacer::Pacer;
use crate::sizes::Sizes;

/// The response, in parts of one packet each. Every packet has an order of its own, also one that
/// repeats a part.
pub(crate) struct Sender {
    parts: usize,
    next_part: usize,
    /// Parts to be sent again.
    lost: VecDeque<usize>,
    /// By order, what is neither acknowledged nor lost.
    flight: BTreeMap<u64, Flying>,
    next_order: u64,
    /// Packets before this one tell nothing new of a loss that was answered already.
    recovery_until: u64,
    /// The latest packet that arrived.
    latest: (u64, u64),
    rtt_ns: u64,
    sizes: Sizes,
    /// Bytes in flight, as congestion control counts them.
    flying: u64,
    congestion: Congestion,
    pacer: Option<Pacer>,
    /// When something was sent or acknowledged last.
    moved_ns: u64,
    probes: u32,
}

#[derive(Clone, Copy)]
struct Flying {
    part: usize,
    sent_ns: u64,
}

impl Sender {
    pub(crate) fn new(protocol: Protocol, asked: Asked, parts: usize, sizes: Sizes) -> Sender {
        Sender {
            parts,
            next_part: 0,
            lost: VecDeque::new(),
            flight: BTreeMap::new(),
            next_order: 0,
            recovery_until: 0,
            latest: (0, 0),
            rtt_ns: asked.rtt_ns,
            flying: 0,
            congestion: Congestion::new(protocol, sizes.full_counted(), asked.rtt_ns),
            pacer: (protocol == Protocol::H3)
                .then(|| Pacer::new(asked.at_ns, sizes.full_counted())),
            sizes,
            moved_ns: asked.at_ns,
            probes: 0,
        }
    }

    /// When to ask for packets next, if nothing arrives before.
    pub(crate) fn next_ns(&mut self, now_ns: u64) -> Option<u64> {
        let paced = self.may_send().then(|| self.paced_ns(now_ns));
        paced.into_iter().chain(self.probe_ns()).min()
    }

    /// The order and the part of the next packet, if one may go now.
    pub(crate) fn packet(&mut self, now_ns: u64) -> Option<(u64, usize)> {
        let probing = self.probe_ns().is_some_and(|at_ns| at_ns <= now_ns);
        let part = if self.may_send() && self.paced_ns(now_ns) <= now_ns {
            self.lost.pop_front().unwrap_or_else(|| {
                self.next_part += 1;
                self.next_part - 1
            })
        } else if probing {
            self.probes += 1;
            // The earliest is the one that the receiver waits for.
            self.flight.first_key_value()?.1.part
        } else {
            return None;
        };
        let order = self.next_order;
        self.next_order += 1;
        self.flight.insert(
            order,
            Flying {
                part,
                sent_ns: now_ns,
            },
        );
        if let Some(pacer) = &mut self.pacer {
            pacer.sent(self.sizes.counted(part));
        }
        self.flying += u64::from(self.sizes.counted(part));
        self.moved_ns = now_ns;
        Some((order, part))
    }

    /// These packets have arrived.
    pub(crate) fn acknowledged(&mut self, now_ns: u64, orders: &[u64]) {
        self.moved_ns = now_ns;
        self.probes = 0;
        let mut arrived = 0.0;
        for order in orders {
            let Some(flying) = self.flight.remove(order) else {
                continue;
            };
            let bytes = self.sizes.counted(flying.part);
            self.flying -= u64::from(bytes);
            self.latest = self.latest.max((*order, flying.sent_ns));
            if *order >= self.recovery_until {
                arrived += f64::from(bytes);
            }
            if orders.last() == Some(order) {
                let sample_ns = now_ns - flying.sent_ns;
                self.rtt_ns = (self.rtt_ns * 7 + sample_ns) / 8;
                let ack = Ack {
                    now_ns,
                    bytes: arrived,
                    rtt_ns: sample_ns,
                    order: *order,
                    next_order: self.next_order,
                };
                self.congestion.acknowledged(&ack);
            }
        }
        self.find_lost(now_ns);
    }

    /// Whoever asks again and again gets no answer.
    pub(crate) fn stalled(&self) -> bool {
        self.probes > MAX_PROBES
    }

    /// What three later packets have overtaken, or one that was sent clearly later, is lost
    /// (RFC 8985, RFC 9002 section 6.1).
    fn find_lost(&mut self, now_ns: u64) {
        let (latest, latest_sent_ns) = self.latest;
        let earlier = self.flight.range(..latest);
        let lost: Vec<(u64, Flying)> = earlier
            .filter(|(order, flying)| {
                **order + REORDERING <= latest || flying.sent_ns + self.rtt_ns / 4 < latest_sent_ns
            })
            .map(|(order, flying)| (*order, *flying))
            .collect();
        for (order, flying) in lost {
            self.flight.remove(&order);
            self.flying -= u64::from(self.sizes.counted(flying.part));
            self.lost.push_back(flying.part);
            if order >= self.recovery_until {
                self.recovery_until = self.next_order;
                self.congestion.lost(now_ns);
            }
        }
    }

    fn may_send(&self) -> bool {
        let more = !self.lost.is_empty() || self.next_part < self.parts;
        // quinn looks whether a full datagram would fit, whatever it will send.
        let flying = self.flying + u64::from(self.sizes.full_counted());
        more && flying as f64 <= self.congestion.window()
    }

    fn paced_ns(&mut self, now_ns: u64) -> u64 {
        let (window, rtt_ns) = (self.congestion.window(), self.rtt_ns);
        self.pacer.as_mut().map_or(now_ns, |pacer| {
            pacer.ready_ns(now_ns, self.sizes.full_counted(), window, rtt_ns)
        })
    }

    /// When silence has lasted too long (RFC 8985 section 7, RFC 9002 section 6.2).
    fn probe_ns(&self) -> Option<u64> {
        let patience_ns = (2 * self.rtt_ns + ACK_DELAY_NS) << self.probes.min(MAX_PROBES);
        (!self.flight.is_empty()).then(|| self.moved_ns + patience_ns)
    }
}

/// Packets.
const REORDERING: u64 = 3;
/// As long as a receiver may keep an acknowledgement back.
const ACK_DELAY_NS: u64 = 40_000_000;
const MAX_PROBES: u32 = 12;
