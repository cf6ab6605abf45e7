//! The walk from the end of a request back to its start.

use link::Direction;

use crate::Part;
use crate::crossings::Crossings;
use crate::handshake::is_handshake;
use crate::loss::repair;
use crate::observed::{Observed, TIMER_NS};
use crate::packet::{Packet, Transport};
use crate::path::{Path, Step};
use crate::reason::{has_begun, is_request, is_response, reason, was_held_back};
use crate::receive_window::{is_probe, unread_before};
use crate::request::Request;

/// A sender that has everything to send pauses so long only because it paces its packets.
const PACED_NS: u64 = 500_000;
/// An acknowledgement that comes so much later than what it acknowledges was delayed (Linux: 40 ms; RFC 9000: 25 ms).
const DELAYED_ACK_NS: u64 = 15_000_000;
/// QUIC's clients and servers delay none for longer by default (25 ms, RFC 9000 section 18.2), with their clocks.
const LONGEST_ACK_DELAY_NS: u64 = 35_000_000;
/// TCP delays none for longer (RFC 9293 section 3.8.6.3).
const LONGEST_TCP_ACK_DELAY_NS: u64 = 500_000_000;

impl Crossings {
    /// Returns the critical path of a request. Without packets of its connection all of it is unexplained.
    pub fn path(&self, request: &Request<'_>) -> Path {
        let transport = request.http.transport();
        let Some(flow) = self.flow_of(transport, request.port, request.end_ns) else {
            return Path::unexplained(request);
        };
        let mut walk = Walk {
            seen: Observed {
                request,
                packets: &self.packets,
                flow: &self.flows[flow],
                rtt_ns: self.rtt_ns,
            },
            at_ns: request.end_ns,
            small_end: None,
            reached_request: false,
            steps: Vec::new(),
        };
        walk.back();
        walk.charge(request.start_ns, Part::Unexplained, None);
        walk.steps.reverse();
        Path { steps: walk.steps }
    }
}

pub(crate) struct Walk<'a> {
    pub(crate) seen: Observed<'a>,
    /// Everything later is charged.
    pub(crate) at_ns: u64,
    /// The response's last packet, if it is as small as an acknowledgement of QUIC.
    small_end: Option<usize>,
    /// The walk has passed the server's work, and goes on with the request.
    reached_request: bool,
    steps: Vec<Step>,
}

/// The next step of the walk.
enum Next {
    /// A packet was delivered to the one who waited for it, for this reason.
    Delivered(usize, Part),
    /// A packet was sent, in the round trip under way; with what its sender sent next without another receipt.
    Sent(usize, Part, usize),
    /// The start of the call was reached.
    Start,
}

/// What a sender had done and got before it sent a packet.
struct Before {
    /// The packet that it sent before.
    previous: Option<usize>,
    /// The last packet that it had received.
    receipt: Option<usize>,
}

