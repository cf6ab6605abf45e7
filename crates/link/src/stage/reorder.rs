//! Reordering, only where it is asked for: some packets are held back and overtaken.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{Item, Outcome, Stage};
use crate::{
    Direction, PathSpec,
    rng::{Chance, RandomStream},
};

pub(super) fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Option<Box<dyn Stage>> {
    let reorder = spec.reorder?;
    Some(Box::new(Reorder {
        chance: Chance::from_ppb(reorder.ppb),
        extra_ns: reorder.extra_ns,
        random: RandomStream::new(seed, direction, "reorder"),
        offered: 0,
        under_way: BinaryHeap::new(),
    }))
}

struct Reorder {
    chance: Chance,
    extra_ns: u64,
    random: RandomStream,
    offered: u64,
    under_way: BinaryHeap<Reverse<Waiting>>,
}

impl Stage for Reorder {
    fn offer(&mut self, now_ns: u64, item: Item) {
        let held_back = item
            .ticket
            .is_some_and(|ticket| self.chance.hit(self.random.draw(ticket)));
        let at_ns = if held_back {
            now_ns.saturating_add(self.extra_ns)
        } else {
            now_ns
        };
        self.under_way.push(Reverse(Waiting {
            at_ns,
            number: self.offered,
            item,
        }));
        self.offered += 1;
    }

    fn next_deadline(&self) -> Option<u64> {
        self.under_way.peek().map(|Reverse(first)| first.at_ns)
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.next_deadline().filter(|&at_ns| at_ns <= now_ns)?;
        let Reverse(Waiting { at_ns, item, .. }) = self.under_way.pop()?;
        Some(Outcome {
            at_ns,
            item,
            dropped: None,
        })
    }

    fn held(&self) -> usize {
        self.under_way.len()
    }
}

/// Ordered by time, then by arrival.
struct Waiting {
    at_ns: u64,
    number: u64,
    item: Item,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{drain, item},
        *,
    };
    use crate::ReorderSpec;

    fn outcome(ppb: u32) -> Vec<(u64, u64, Option<crate::Cause>)> {
        let reorder = Some(ReorderSpec { ppb, extra_ns: 25 });
        let spec = PathSpec {
            reorder,
            ..PathSpec::default()
        };
        let mut stage = build(&spec, Direction::Up, 7).unwrap();
        for i in 0..10_000 {
            stage.offer(i * 10, item(i, 100));
        }
        drain(&mut *stage)
    }

    #[test]
    fn the_share_is_held_back_and_overtaken_by_two() {
        let out = outcome(10_000_000);
        let held: Vec<usize> = (0..out.len())
            .filter(|&i| out[i].0 != out[i].1 * 10)
            .collect();
        // Binomial, n = 10000 at 1 %: sigma 10.
        assert!(held.len().abs_diff(100) < 50, "{}", held.len());
        assert!(held.iter().all(|&i| out[i].0 == out[i].1 * 10 + 25));
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn equal_times_leave_in_order_of_arrival() {
        assert!(outcome(1_000_000_000).windows(2).all(|w| w[0].1 < w[1].1));
    }
}
