//! The walk from the end of a request back to its start.

use link::Direction;

use crate::crossings::Crossings;
use crate::packet::{Packet, Transport};
use crate::reason::{Phase, is_nagle, of_client, of_server};
use crate::request::{Observed, Request};
use crate::{Part, Parts};

/// A pause of a sender that got nothing meanwhile, after which a timer is the reason and not the process.
const TIMER_NS: u64 = 5_000_000;
/// An acknowledgement that comes so much later than what it acknowledges was delayed (Linux: 40 ms; RFC 9000: 25 ms).
const DELAYED_ACK_NS: u64 = 15_000_000;
/// A body up to this size is written at once; the end of its writing precedes its first packet.
const SHORT_BYTES: u64 = 1_000;
/// A longer packet than this is no control frame alone.
const CONTROL_BYTES: u16 = 100;
/// A packet of a longer response that is not a control frame.
const LONG_PACKET_BYTES: u16 = 500;

/// A stretch of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its start.
    pub from_ns: u64,
    /// Its end, which is the start of the next step.
    pub to_ns: u64,
    /// The reason for its time.
    pub part: Part,
    /// The packet concerned, by its index among the cell's packets.
    pub packet: Option<usize>,
}

/// The critical path of a request: its steps in order of time, from the call to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The steps, none of which is empty.
    pub steps: Vec<Step>,
}

impl Path {
    fn unexplained(request: &Request) -> Path {
        let step = Step {
            from_ns: request.start_ns,
            to_ns: request.end_ns,
            part: Part::Unexplained,
            packet: None,
        };
        let takes_time = step.to_ns > step.from_ns;
        Path {
            steps: takes_time.then_some(step).into_iter().collect(),
        }
    }

    /// Returns the time of each part.
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        for step in &self.steps {
            parts[step.part] += step.to_ns - step.from_ns;
        }
        parts
    }
}

impl Crossings {
    /// Returns the critical path of a request. Without packets of its connection all of it is unexplained.
    pub fn path(&self, request: &Request) -> Path {
        let Some(flow) = self.flow_of(request.transport, request.port) else {
            return Path::unexplained(request);
        };
        let seen = Observed {
            request,
            packets: &self.packets,
            flow: &self.flows[flow],
        };
        let mut walk = Walk {
            first_response_ns: first_of_response(&seen),
            seen,
            at_ns: request.end_ns,
            steps: Vec::new(),
        };
        walk.back();
        walk.charge(request.start_ns, Part::Unexplained, None);
        walk.steps.reverse();
        Path { steps: walk.steps }
    }
}

struct Walk<'a> {
    seen: Observed<'a>,
    /// When the response's first packet was sent, if the server's log tells.
    first_response_ns: Option<u64>,
    /// Everything later is charged.
    at_ns: u64,
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

