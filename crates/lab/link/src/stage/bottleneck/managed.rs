//! The bottleneck with active queue management, which decides about a packet when the server asks for it.

use super::{Calendar, codel::CodelQueue, discipline::Discipline, fair::FairQueue, server::Server};
use crate::{
    closings::Closings,
    model::Cause,
    spec::{AqmKind, AqmSpec, PathSpec, QueueLimits, RateSpec},
    stage::{Item, Outcome, Stage, outbox::Outbox},
};

/// The limits of a queue in which a packet does not wait.
const UNLIMITED: QueueLimits = QueueLimits {
    bytes: u64::MAX,
    packets: u64::MAX,
};

/// Builds the stage.
pub(super) fn build(spec: &PathSpec, aqm: AqmSpec) -> Box<dyn Stage> {
    Box::new(ManagedBottleneck {
        queue: match aqm.kind {
            AqmKind::Codel => Box::new(CodelQueue::new(aqm)),
            AqmKind::FqCodel => Box::new(FairQueue::new(aqm)),
        },
        limits: spec.queue_limits(),
        server: Server::new(&spec.rate),
        gate: spec
            .closings()
            .filter(|_| !matches!(spec.rate, RateSpec::Trace(_)))
            .cloned(),
        origin_ns: 0,
        ready_ns: 0,
        flush_ns: None,
        out: Outbox::default(),
    })
}

/// Decides about each packet at the time when the server asks for it, by what has arrived until then.
///
/// The decisions of a time are made once that time has passed: before a packet is taken that arrives then or later, or
/// when the stage is polled. Results follow from arrival times alone if every packet that has arrived is offered before
/// the stage is polled. A packet that is offered too late misses the decisions made, as if it had arrived right after
/// them.
struct ManagedBottleneck {
    queue: Box<dyn Discipline>,
    limits: QueueLimits,
    server: Server,
    gate: Option<Closings>,
    origin_ns: u64,
    /// When a packet came into the empty queue, or the origin if that is later: since then some wait.
    ready_ns: u64,
    /// When the gate will flush the packets that are queued or in service by then.
    flush_ns: Option<u64>,
    out: Outbox,
}

impl ManagedBottleneck {
    fn calendar(&self) -> Calendar<'_> {
        Calendar {
            gate: self.gate.as_ref(),
            origin_ns: self.origin_ns,
        }
    }

    /// Returns when a server with a packet that is ready at `ready_ns` asks for it.
    fn asks_ns(&self, ready_ns: u64) -> u64 {
        self.server.begin_ns(ready_ns, &self.calendar())
    }

    fn dequeue_ns(&self) -> Option<u64> {
        (self.queue.len() > 0).then(|| self.asks_ns(self.ready_ns))
    }

    /// Returns the time of the next decision about a packet that waits.
    fn decision_ns(&self) -> Option<u64> {
        let dequeue_ns = self.dequeue_ns()?;
        Some(self.flush_ns.map_or(dequeue_ns, |ns| ns.min(dequeue_ns)))
    }

    /// Makes the next decision up to `now_ns`. Returns `false` if there is none.
    fn decide(&mut self, now_ns: u64) -> bool {
        let dequeue_ns = self.dequeue_ns().filter(|&at_ns| at_ns <= now_ns);
        let flush_ns = self.flush_ns.filter(|&at_ns| at_ns <= now_ns);
        match (flush_ns, dequeue_ns) {
            (None, None) => return false,
            (Some(flush_ns), Some(dequeue_ns)) if dequeue_ns < flush_ns => self.serve(dequeue_ns),
            (Some(flush_ns), _) => self.flush(flush_ns),
            (None, Some(dequeue_ns)) => self.serve(dequeue_ns),
        }
        true
    }

    fn serve(&mut self, now_ns: u64) {
        let Some(item) = self.queue.dequeue(now_ns, &mut self.out) else {
            return;
        };
        let calendar = Calendar {
            gate: self.gate.as_ref(),
            origin_ns: self.origin_ns,
        };
        let ip_bytes = item.packet.ip_bytes;
        let (_, done_ns) = self.server.serve(self.ready_ns, ip_bytes, &calendar);
        match self.flush_ns {
            Some(flush_ns) if flush_ns < done_ns => self.out.drop(flush_ns, item, Cause::Gate),
            _ => self.out.pass(done_ns, item),
        }
    }

    fn flush(&mut self, now_ns: u64) {
        while let Some(item) = self.queue.flush() {
            self.out.drop(now_ns, item, Cause::Gate);
        }
        self.server.reset(now_ns);
        self.flush_ns = None;
    }
}

