//! CoDel (RFC 8289). When every packet has waited longer than a target for an interval, it drops packets at the head of
//! the queue, more and more often until the wait is short again.

use std::collections::VecDeque;

use super::discipline::Discipline;
use crate::{
    model::Cause,
    spec::{AqmSpec, QueueLimits},
    stage::{Item, outbox::Outbox},
};

/// Within so many intervals of its last drop, a queue goes on dropping as often as it did then.
const REMEMBERED_INTERVALS: u64 = 16;

/// Packets in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    /// Each with its time of arrival in ns.
    packets: VecDeque<(u64, Item)>,
    bytes: u64,
}

impl Fifo {
    pub(super) fn push(&mut self, now_ns: u64, item: Item) {
        self.bytes += u64::from(item.packet.ip_bytes);
        self.packets.push_back((now_ns, item));
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Item)> {
        let (arrived_ns, item) = self.packets.pop_front()?;
        self.bytes -= u64::from(item.packet.ip_bytes);
        Some((arrived_ns, item))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
}

/// Whether a queue is dropping, and how often. The names are those of RFC 8289's pseudocode.
#[derive(Debug, Default)]
pub(super) struct Codel {
    /// When packets will have waited too long for an interval. `None` while they do not.
    first_above_ns: Option<u64>,
    dropping: bool,
    drop_next_ns: u64,
    /// Drops since it began to drop, and what it began with.
    count: u32,
    last_count: u32,
}

/// The packet at the head of a queue, if there is one.
#[derive(Clone, Copy)]
struct Head {
    item: Option<Item>,
    may_drop: bool,
}

impl Codel {
    /// Takes the next packet to send from `queue`, and drops packets in front of it. The last packet of a queue is never
    /// dropped.
    pub(super) fn dequeue(
        &mut self,
        now_ns: u64,
        queue: &mut Fifo,
        spec: &AqmSpec,
        out: &mut Outbox,
    ) -> Option<Item> {
        let mut head = self.take(now_ns, queue, spec);
        if self.dropping {
            self.dropping = head.may_drop;
            while self.dropping && now_ns >= self.drop_next_ns {
                head = self.replace(head, now_ns, queue, spec, out);
                self.count = self.count.saturating_add(1);
                self.dropping = head.may_drop;
                if self.dropping {
                    self.drop_next_ns = after(self.drop_next_ns, spec.interval_ns, self.count);
                }
            }
        } else if head.may_drop {
            head = self.replace(head, now_ns, queue, spec, out);
            self.dropping = true;
            let drops = self.count.saturating_sub(self.last_count);
            self.count = match drops > 1 && self.remembers(now_ns, spec) {
                true => drops,
                false => 1,
            };
            self.last_count = self.count;
            self.drop_next_ns = after(now_ns, spec.interval_ns, self.count);
        }
        head.item
    }

    /// Reports whether what it dropped before still counts when it begins to drop again.
    pub(super) fn remembers(&self, now_ns: u64, spec: &AqmSpec) -> bool {
        let since_ns = now_ns.saturating_sub(self.drop_next_ns);
        self.count > 0 && since_ns < spec.interval_ns.saturating_mul(REMEMBERED_INTERVALS)
    }

    /// Drops a packet, and takes the next.
    fn replace(
        &mut self,
        head: Head,
        now_ns: u64,
        queue: &mut Fifo,
        spec: &AqmSpec,
        out: &mut Outbox,
    ) -> Head {
        if let Some(item) = head.item {
            out.drop(now_ns, item, Cause::Aqm);
        }
        self.take(now_ns, queue, spec)
    }

