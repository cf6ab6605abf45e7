//! Reordering: some packets are held back, so that later ones overtake them.

use std::{cmp::Reverse, collections::BinaryHeap};

use config::ConfigError;
use serde::Deserialize;

use super::{Item, Kind, Outcome, Stage};
use crate::{
    model::Direction,
    rng::{Chance, RandomStream},
    spec::{PathSpec, ReorderSpec},
    table::{LENGTH_MS, NONZERO_PERCENT, Table, ns, ppb},
    text::{ms, percent},
};

pub(super) const KIND: Kind = Kind {
    summary,
    ..Kind::new(build)
};

/// `[down.reorder]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    percent: Option<f64>,
    extra_ms: Option<f64>,
}

impl Keys {
    pub(super) fn read(self, table: &Table<'_>) -> Result<ReorderSpec, ConfigError> {
        let percent =
            table.required_within("percent", self.percent, &NONZERO_PERCENT, "percent = 1")?;
        let extra_ms =
            table.required_within("extra_ms", self.extra_ms, &LENGTH_MS, "extra_ms = 5")?;
        Ok(ReorderSpec {
            ppb: ppb(percent),
            extra_ns: ns(extra_ms),
        })
    }
}

fn summary(spec: &PathSpec) -> Option<(&'static str, String)> {
    let reorder = spec.reorder?;
    let text = format!("{} by {} ms", percent(reorder.ppb), ms(reorder.extra_ns));
    Some(("reorder", text))
}

fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Option<Box<dyn Stage>> {
    let reorder = spec.reorder?;
    Some(Box::new(Reorder {
        chance: Chance::from_ppb(reorder.ppb),
        extra_ns: reorder.extra_ns,
        stream: RandomStream::new(seed, direction, "reorder"),
        offered: 0,
        waiting: BinaryHeap::new(),
    }))
}

struct Reorder {
    chance: Chance,
    extra_ns: u64,
    stream: RandomStream,
    /// Packets so far; it numbers them.
    offered: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

impl Stage for Reorder {
    fn offer(&mut self, now_ns: u64, item: Item) {
        let held_back = item
            .ticket
            .is_some_and(|ticket| self.chance.hit(self.stream.draw(ticket)));
        let at_ns = if held_back {
            now_ns.saturating_add(self.extra_ns)
        } else {
            now_ns
        };
        self.waiting.push(Reverse(Waiting {
            at_ns,
            number: self.offered,
            item,
        }));
        self.offered += 1;
    }

    fn next_deadline(&self) -> Option<u64> {
        self.waiting.peek().map(|Reverse(first)| first.at_ns)
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.next_deadline().filter(|&at_ns| at_ns <= now_ns)?;
        let Reverse(Waiting { at_ns, item, .. }) = self.waiting.pop()?;
        Some(Outcome {
            at_ns,
            item,
            dropped: None,
        })
    }

    fn queued(&self) -> usize {
        self.waiting.len()
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
    use crate::model::Cause;

    /// Outcomes of 10,000 packets, 10 ns apart, with a hold-back of 25 ns.
    fn outcomes(ppb: u32) -> Vec<(u64, u64, Option<Cause>)> {
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
    fn held_back_packets_are_overtaken_by_two() {
        let out = outcomes(10_000_000);
        let held_back: Vec<_> = out.iter().filter(|o| o.0 != o.1 * 10).collect();
        // Binomial, n = 10000 at 1 %: sigma 10.
        assert!(held_back.len().abs_diff(100) < 50, "{}", held_back.len());
        assert!(held_back.iter().all(|o| o.0 == o.1 * 10 + 25));
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn packets_due_at_the_same_time_keep_their_order() {
        assert!(outcomes(1_000_000_000).windows(2).all(|w| w[0].1 < w[1].1));
    }
}