impl Stage for ManagedBottleneck {
    /// Moves packets that wait to the gate and the trace of the new clock, after the decisions up to its origin.
    fn start(&mut self, origin_ns: u64) {
        while self.decide(origin_ns) {}
        self.origin_ns = origin_ns;
        self.server.start(origin_ns);
        self.ready_ns = self.ready_ns.max(origin_ns);
        if self.flush_ns.is_some() || self.queue.len() > 0 {
            self.flush_ns = self.calendar().next_flush(origin_ns);
        }
    }

    fn offer(&mut self, now_ns: u64, item: Item) {
        while self.decide(now_ns) {}
        if self.calendar().flushes_at(now_ns) {
            return self.out.drop(now_ns, item, Cause::Gate);
        }
        if self.flush_ns.is_none() {
            self.flush_ns = self.calendar().next_flush(now_ns);
        }
        if self.queue.len() == 0 {
            // A server that was free has asked, and found nothing.
            if self.asks_ns(0) <= now_ns {
                self.queue.dequeue(now_ns, &mut self.out);
            }
            self.ready_ns = now_ns;
        }
        let limits = match self.asks_ns(self.ready_ns) > now_ns {
            true => &self.limits,
            false => &UNLIMITED,
        };
        self.queue.enqueue(now_ns, item, limits, &mut self.out);
    }

    fn next_deadline(&self) -> Option<u64> {
        let times = [self.out.next_deadline(), self.decision_ns()];
        times.into_iter().flatten().min()
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        loop {
            // Whatever is decided later happens later, too.
            let decision_ns = self.decision_ns();
            let is_next = |at_ns: u64| decision_ns.is_none_or(|decision_ns| at_ns <= decision_ns);
            if self.out.next_deadline().is_some_and(is_next) || decision_ns.is_none() {
                return self.out.poll(now_ns);
            }
            if !self.decide(now_ns) {
                return None;
            }
        }
    }

    fn queued(&self) -> usize {
        self.queue.len() + self.out.queued()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        closings::OnClose,
        gate::Gate,
        spec::QueueSpec,
        stage::testing::{drain, item},
        time::NS_PER_MS,
    };

    const MS: u64 = NS_PER_MS;

    /// Returns a stage that sends a packet of 1,500 bytes in `packet_ms` and drops none.
    fn stage(packet_ms: u64, closed_ms: (u64, u64), on_close: OnClose) -> Box<dyn Stage> {
        let closed_ns = vec![(closed_ms.0 * MS, closed_ms.1 * MS)];
        let spec = PathSpec {
            rate: RateSpec::constant(12_000_000 / packet_ms),
            queue: QueueSpec {
                packets: Some(100),
                ..QueueSpec::default()
            },
            gate: Gate::new(closed_ns, None, on_close).ok(),
            ..PathSpec::default()
        };
        let aqm = AqmSpec {
            target_ns: 3_600_000 * MS,
            interval_ns: 7_200_000 * MS,
            ..AqmSpec::new(AqmKind::Codel, 1500)
        };
        let mut stage = build(&spec, aqm);
        stage.start(0);
        stage
    }

    /// The old clock's gate holds the packet until 1,100 ms. The new clock begins at 1,000 ms with an open gate.
    #[test]
    fn a_new_clock_decides_nothing_before_its_origin() {
        let mut stage = stage(1, (900, 1_100), OnClose::Keep);
        stage.offer(950 * MS, item(0, 1500));
        stage.start(1_000 * MS);
        assert_eq!(stage.next_deadline(), Some(1_000 * MS));
        assert_eq!(drain(&mut *stage), [(1_001 * MS, 0, None)]);
    }

    /// The gate flushes from 100 to 200 ms on each clock. All arrive after that on the first, and the second begins at
    /// 500 ms.
    #[test]
    fn a_new_clock_flushes_a_queue_that_stands() {
        let mut stage = stage(80, (100, 200), OnClose::Flush);
        for token in 0..4 {
            stage.offer(450 * MS, item(token, 1500));
        }
        stage.start(500 * MS);
        let flushed = Some(Cause::Gate);
        assert_eq!(
            drain(&mut *stage),
            [
                (530 * MS, 0, None),
                (600 * MS, 1, flushed),
                (600 * MS, 2, flushed),
                (600 * MS, 3, flushed)
            ]
        );
    }
}
