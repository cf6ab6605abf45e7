//! The bottleneck: queue, rate and gate in one stage, since the queue fills while the server is
//! busy and the server stops while the gate is closed. Here the queue drops arrivals while it is full; `managed` has
//! queues that drop packets sooner.

pub(crate) mod aqm;
mod codel;
mod discipline;
mod fair;
mod managed;
mod queue;
mod server;
pub(crate) mod settings;

use queue::Queue;
use server::Server;

use super::{Item, Kind, Outcome, Stage, outbox::Outbox};
use crate::{
    closings::Closings,
    model::{Cause, Direction},
    spec::{PathSpec, RateSpec},
};

pub(super) const KIND: Kind = Kind {
    check: settings::check,
    summary: settings::gate_summary,
    ..Kind::new(build)
};

fn build(spec: &PathSpec, _: Direction, _: u64) -> Option<Box<dyn Stage>> {
    if spec.rate == RateSpec::Unlimited && spec.closings().is_none() {
        return None;
    }
    if let Some(aqm) = spec.aqm {
        return Some(managed::build(spec, aqm));
    }
    Some(Box::new(Bottleneck {
        queue: Queue::new(spec.queue_limits()),
        server: Server::new(&spec.rate),
        // A trace has its own outages; a network file with both is refused.
        gate: spec
            .closings()
            .filter(|_| !matches!(spec.rate, RateSpec::Trace(_)))
            .cloned(),
        flush_ns: None,
        origin_ns: 0,
        out: Outbox::default(),
    }))
}

struct Bottleneck {
    queue: Queue,
    server: Server,
    gate: Option<Closings>,
    /// When the gate will flush the packets that are still queued or in service by then.
    flush_ns: Option<u64>,
    origin_ns: u64,
    out: Outbox,
}

impl Stage for Bottleneck {
    fn start(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
        self.server.start(origin_ns);
    }

    /// Decides the packet's fate at once: it depends only on earlier arrivals and on the calendar,
    /// which is known beforehand.
    fn offer(&mut self, now_ns: u64, item: Item) {
        if self.flush_ns.is_some_and(|flush_ns| flush_ns <= now_ns) {
            self.flush_ns = None;
            self.server.reset(now_ns);
            self.queue.clear();
        }
        self.queue.advance(now_ns);

        let calendar = Calendar {
            gate: self.gate.as_ref(),
            origin_ns: self.origin_ns,
        };
        if calendar.flushes_at(now_ns) {
            return self.out.drop(now_ns, item, Cause::Gate);
        }
        let waits = self.server.begin_ns(now_ns, &calendar) > now_ns;
        if waits && !self.queue.fits(item.packet.ip_bytes) {
            return self.out.drop(now_ns, item, Cause::Queue);
        }
        let (begin_ns, done_ns) = self.server.serve(now_ns, item.packet.ip_bytes, &calendar);
        self.queue.admit(begin_ns, item.packet.ip_bytes);
        match calendar.next_flush(now_ns) {
            Some(closing_ns) if closing_ns < done_ns => {
                self.flush_ns = Some(closing_ns);
                self.out.drop(closing_ns, item, Cause::Gate);
            }
            _ => self.out.pass(done_ns, item),
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.out.next_deadline()
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.out.poll(now_ns)
    }

    fn queued(&self) -> usize {
        self.out.queued()
    }
}

/// The gate on the path's clock; without a gate it is always open.
struct Calendar<'a> {
    gate: Option<&'a Closings>,
    origin_ns: u64,
}

