//! FQ-CoDel (RFC 8290): a queue with CoDel for each flow. They take turns by bytes, and a flow that has just begun to
//! send goes first.

use std::collections::{BTreeMap, VecDeque};

use super::{
    codel::{Codel, Fifo},
    discipline::Discipline,
};
use crate::{
    model::{Cause, Packet},
    spec::{AqmSpec, QueueLimits},
    stage::{Item, outbox::Outbox},
};

/// Most packets that a full queue drops at once (RFC 8290, section 4.1).
const MAX_SHED: usize = 64;
/// Flows that are kept before those that are over are forgotten: as many as RFC 8290 has queues.
const KEPT_FLOWS: usize = 1024;

/// Identifies a flow. RFC 8290 hashes this into 1024 queues, so that two flows may share one. Here each flow has its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FlowKey {
    /// Tells apart flows of several hosts, and connections from the same ports.
    number: Option<u32>,
    transport: u8,
    ports: [u16; 2],
}

impl FlowKey {
    fn of(packet: &Packet) -> FlowKey {
        FlowKey {
            number: packet.flow,
            transport: packet.transport as u8,
            ports: [packet.src_port, packet.dst_port],
        }
    }
}

#[derive(Debug, Default)]
struct Flow {
    queue: Fifo,
    codel: Codel,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// It is in one of the two lists.
    takes_turns: bool,
}

/// The queues of all flows.
#[derive(Debug)]
pub(super) struct FairQueue {
    spec: AqmSpec,
    quantum: i64,
    flows: BTreeMap<FlowKey, Flow>,
    /// Flows that have just begun to send, which come first.
    new: VecDeque<FlowKey>,
    old: VecDeque<FlowKey>,
    packets: usize,
    bytes: u64,
    /// Number of flows at which those that are over are forgotten.
    forget_at: usize,
}

impl FairQueue {
    pub(super) fn new(spec: AqmSpec) -> FairQueue {
        FairQueue {
            spec,
            // Without any a flow would never have a turn.
            quantum: spec.quantum().max(1).into(),
            flows: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            forget_at: KEPT_FLOWS,
        }
    }

    /// Drops packets at the head of the flow with the most bytes: half of them, but no more than [`MAX_SHED`] packets.
    fn shed(&mut self, now_ns: u64, out: &mut Outbox) {
        // Of those with as many bytes the one with the most packets, then the first.
        let fattest = self.flows.values_mut().rev();
        let Some(flow) = fattest.max_by_key(|flow| (flow.queue.bytes(), flow.queue.len())) else {
            return;
        };
        let kept_bytes = flow.queue.bytes() / 2;
        for _ in 0..MAX_SHED {
            let Some((_, item)) = flow.queue.pop() else {
                break;
            };
            self.packets -= 1;
            self.bytes -= u64::from(item.packet.ip_bytes);
            out.drop(now_ns, item, Cause::Queue);
            if flow.queue.bytes() <= kept_bytes {
                break;
            }
        }
    }

    /// Forgets flows that take no turns and whose drops count no more, so that they are as new when they return.
    fn forget(&mut self, now_ns: u64) {
        if self.flows.len() >= self.forget_at {
            let spec = &self.spec;
            self.flows
                .retain(|_, flow| flow.takes_turns || flow.codel.remembers(now_ns, spec));
            self.forget_at = KEPT_FLOWS.max(2 * self.flows.len());
        }
    }
}

impl Discipline for FairQueue {
    fn enqueue(&mut self, now_ns: u64, item: Item, limits: &QueueLimits, out: &mut Outbox) {
        self.forget(now_ns);
        let key = FlowKey::of(&item.packet);
        let flow = self.flows.entry(key).or_default();
        self.packets += 1;
        self.bytes += u64::from(item.packet.ip_bytes);
        flow.queue.push(now_ns, item);
        if !flow.takes_turns {
            flow.takes_turns = true;
            flow.deficit = self.quantum;
            self.new.push_back(key);
        }
        while !limits.hold(self.bytes, self.packets as u64) {
            self.shed(now_ns, out);
        }
    }