    fn take(&mut self, now_ns: u64, queue: &mut Fifo, spec: &AqmSpec) -> Head {
        let Some((arrived_ns, item)) = queue.pop() else {
            self.first_above_ns = None;
            return Head {
                item: None,
                may_drop: false,
            };
        };
        let waited_ns = now_ns.saturating_sub(arrived_ns);
        let is_short = waited_ns < spec.target_ns || queue.bytes() <= u64::from(spec.mtu);
        let mut may_drop = false;
        match self.first_above_ns {
            _ if is_short => self.first_above_ns = None,
            None => self.first_above_ns = Some(now_ns.saturating_add(spec.interval_ns)),
            Some(first_above_ns) => may_drop = now_ns >= first_above_ns,
        }
        Head {
            item: Some(item),
            may_drop,
        }
    }
}

/// Returns the time of the drop after one at `at_ns`: an interval later, divided by the square root of the count.
fn after(at_ns: u64, interval_ns: u64, count: u32) -> u64 {
    let interval = u128::from(interval_ns);
    let gap = (interval * interval / u128::from(count.max(1))).isqrt();
    at_ns.saturating_add(u64::try_from(gap).unwrap_or(u64::MAX))
}

/// One queue for all packets. If it is full, arrivals are dropped.
#[derive(Debug)]
pub(super) struct CodelQueue {
    spec: AqmSpec,
    queue: Fifo,
    codel: Codel,
}

impl CodelQueue {
    pub(super) fn new(spec: AqmSpec) -> CodelQueue {
        CodelQueue {
            spec,
            queue: Fifo::default(),
            codel: Codel::default(),
        }
    }
}

impl Discipline for CodelQueue {
    fn enqueue(&mut self, now_ns: u64, item: Item, limits: &QueueLimits, out: &mut Outbox) {
        let bytes = self.queue.bytes() + u64::from(item.packet.ip_bytes);
        if limits.hold(bytes, self.queue.len() as u64 + 1) {
            self.queue.push(now_ns, item);
        } else {
            out.drop(now_ns, item, Cause::Queue);
        }
    }

    fn dequeue(&mut self, now_ns: u64, out: &mut Outbox) -> Option<Item> {
        self.codel.dequeue(now_ns, &mut self.queue, &self.spec, out)
    }

    fn flush(&mut self) -> Option<Item> {
        self.queue.pop().map(|(_, item)| item)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        spec::AqmKind,
        stage::testing::{drain_outbox, item},
        time::NS_PER_MS,
    };

    const MS: u64 = NS_PER_MS;
    const NONE: [u64; 0] = [];
    const SPEC: AqmSpec = AqmSpec {
        kind: AqmKind::Codel,
        target_ns: 5 * MS,
        interval_ns: 100 * MS,
        quantum_bytes: None,
        mtu: 1500,
    };

    /// A queue whose packets have all waited for as long as a test says.
    struct Standing {
        codel: Codel,
        queue: Fifo,
        out: Outbox,
        sent: u64,
    }

    impl Standing {
        fn new() -> Standing {
            Standing {
                codel: Codel::default(),
                queue: Fifo::default(),
                out: Outbox::default(),
                sent: 0,
            }
        }

        /// Takes a packet each ms in this time, where each has waited for `waited_ms` and `behind` more wait behind it.
        /// Returns when packets were dropped, in ms.
        fn run(
            &mut self,
            ms: std::ops::Range<u64>,
            waited_ms: u64,
            behind: usize,
            bytes: u32,
        ) -> Vec<u64> {
            for now_ms in ms {
                let now_ns = now_ms * MS;
                let arrived_ns = now_ns - waited_ms * MS;
                self.queue = Fifo::default();
                for _ in 0..=behind {
                    self.queue.push(arrived_ns, item(self.sent, bytes));
                    self.sent += 1;
                }
                let taken = self
                    .codel
                    .dequeue(now_ns, &mut self.queue, &SPEC, &mut self.out);
                assert!(taken.is_some(), "the last packet is never dropped");
            }
            drain_outbox(&mut self.out)
                .iter()
                .map(|(at_ns, _, cause)| {
                    assert_eq!(*cause, Some(Cause::Aqm));
                    at_ns / MS
                })
                .collect()
        }
    }

    #[test]
    fn drops_come_an_interval_by_the_square_root_of_their_count_apart() {
        let drops = Standing::new().run(1000..2000, 50, 99, 1500);
        // 1000 + 100; then 100 after the first, 100 / sqrt 2 after the second, 100 / sqrt 3 after the third: 1100, 1200,
        // 1270.7, 1328.4, 1378.4, 1423.2, 1463.99, 1501.8, 1537.1.
        assert_eq!(
            drops[..9],
            [1100, 1200, 1271, 1329, 1379, 1424, 1464, 1502, 1538]
        );
    }