impl Walk<'_> {
    /// Charges the time from `from_ns` to where the walk is.
    pub(crate) fn charge(&mut self, from_ns: u64, part: Part, packet: Option<usize>) {
        let from_ns = from_ns.clamp(
            self.seen.request.start_ns,
            self.at_ns.max(self.seen.request.start_ns),
        );
        if from_ns >= self.at_ns {
            return;
        }
        let packet = packet.map(|number| self.seen.packet(number).index);
        let to_ns = self.at_ns;
        self.at_ns = from_ns;
        self.steps.push(Step {
            from_ns,
            to_ns,
            part,
            packet,
        });
    }

    fn back(&mut self) {
        let request = self.seen.request;
        let delivered = &self.seen.flow.side(Direction::Down).delivered;
        let by_ns = request
            .received_ns
            .map_or(request.end_ns, |at_ns| at_ns.min(request.end_ns));
        let completed = self.completed(delivered, by_ns);
        let completed = completed.filter(|&at| self.seen.delivery_ns(at) > request.start_ns);
        let Some(completed) = completed else {
            return;
        };
        self.charge(self.seen.delivery_ns(completed), Part::Client, None);
        let mut next = Next::Delivered(completed, Part::Exchange);
        // Every turn goes back to an earlier packet, or ends.
        for _ in 0..=2 * self.seen.packets.len() {
            if self.at_ns <= request.start_ns {
                return;
            }
            next = match next {
                Next::Delivered(number, reason) => {
                    let head = self.cross(number, reason);
                    self.emission(head, reason, head)
                }
                Next::Sent(number, reason, next) => self.emission(number, reason, next),
                Next::Start => return,
            };
        }
    }

    /// Returns the packet that completed the response by a time. Over QUIC it may look like an acknowledgement: then it
    /// is what came right before the end, where packets with data had come long before.
    fn completed(&mut self, delivered: &[usize], by_ns: u64) -> Option<usize> {
        let is_right_before = |at: &usize| by_ns - self.seen.delivery_ns(*at) < TIMER_NS;
        let news = self
            .seen
            .latest(delivered, by_ns, |packet| self.is_news(packet));
        if news.as_ref().is_some_and(is_right_before)
            || self.seen.request.http.transport() == Transport::Tcp
        {
            return news;
        }
        // The server had just handed it over.
        let is_new = |packet: &Packet| {
            let written_ns = self.seen.request.served.map(|served| served.written_ns);
            written_ns.is_some_and(|at_ns| packet.arrival_ns < at_ns.saturating_add(TIMER_NS))
        };
        let any = self.seen.latest(delivered, by_ns, |_| true);
        self.small_end = any
            .filter(is_right_before)
            .filter(|&at| is_new(self.seen.packet(at)));
        self.small_end.or(news)
    }

    /// Charges the time before a packet's emission to what bound it. `under_way` is the reason of the round trip that
    /// it ends, and `subject` the packet with data that the same receipt allowed.
    fn emission(&mut self, number: usize, under_way: Part, subject: usize) -> Next {
        let packet = self.seen.packet(number);
        let subject = match packet.has_data {
            true => number,
            false => subject,
        };
        if let Some(next) = self.first_response(number) {
            return next;
        }
        if under_way == Part::ReceiveWindow
            && let Some(data) = unread_before(&self.seen, number)
        {
            self.charge(self.seen.delivery_ns(data), endpoint(packet), Some(number));
            return Next::Delivered(data, under_way);
        }
        let before = self.before(number, subject);
        let received_ns = before.receipt.map(|at| self.seen.delivery_ns(at));
        let sent_ns = before.previous.map(|at| self.seen.packet(at).arrival_ns);
        if let Some(previous) = before.previous
            && received_ns <= sent_ns
        {
            // It received nothing after a packet of its own: no receipt allowed this one.
            return self.unprompted(number, previous, under_way, subject);
        }
        let started = |at: &usize| self.seen.delivery_ns(*at) > self.seen.request.start_ns;
        let Some(receipt) = before.receipt.filter(started) else {
            self.charge(self.seen.request.start_ns, endpoint(packet), Some(number));
            return Next::Start;
        };
        let received_ns = self.seen.delivery_ns(receipt);
        let waited_ns = packet.arrival_ns - received_ns;
        if under_way == Part::ReceiveWindow && is_probe(&self.seen, number) {
            self.charge(received_ns, Part::ReceiveWindow, Some(number));
            return Next::Delivered(receipt, under_way);
        }
        if let Some(part) = repair(&self.seen, number, before.previous, waited_ns) {
            let timer = match part {
                Part::LossTimer => part,
                _ => endpoint(packet),
            };
            self.charge(received_ns, timer, Some(number));
            return Next::Delivered(receipt, part);
        }
        if let Some(reason) = reason(&self.seen, subject, receipt, under_way) {
            let is_quic = self.seen.request.http.transport() == Transport::Quic;
            let part = match self.is_delayed_ack(number, before.previous, waited_ns) {
                // A peer that waits for data does not wait for the acknowledgement before it.
                true if !self.seen.packet(subject).has_data => Part::DelayedAck,
                _ if is_quic && packet.has_data && reason == Part::LossTimer => reason,
                // Linux's TCP paces with BBR alone: with Cubic a late packet more likely waited for a core.
                _ if is_quic && self.is_paced(number, received_ns) => Part::Timer,
                _ => endpoint(packet),
            };
            self.charge(received_ns, part, Some(number));
            return Next::Delivered(receipt, reason);
        }
        self.application(number, under_way, subject)
    }

    /// Charges the application, which sent a packet without having waited for anything: back to what it sent before.
    fn application(&mut self, number: usize, under_way: Part, subject: usize) -> Next {
        let packet = self.seen.packet(number);
        if packet.direction == Direction::Down
            && !has_begun(&self.seen, number)
            && let Some(next) = self.since_request(number)
        {
            return next;
        }
        let start_ns = self.seen.request.start_ns;
        let previous = self.seen.previous_data(number);
        let previous = previous.filter(|&at| self.seen.packet(at).arrival_ns > start_ns);
        match previous {
            Some(previous) => {
                let sent_ns = self.seen.packet(previous).arrival_ns;
                self.charge(sent_ns, endpoint(packet), Some(number));
                Next::Sent(previous, under_way, subject)
            }
            None => {
                self.charge(start_ns, endpoint(packet), Some(number));
                Next::Start
            }
        }
    }

    /// Returns what a packet's sender had sent and received before it. `subject` is the packet with data that the receipt
    /// allowed.
    fn before(&self, number: usize, subject: usize) -> Before {
        let packet = self.seen.packet(number);
        let received = &self.seen.received(number).delivered;
        let latest = |is_wanted: &dyn Fn(&Packet) -> bool| {
            self.seen.latest(received, packet.arrival_ns, is_wanted)
        };
        let is_tcp = self.seen.request.http.transport() == Transport::Tcp;
        let receipt = match latest(&|_| true) {
            _ if self.awaits_request(subject) => latest(&|received| self.is_news(received)),
            // Over TCP an acknowledgement answers data or a probe of a window, and no other acknowledgement.
            Some(last) if is_tcp && !packet.has_data && !is_probe(&self.seen, last) => {
                latest(&|received| received.has_data)
            }
            last => last,
        };
        Before {
            previous: self.seen.own(number).before(number).map(|(at, _)| at),
            receipt,
        }
    }

    /// Reports whether a packet can be the first of the response by a server that keeps no log: it awaited the request,
    /// and no acknowledgement.
    fn awaits_request(&self, number: usize) -> bool {
        let packet = self.seen.packet(number);
        packet.direction == Direction::Down
            && self.seen.request.served.is_none()
            && packet.has_data
            && !has_begun(&self.seen, number)
            && !is_handshake(&self.seen, number)
    }

    /// Charges the server's time if a packet is the first of the response, or precedes it.
    fn first_response(&mut self, number: usize) -> Option<Next> {
        let packet = self.seen.packet(number);
        let is_end = self.small_end == Some(number);
        let is_first = is_end || packet.has_data && !has_begun(&self.seen, number);
        let is_it = match is_response(&self.seen, packet) {
            true => is_first && (is_end || !was_held_back(&self.seen, packet)),
            // The window that held the response back was full of others, which precede it.
            false => !self.reached_request && !is_handshake(&self.seen, number),
        };
        match packet.direction == Direction::Down && is_it {
            true => self.since_request(number),
            false => None,
        }
    }

    /// Charges the server's time before a packet, and goes on at the request's delivery.
    fn since_request(&mut self, number: usize) -> Option<Next> {
        let packet = self.seen.packet(number);
        self.seen.request.served?;
        let received = &self.seen.received(number).delivered;
        let by_ns = self.seen.request_read_ns().unwrap_or(packet.arrival_ns);
        let by_ns = match is_response(&self.seen, packet) {
            true => by_ns.min(packet.arrival_ns),
            false => by_ns,
        };
        let request = self.request_by(received, by_ns)?;
        let read_ns = self.seen.delivery_ns(request);
        self.reached_request = true;
        self.charge(read_ns, Part::Server, Some(number));
        Some(match read_ns > self.seen.request.start_ns {
            true => Next::Delivered(request, Part::Exchange),
            false => Next::Start,
        })
    }

    /// Returns the packet that completed the request by a time. Over QUIC a small one looks like an acknowledgement.
    fn request_by(&self, received: &[usize], by_ns: u64) -> Option<usize> {
        let start_ns = self.seen.request.start_ns;
        let request = self
            .seen
            .latest(received, by_ns, |packet| self.is_news(packet));
        let of_call = request.filter(|&at| self.seen.packet(at).arrival_ns >= start_ns);
        let any = || {
            self.seen
                .latest(received, by_ns, |packet| packet.arrival_ns >= start_ns)
        };
        of_call.or_else(any).or(request)
    }

    /// Charges the pause after the sender's own previous packet, since when it received nothing.
    fn unprompted(
        &mut self,
        number: usize,
        previous: usize,
        under_way: Part,
        subject: usize,
    ) -> Next {
        let packet = self.seen.packet(number);
        let sent_ns = self.seen.packet(previous).arrival_ns;
        let pause_ns = packet.arrival_ns - sent_ns;
        let repaired = match pause_ns >= TIMER_NS && sent_ns >= self.seen.request.start_ns {
            true => repair(&self.seen, number, Some(previous), pause_ns),
            false => None,
        };
        let part = match repaired {
            Some(part) => part,
            None if under_way == Part::ReceiveWindow && is_probe(&self.seen, number) => under_way,
            None if self.is_paced(number, sent_ns) => Part::Timer,
            None => endpoint(packet),
        };
        self.charge(sent_ns, part, Some(number));
        Next::Sent(previous, repaired.unwrap_or(under_way), subject)
    }

    /// Reports whether pacing explains a pause before a packet: everything had been handed over when it began, and it is
    /// long.
    fn is_paced(&self, number: usize, since_ns: u64) -> bool {
        let packet = self.seen.packet(number);
        let had_all =
            (self.seen.handed_over_ns(packet.direction)).is_some_and(|at_ns| at_ns <= since_ns);
        let is_transfer = packet.has_data
            && match packet.direction {
                // Without a log, a client's packet may as well be credit.
                Direction::Up => {
                    self.seen.request_read_ns().is_some() && is_request(&self.seen, packet)
                }
                Direction::Down => is_response(&self.seen, packet),
            };
        is_transfer && had_all && packet.arrival_ns - since_ns >= PACED_NS
    }

    /// Reports whether an acknowledgement was delayed.
    fn is_delayed_ack(&self, number: usize, previous: Option<usize>, waited_ns: u64) -> bool {
        let packet = self.seen.packet(number);
        let acked_before = previous.and_then(|previous| self.seen.packet(previous).acked);
        let (acknowledges, longest_ns) = match self.seen.request.http.transport() {
            Transport::Tcp => (packet.acked > acked_before, LONGEST_TCP_ACK_DELAY_NS),
            Transport::Quic => (true, LONGEST_ACK_DELAY_NS),
        };
        let is_late = (DELAYED_ACK_NS..=longest_ns).contains(&waited_ns);
        acknowledges && is_late
    }

    /// Reports whether a packet has data that no earlier copy had delivered.
    fn is_news(&self, packet: &Packet) -> bool {
        let first = packet.first_copy.map(|first| self.seen.packet(first));
        let had_come = first.is_some_and(|first| {
            let first_ns = first.delivery_ns;
            first_ns.is_some() && first_ns <= packet.delivery_ns
        });
        packet.has_data && !had_come
    }
}

/// Returns the part of the end that sent a packet.
fn endpoint(packet: &Packet) -> Part {
    match packet.direction {
        Direction::Up => Part::Client,
        Direction::Down => Part::Server,
    }
}