    fn dequeue(&mut self, now_ns: u64, out: &mut Outbox) -> Option<Item> {
        loop {
            let is_new = !self.new.is_empty();
            let list = match is_new {
                true => &mut self.new,
                false => &mut self.old,
            };
            let key = list.pop_front()?;
            let flow = self.flows.get_mut(&key)?;
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.old.push_back(key);
                continue;
            }
            let (packets, bytes) = (flow.queue.len(), flow.queue.bytes());
            let item = flow.codel.dequeue(now_ns, &mut flow.queue, &self.spec, out);
            self.packets -= packets - flow.queue.len();
            self.bytes -= bytes - flow.queue.bytes();
            match item {
                Some(item) => {
                    flow.deficit -= i64::from(item.packet.ip_bytes);
                    list.push_front(key);
                    return Some(item);
                }
                // It waits for a round among the old ones, so that it cannot be new again at once and starve them.
                None if is_new => self.old.push_back(key),
                None => flow.takes_turns = false,
            }
        }
    }

    fn flush(&mut self) -> Option<Item> {
        let waiting = self.flows.values_mut().find(|flow| flow.queue.len() > 0)?;
        let (_, item) = waiting.queue.pop()?;
        self.packets -= 1;
        self.bytes -= u64::from(item.packet.ip_bytes);
        Some(item)
    }

    fn len(&self) -> usize {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Transport,
        spec::AqmKind,
        stage::testing::{drain_outbox, item},
        time::NS_PER_MS,
    };

    const MS: u64 = NS_PER_MS;
    const ROOMY: QueueLimits = QueueLimits {
        bytes: u64::MAX,
        packets: u64::MAX,
    };

    fn spec() -> AqmSpec {
        AqmSpec::new(AqmKind::FqCodel, 1500)
    }

    fn item_of(flow: u32, token: u64, ip_bytes: u32) -> Item {
        let mut item = item(token, ip_bytes);
        item.packet.flow = Some(flow);
        item
    }

    struct Bench {
        queue: FairQueue,
        out: Outbox,
    }

    impl Bench {
        fn new() -> Bench {
            Bench {
                queue: FairQueue::new(spec()),
                out: Outbox::default(),
            }
        }

        fn add(&mut self, flow: u32, packets: u64, ip_bytes: u32) {
            for _ in 0..packets {
                let item = item_of(flow, flow.into(), ip_bytes);
                self.queue.enqueue(0, item, &ROOMY, &mut self.out);
            }
        }

        /// Returns the flows of the next packets to send.
        fn send(&mut self, packets: usize) -> Vec<u64> {
            (0..packets)
                .filter_map(|_| self.queue.dequeue(0, &mut self.out))
                .map(|item| item.packet.token)
                .collect()
        }
    }

    #[test]
    fn flows_take_turns_by_bytes() {
        let mut bench = Bench::new();
        bench.add(1, 100, 1500);
        bench.add(2, 1000, 300);
        let sent = bench.send(240);
        let of = |flow| sent.iter().filter(|&&sent| sent == flow).count();
        // A full packet of one for five small ones of the other.
        assert_eq!((of(1), of(2)), (40, 200));
        assert!(sent[..6] == [1, 2, 2, 2, 2, 2], "{:?}", &sent[..6]);
    }

    #[test]
    fn a_packet_larger_than_the_quantum_costs_the_turns_that_it_takes() {
        let mut bench = Bench::new();
        bench.queue.quantum = 500;
        bench.add(1, 100, 1500);
        bench.add(2, 100, 500);
        let sent = bench.send(80);
        let of = |flow| sent.iter().filter(|&&sent| sent == flow).count();
        assert_eq!((of(1), of(2)), (20, 60), "{sent:?}");
    }

    #[test]
    fn a_flow_that_begins_to_send_goes_before_those_that_go_on() {
        let mut bench = Bench::new();
        bench.add(1, 100, 1500);
        assert_eq!(bench.send(3), [1, 1, 1]);
        bench.add(2, 1, 100);
        assert_eq!(bench.send(3), [2, 1, 1]);
    }

    #[test]
    fn a_flow_is_new_for_one_quantum_only() {
        let mut bench = Bench::new();
        bench.add(1, 100, 1500);
        bench.send(1);
        bench.add(2, 20, 1000);
        // Two of its packets use up its quantum; then it takes turns.
        let sent = bench.send(8);
        assert_eq!(sent, [2, 2, 1, 2, 1, 2, 2, 1]);
    }

    /// Packets that come one by one, each when the one before has left, would otherwise always go first.
    #[test]
    fn a_flow_that_was_new_waits_for_a_round_before_it_is_new_again() {
        let mut bench = Bench::new();
        bench.add(1, 100, 1500);
        bench.add(3, 100, 1500);
        bench.send(2);
        let mut sent = Vec::new();
        for _ in 0..12 {
            bench.add(2, 1, 1500);
            sent.extend(bench.send(1));
        }
        let of = |flow| sent.iter().filter(|&&sent| sent == flow).count();
        assert!(of(1) >= 4 && of(3) >= 4, "{sent:?}");
    }

    #[test]
    fn a_full_queue_drops_half_of_the_fattest_flow_at_its_head() {
        let mut bench = Bench::new();
        let limits = QueueLimits {
            bytes: u64::MAX,
            packets: 12,
        };
        for token in 0..12 {
            let flow = if token < 10 { 1 } else { 2 };
            let item = item_of(flow, token, 1500);
            bench.queue.enqueue(0, item, &limits, &mut bench.out);
        }
        assert_eq!(bench.out.queued(), 0);
        bench
            .queue
            .enqueue(7, item_of(2, 12, 100), &limits, &mut bench.out);
        let dropped = Some(Cause::Queue);
        let expected: Vec<_> = (0..5).map(|token| (7, token, dropped)).collect();
        assert_eq!(drain_outbox(&mut bench.out), expected);
        assert_eq!(
            (bench.queue.len(), bench.queue.bytes),
            (8, 5 * 1500 + 2 * 1500 + 100)
        );
    }

    #[test]
    fn a_full_queue_drops_64_packets_at_most() {
        let mut bench = Bench::new();
        bench.add(1, 300, 1500);
        bench.queue.shed(0, &mut bench.out);
        assert_eq!(bench.queue.len(), 300 - MAX_SHED);
    }

    #[test]
    fn a_full_queue_drops_until_the_rest_fits() {
        let mut bench = Bench::new();
        let limits = QueueLimits {
            bytes: 3000,
            packets: u64::MAX,
        };
        for (flow, ip_bytes) in [(1, 1200), (1, 1200), (2, 600), (3, 1500)] {
            let item = item_of(flow, flow.into(), ip_bytes);
            bench.queue.enqueue(0, item, &limits, &mut bench.out);
        }
        // Half of the first flow is not enough. The third is the fattest then, and has a turn with nothing to send.
        let dropped = Some(Cause::Queue);
        assert_eq!(
            drain_outbox(&mut bench.out),
            [(0, 1, dropped), (0, 3, dropped)]
        );
        assert_eq!(bench.send(9), [1, 2]);
    }

    /// A packet of no bytes is the fattest flow of a queue that is full of such.
    #[test]
    fn a_queue_full_of_nothing_drops_something() {
        let mut bench = Bench::new();
        let limits = QueueLimits {
            bytes: u64::MAX,
            packets: 2,
        };
        for flow in 0..3 {
            let item = item_of(flow, flow.into(), 0);
            bench.queue.enqueue(0, item, &limits, &mut bench.out);
        }
        assert_eq!((bench.queue.len(), bench.out.queued()), (2, 1));
    }

    #[test]
    fn connections_from_the_same_ports_are_two_flows_and_so_are_packets_without_a_number() {
        let packet = |flow, transport, src_port| Packet {
            flow,
            transport,
            src_port,
            ..item(0, 100).packet
        };
        let keys = [
            packet(Some(0), Transport::Tcp, 7),
            packet(Some(2), Transport::Tcp, 7),
            packet(None, Transport::Tcp, 7),
            packet(None, Transport::Udp, 7),
            packet(None, Transport::Tcp, 8),
            packet(None, Transport::Other, 0),
        ];
        let keys: std::collections::BTreeSet<_> = keys.iter().map(FlowKey::of).collect();
        assert_eq!(keys.len(), 6);
    }

    #[test]
    fn flows_that_are_over_are_forgotten_and_those_that_dropped_lately_are_not() {
        let mut bench = Bench::new();
        let mut dropping = Flow {
            takes_turns: false,
            ..Flow::default()
        };
        for _ in 0..9 {
            dropping.queue.push(0, item(0, 1500));
        }
        for ms in [10, 110] {
            let Flow { codel, queue, .. } = &mut dropping;
            codel.dequeue(ms * MS, queue, &spec(), &mut bench.out);
        }
        dropping.queue = Fifo::default();
        let key = FlowKey::of(&item_of(u32::MAX, 0, 100).packet);
        bench.queue.flows.insert(key, dropping);
        for flow in 0..3 * KEPT_FLOWS as u32 {
            let now_ns = 200 * MS;
            let item = item_of(flow, 0, 100);
            bench.queue.enqueue(now_ns, item, &ROOMY, &mut bench.out);
            // The second time it finds nothing.
            for _ in 0..2 {
                bench.queue.dequeue(now_ns, &mut bench.out);
            }
        }
        assert!(bench.queue.flows.len() <= KEPT_FLOWS);
        assert!(bench.queue.flows.contains_key(&key));
        assert_eq!(bench.queue.new.len() + bench.queue.old.len(), 0);
    }
}