    #[test]
    fn nothing_is_dropped_below_the_target_or_above_it_for_less_than_an_interval() {
        let mut queue = Standing::new();
        assert_eq!(queue.run(1000..3000, 4, 99, 1500), NONE);
        assert_eq!(queue.run(3000..3100, 50, 99, 1500), NONE);
        // One packet that did not wait begins the interval again.
        assert_eq!(queue.run(3100..3101, 4, 99, 1500), NONE);
        assert_eq!(queue.run(3101..3201, 50, 99, 1500), NONE);
        assert_eq!(queue.run(3201..3202, 50, 99, 1500), [3201]);
    }

    #[test]
    fn exactly_the_target_is_too_long_and_exactly_an_interval_is_long_enough() {
        let mut queue = Standing::new();
        assert_eq!(queue.run(1000..1101, 5, 99, 1500), [1100]);
    }

    #[test]
    fn a_queue_of_one_packet_more_drops_nothing() {
        let mut queue = Standing::new();
        assert_eq!(queue.run(1000..3000, 50, 1, 1500), NONE);
        // Two small packets behind it are less than a full one, three are more.
        assert_eq!(queue.run(3000..5000, 50, 2, 750), NONE);
        assert_eq!(queue.run(5000..5101, 50, 3, 750), [5100]);
    }

    #[test]
    fn a_queue_that_stops_soon_goes_on_where_it_was() {
        let mut queue = Standing::new();
        // Nine drops, and the next would be due at 1570.5.
        assert_eq!(queue.run(1000..1540, 50, 99, 1500).len(), 9);
        assert_eq!(queue.run(1540..1600, 4, 99, 1500), NONE);
        // It begins with a count of 8, nine drops less the first.
        assert_eq!(queue.run(1600..1800, 50, 99, 1500), [1700, 1736, 1769]);
        // Two drops would count, but 16 intervals have passed since 1800.3.
        assert_eq!(queue.run(1800..3500, 4, 99, 1500), NONE);
        let drops = queue.run(3500..3750, 50, 99, 1500);
        assert_eq!(drops, [3600, 3700]);
    }

    #[test]
    fn one_drop_is_not_remembered() {
        let mut queue = Standing::new();
        assert_eq!(queue.run(1000..1210, 50, 99, 1500), [1100, 1200]);
        assert_eq!(queue.run(1210..1220, 4, 99, 1500), NONE);
        // The count was 2 and had begun with 1.
        assert_eq!(queue.run(1220..1430, 50, 99, 1500), [1320, 1420]);
    }

    #[test]
    fn many_drops_are_due_at_once_after_a_long_pause() {
        let mut queue = Standing::new();
        assert_eq!(queue.run(1000..1101, 50, 99, 1500), [1100]);
        // The server stood still for half a second: drops that were due from 1200 to 1600 come together.
        let drops = queue.run(1600..1601, 600, 99, 1500);
        assert_eq!(drops, [1600; 9]);
    }

    #[test]
    fn the_dropped_packet_is_the_one_at_the_head() {
        let mut queue = Fifo::default();
        for token in 0..9 {
            queue.push(0, item(token, 1500));
        }
        let (mut codel, mut out) = (Codel::default(), Outbox::default());
        let mut take = |ms: u64| {
            let taken = codel.dequeue(ms * MS, &mut queue, &SPEC, &mut out);
            taken.map(|item| item.packet.token)
        };
        assert_eq!(
            [take(10), take(110), take(111)],
            [Some(0), Some(2), Some(3)]
        );
        assert_eq!(drain_outbox(&mut out), [(110 * MS, 1, Some(Cause::Aqm))]);
    }

    #[test]
    fn gaps_are_those_of_the_control_law() {
        for count in [1, 2, 3, 4, 10, 1000, u32::MAX] {
            let exact = 1e8 / f64::from(count).sqrt();
            let gap = after(7, 100 * MS, count) - 7;
            assert!(
                exact - 1.0 < gap as f64 && gap as f64 <= exact + 1e-3,
                "{count}: {gap}"
            );
        }
        assert_eq!(after(u64::MAX - 1, u64::MAX, 1), u64::MAX);
        assert_eq!(after(5, 100, 0), 105);
    }
}