impl Walk<'_> {
    /// Charges the time from `from_ns` to where the walk is.
    fn charge(&mut self, from_ns: u64, part: Part, packet: Option<usize>) {
        let from_ns = from_ns.clamp(
            self.seen.request.start_ns,
            self.at_ns.max(self.seen.request.start_ns),
        );
        if from_ns >= self.at_ns {
            return;
        }
        let packet = packet.map(|number| self.seen.packets[number].index);
        let to_ns = self.at_ns;
        self.at_ns = from_ns;
        match self.steps.last_mut() {
            Some(later) if later.part == part && later.packet == packet => later.from_ns = from_ns,
            _ => self.steps.push(Step {
                from_ns,
                to_ns,
                part,
                packet,
            }),
        }
    }

    fn back(&mut self) {
        let (transport, start_ns) = (self.seen.request.transport, self.seen.request.start_ns);
        let delivered = &self.seen.flow.side(Direction::Down).delivered;
        let completed = self
            .seen
            .latest(delivered, self.seen.request.end_ns, |packet| {
                packet.has_data(transport) && !self.is_spurious(packet)
            });
        let Some(completed) = completed.filter(|&number| self.seen.delivery_ns(number) > start_ns)
        else {
            return;
        };
        self.charge(self.seen.delivery_ns(completed), Part::Client, None);
        let mut next = Next::Delivered(completed, Part::Exchange);
        // Every turn goes back to an earlier packet, or ends.
        for _ in 0..=2 * self.seen.packets.len() {
            if self.at_ns <= start_ns {
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

    /// Charges a packet's way across the link, and returns the packet whose emission began it: itself, or the
    /// first of the queue that it waited behind.
    fn cross(&mut self, number: usize, reason: Part) -> usize {
        self.charge(self.seen.packets[number].left_ns, reason, Some(number));
        let flow = self.seen.packets[number].flow;
        let mut queue = vec![number];
        let mut earliest = number;
        while let Some(front) = self.seen.packets[earliest].behind {
            if self.seen.packets[front].left_ns <= self.seen.request.start_ns {
                break;
            }
            queue.push(front);
            earliest = front;
        }
        // If others began the queue, only its part behind this connection's first packet is followed.
        let own = queue
            .iter()
            .rposition(|&at| self.seen.packets[at].flow == flow);
        let own = own.unwrap_or(0);
        for pair in queue[..=own].windows(2) {
            self.charge(
                self.seen.packets[pair[1]].left_ns,
                self.busy(pair[0], flow),
                Some(pair[0]),
            );
        }
        let head = queue[own];
        if let Some(&front) = queue.get(own + 1) {
            self.charge(
                self.seen.packets[front].left_ns,
                self.busy(head, flow),
                Some(head),
            );
            self.charge(
                self.seen.packets[head].arrival_ns,
                Part::LinkBusyOthers,
                Some(front),
            );
        } else {
            self.charge(
                self.seen.packets[head].arrival_ns,
                self.busy(head, flow),
                Some(head),
            );
        }
        head
    }

    fn busy(&self, number: usize, flow: usize) -> Part {
        match &self.seen.packets[number] {
            packet if packet.flow != flow => Part::LinkBusyOthers,
            packet if packet.first_copy.is_some() => Part::LinkBusyCopies,
            _ => Part::LinkBusy,
        }
    }

    /// Charges the time before a packet's emission to what bound it. `reason` is that of the round trip under way, and
    /// `subject` the packet with data that the same receipt allowed.
    fn emission(&mut self, number: usize, reason: Part, subject: usize) -> Next {
        let packet = &self.seen.packets[number];
        let subject = match packet.has_data(self.seen.request.transport) {
            true => number,
            false => subject,
        };
        let own = &self.seen.flow.side(packet.direction).sent;
        let received = &self.seen.flow.other_side(packet.direction).delivered;
        let receipt = self.seen.latest(received, packet.arrival_ns, |_| true);
        let place = own.partition_point(|&at| at < number);
        let previous = place.checked_sub(1).map(|at| own[at]);
        if packet.direction == Direction::Down
            && let Some(next) = self.answer(received, packet, number)
        {
            return next;
        }
        // After a packet of its own the sender received nothing: no receipt allowed this one.
        let received_ns = receipt.map(|at| self.seen.delivery_ns(at));
        if let Some(previous) = previous
            && received_ns.is_none_or(|at_ns| self.seen.packets[previous].arrival_ns >= at_ns)
        {
            return self.unprompted(own, number, previous, reason, subject);
        }
        let repairs = self.repairs(own, number, previous);
        let Some(receipt) =
            receipt.filter(|&at| self.seen.delivery_ns(at) > self.seen.request.start_ns)
        else {
            self.charge(self.seen.request.start_ns, Part::Client, Some(number));
            return Next::Start;
        };
        let waited_ns = packet.arrival_ns - self.seen.delivery_ns(receipt);
        let is_ack = !packet.has_data(self.seen.request.transport);
        let endpoint = match packet.direction {
            _ if repairs && waited_ns >= TIMER_NS => Part::LossTimer,
            _ if is_ack && waited_ns >= DELAYED_ACK_NS => Part::DelayedAck,
            Direction::Up => Part::Client,
            Direction::Down => Part::Server,
        };
        self.charge(self.seen.delivery_ns(receipt), endpoint, Some(number));
        let reason = match repairs {
            true if waited_ns >= TIMER_NS => Part::LossTimer,
            true => Part::LossFast,
            false => self.reason(subject, receipt, reason),
        };
        Next::Delivered(receipt, reason)
    }

    /// Returns why a packet had to wait for the receipt that allowed it.
    fn reason(&self, number: usize, receipt: usize, under_way: Part) -> Part {
        let phase = Phase::of(&self.seen, number, receipt);
        let packet = &self.seen.packets[number];
        if !packet.has_data(self.seen.request.transport) && phase != Phase::Handshake {
            return under_way;
        }
        if phase != Phase::Handshake && is_nagle(&self.seen, number, receipt) {
            return Part::Nagle;
        }
        match packet.direction {
            Direction::Up => of_client(&self.seen, phase, number, receipt, under_way),
            Direction::Down => of_server(&self.seen, phase, number, receipt, under_way),
        }
    }

    /// Charges the server's time if a packet is, or precedes, the first of the response, and goes on at the request's
    /// delivery.
    fn answer(&mut self, received: &[usize], packet: &Packet, number: usize) -> Option<Next> {
        let (read_ns, _) = self.seen.request.server_ns?;
        if !packet.has_data(self.seen.request.transport) {
            return None;
        }
        let first_ns = self.first_response_ns?;
        if packet.arrival_ns > first_ns {
            return None;
        }
        // The server needs the whole upload before it responds.
        let by_ns = match self.seen.request.request_bytes {
            0 => read_ns,
            _ => packet.arrival_ns.max(read_ns),
        };
        let request = self.seen.latest(received, by_ns, |up| {
            let is_late = up.delivery_ns.is_none_or(|at_ns| at_ns > read_ns);
            let carries = up.has_data(self.seen.request.transport) && !self.is_spurious(up);
            carries && (!is_late || up.payload_bytes > CONTROL_BYTES)
        })?;
        if packet.arrival_ns < self.seen.delivery_ns(request) {
            return None;
        }
        self.charge(self.seen.delivery_ns(request), Part::Server, Some(number));
        let reason = match self.seen.delivery_ns(request) > self.seen.request.start_ns {
            true => Part::Exchange,
            false => return Some(Next::Start),
        };
        Some(Next::Delivered(request, reason))
    }

    /// Charges the pause after the sender's own previous packet, since when it received nothing.
    fn unprompted(
        &mut self,
        own: &[usize],
        number: usize,
        previous: usize,
        reason: Part,
        subject: usize,
    ) -> Next {
        let packet = &self.seen.packets[number];
        let sent_ns = self.seen.packets[previous].arrival_ns;
        let pause_ns = packet.arrival_ns - sent_ns;
        let (endpoint, written) = match packet.direction {
            Direction::Up => (Part::Client, None),
            Direction::Down => (Part::Server, self.seen.request.server_ns),
        };
        // The application wrote meanwhile.
        let wrote = written.is_some_and(|(_, at_ns)| {
            at_ns > sent_ns + TIMER_NS && at_ns <= packet.arrival_ns + TIMER_NS
        });
        let part = match packet.direction {
            _ if pause_ns < TIMER_NS || wrote || sent_ns < self.seen.request.start_ns => endpoint,
            _ if self.repairs(own, number, Some(previous)) => Part::LossTimer,
            Direction::Up if self.seen.request.request_bytes < SHORT_BYTES => endpoint,
            _ => Part::Timer,
        };
        self.charge(sent_ns, part, Some(number));
        let reason = match part {
            Part::LossTimer => part,
            _ => reason,
        };
        Next::Sent(previous, reason, subject)
    }

    /// Reports whether a packet repairs a loss. Over TCP it is a copy of lost bytes. A QUIC sender had paused, and a
    /// packet of this call shortly before the pause was lost.
    fn repairs(&self, own: &[usize], number: usize, previous: Option<usize>) -> bool {
        let packet = &self.seen.packets[number];
        if let Some(first) = packet.first_copy {
            return self.seen.packets[first].was_dropped;
        }
        let Some(previous) = previous.filter(|_| self.seen.request.transport == Transport::Quic)
        else {
            return false;
        };
        let sent_ns = self.seen.packets[previous].arrival_ns;
        let place = own.partition_point(|&at| at < number);
        let flight = own[..place].iter().rev().map(|&at| &self.seen.packets[at]);
        let mut flight = flight.take_while(|p| sent_ns - p.arrival_ns < 2 * TIMER_NS);
        packet.arrival_ns - sent_ns >= TIMER_NS
            && flight.any(|p| p.was_dropped && p.arrival_ns >= self.seen.request.start_ns)
    }

    /// Reports whether a packet's bytes had already been delivered by an earlier copy.
    fn is_spurious(&self, packet: &Packet) -> bool {
        let first = packet.first_copy.map(|first| &self.seen.packets[first]);
        first.is_some_and(|first| {
            first
                .delivery_ns
                .is_some_and(|at| Some(at) <= packet.delivery_ns)
        })
    }
}

/// Returns when the response's first packet was sent. The server logs the end of writing right after the hand-over, by
/// which the kernel may have sent the packet.
fn first_of_response(seen: &Observed<'_>) -> Option<u64> {
    let (read_ns, written_ns) = seen.request.server_ns?;
    if seen.request.response_bytes <= SHORT_BYTES {
        return Some(written_ns.saturating_add(TIMER_NS));
    }
    let sent = &seen.flow.side(Direction::Down).sent;
    let begin = sent.partition_point(|&at| seen.packets[at].arrival_ns < read_ns);
    let mut later = sent[begin..].iter().map(|&at| &seen.packets[at]);
    let first = later.find(|packet| packet.payload_bytes >= LONG_PACKET_BYTES);
    first.map(|packet| packet.arrival_ns)
}