impl Calendar<'_> {
    /// Returns whether a packet that arrives at `at_ns` is lost because the gate is closed.
    fn flushes_at(&self, at_ns: u64) -> bool {
        let (_, since_ns) = self.split(at_ns);
        self.gate.is_some_and(|gate| gate.flushes_at(since_ns))
    }

    /// Returns the first moment from `at_ns` on at which the gate is open.
    fn open_from(&self, at_ns: u64) -> u64 {
        self.on_gate(at_ns, Closings::open_from)
    }

    /// Returns the moment when `need_ns` of open time have passed since `at_ns`.
    fn after_open(&self, at_ns: u64, need_ns: u64) -> u64 {
        match self.gate {
            None => at_ns.saturating_add(need_ns),
            Some(_) => self.on_gate(at_ns, |gate, since_ns| gate.after_open(since_ns, need_ns)),
        }
    }

    /// Returns the first moment from `at_ns` on at which the queue is lost.
    fn next_flush(&self, at_ns: u64) -> Option<u64> {
        let (base_ns, since_ns) = self.split(at_ns);
        Some(base_ns.saturating_add(self.gate?.next_flush(since_ns)?))
    }

    /// Converts `at_ns` to the gate's clock, calls `f`, and converts the result back.
    fn on_gate(&self, at_ns: u64, f: impl Fn(&Closings, u64) -> u64) -> u64 {
        let (base_ns, since_ns) = self.split(at_ns);
        self.gate
            .map_or(at_ns, |gate| base_ns.saturating_add(f(gate, since_ns)))
    }

    /// Splits `at_ns` into the origin and the time since; times before the origin count as it.
    fn split(&self, at_ns: u64) -> (u64, u64) {
        let since_ns = at_ns.saturating_sub(self.origin_ns);
        (at_ns - since_ns, since_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{drain, item},
        *,
    };
    use crate::{closings::OnClose, gate::Gate, spec::QueueSpec, time::NS_PER_MS, trace::Trace};

    const MS: u64 = NS_PER_MS;

    /// Returns a path of 12 Mbit/s. A packet of 1500 bytes takes exactly one millisecond there.
    fn spec_12_mbit(queue_packets: u64) -> PathSpec {
        PathSpec {
            rate: RateSpec::constant(12_000_000),
            queue: QueueSpec {
                packets: Some(queue_packets),
                ..QueueSpec::default()
            },
            ..PathSpec::default()
        }
    }

    fn stage(spec: &PathSpec) -> Box<dyn Stage> {
        let mut stage = build(spec, Direction::Down, 1).unwrap();
        stage.start(0);
        stage
    }

    fn offer_burst(stage: &mut dyn Stage, at_ns: u64, tokens: std::ops::Range<u64>) {
        for token in tokens {
            stage.offer(at_ns, item(token, 1500));
        }
    }

    #[test]
    fn no_stage_without_rate_and_gate() {
        assert!(build(&PathSpec::default(), Direction::Up, 1).is_none());
    }

    #[test]
    fn queue_drops_tail_when_full() {
        let mut stage = stage(&spec_12_mbit(2));
        offer_burst(&mut *stage, 0, 0..4);
        assert_eq!(
            drain(&mut *stage),
            [
                (0, 3, Some(Cause::Queue)),
                (MS, 0, None),
                (2 * MS, 1, None),
                (3 * MS, 2, None)
            ]
        );
    }

    #[test]
    fn queue_frees_a_place_when_service_begins() {
        let mut stage = stage(&spec_12_mbit(1));
        offer_burst(&mut *stage, 0, 0..2);
        stage.offer(MS - 1, item(2, 1500));
        stage.offer(MS, item(3, 1500));
        let causes: Vec<_> = drain(&mut *stage).iter().map(|o| (o.1, o.2)).collect();
        assert_eq!(
            causes,
            [(2, Some(Cause::Queue)), (0, None), (1, None), (3, None)]
        );
    }

    #[test]
    fn polling_early_does_not_free_the_queue() {
        let mut stage = stage(&spec_12_mbit(1));
        offer_burst(&mut *stage, 0, 0..2);
        assert!(stage.poll(10 * MS).is_some());
        assert!(stage.poll(10 * MS).is_some());
        // It arrived before the poll, when the queue was still full.
        stage.offer(MS - 1, item(2, 1500));
        assert_eq!(drain(&mut *stage), [(MS - 1, 2, Some(Cause::Queue))]);
    }

    #[test]
    fn queue_time_limits_the_wait() {
        let mut spec = spec_12_mbit(0);
        spec.queue = QueueSpec {
            time_ns: Some(5 * MS),
            ..QueueSpec::default()
        };
        let mut stage = stage(&spec);
        offer_burst(&mut *stage, 0, 0..20);
        let passed: Vec<_> = drain(&mut *stage)
            .into_iter()
            .filter(|o| o.2.is_none())
            .collect();
        // Five wait and one is on the wire.
        assert_eq!(passed.len(), 6);
        assert_eq!(passed[5].0, 6 * MS);
    }

    #[test]
    fn keeping_gate_pauses_service_mid_packet() {
        let mut spec = spec_12_mbit(10);
        let gate = Gate::new(vec![(MS / 2, 10 * MS)], None, OnClose::Keep);
        spec.gate = Some(gate.unwrap());
        let mut stage = stage(&spec);
        offer_burst(&mut *stage, 0, 0..2);
        stage.offer(5 * MS, item(2, 1500));
        let times: Vec<u64> = drain(&mut *stage).iter().map(|o| o.0).collect();
        assert_eq!(
            times,
            [10 * MS + MS / 2, 11 * MS + MS / 2, 12 * MS + MS / 2]
        );
    }

    #[test]
    fn flushing_gate_drops_the_queue_and_later_arrivals() {
        let mut spec = spec_12_mbit(10);
        let gate = Gate::new(vec![(3 * MS / 2, 10 * MS)], None, OnClose::Flush);
        spec.gate = Some(gate.unwrap());
        let mut stage = stage(&spec);
        offer_burst(&mut *stage, 0, 0..3);
        stage.offer(5 * MS, item(3, 1500));
        stage.offer(10 * MS, item(4, 1500));
        let flushed = Some(Cause::Gate);
        assert_eq!(
            drain(&mut *stage),
            [
                (MS, 0, None),
                (3 * MS / 2, 1, flushed),
                (3 * MS / 2, 2, flushed),
                (5 * MS, 3, flushed),
                (11 * MS, 4, None),
            ]
        );
    }

    #[test]
    fn packet_served_when_the_gate_closes_is_not_flushed() {
        let mut spec = spec_12_mbit(10);
        let gate = Gate::new(vec![(2 * MS, 3 * MS)], None, OnClose::Flush);
        spec.gate = Some(gate.unwrap());
        let mut stage = stage(&spec);
        offer_burst(&mut *stage, 0, 0..3);
        assert_eq!(
            drain(&mut *stage),
            [
                (MS, 0, None),
                (2 * MS, 1, None),
                (2 * MS, 2, Some(Cause::Gate))
            ]
        );
    }

    #[test]
    fn trace_ignores_the_gate() {
        let trace = Trace::new(vec![1]).unwrap();
        let gate = Gate::new(vec![(0, 100 * MS)], None, OnClose::Flush).unwrap();
        let mut stage = stage(&PathSpec {
            rate: RateSpec::Trace(trace),
            gate: Some(gate),
            ..PathSpec::default()
        });
        stage.offer(0, item(0, 1500));
        assert_eq!(drain(&mut *stage), [(MS, 0, None)]);
    }

    #[test]
    fn gate_without_rate_holds_packets_until_it_opens() {
        let gate = Gate::new(vec![(MS, 2 * MS)], Some(4 * MS), OnClose::Keep).unwrap();
        let mut stage = stage(&PathSpec {
            gate: Some(gate),
            queue: QueueSpec {
                packets: Some(1),
                ..QueueSpec::default()
            },
            ..PathSpec::default()
        });
        for (at_ns, token) in [(0, 0), (MS, 1), (MS + 5, 2), (3 * MS, 3), (5 * MS, 4)] {
            stage.offer(at_ns, item(token, 100));
        }
        assert_eq!(
            drain(&mut *stage),
            [
                (0, 0, None),
                (MS + 5, 2, Some(Cause::Queue)),
                (2 * MS, 1, None),
                (3 * MS, 3, None),
                (6 * MS, 4, None),
            ]
        );
    }

    #[test]
    fn gate_and_trace_start_at_the_origin() {
        let gate = Gate::new(vec![(0, MS)], None, OnClose::Keep).unwrap();
        let mut gated = stage(&PathSpec {
            gate: Some(gate),
            ..PathSpec::default()
        });
        gated.start(100 * MS);
        gated.offer(100 * MS, item(0, 100));
        assert_eq!(drain(&mut *gated), [(101 * MS, 0, None)]);

        let rate = RateSpec::Trace(Trace::new(vec![7]).unwrap());
        let mut traced = stage(&PathSpec {
            rate,
            ..PathSpec::default()
        });
        traced.start(100 * MS);
        traced.offer(100 * MS, item(0, 100));
        assert_eq!(drain(&mut *traced), [(107 * MS, 0, None)]);
    }
}
