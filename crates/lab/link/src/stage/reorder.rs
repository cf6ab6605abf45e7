//! Reordering: some packets are held back, so that later ones overtake them.

use std::{cmp::Reverse, collections::BinaryHeap};

use config::{ConfigError, Ms, Percent};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Item, Kind, Outcome, Stage};
use crate::{
    flows::Ticket,
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
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Keys {
    /// Share of packets that are held back. Required.
    percent: Option<Percent>,
    /// How long, in ms or as text.
    extra_ms: Option<Ms>,
    /// And so much longer at most, uniform and drawn for each packet.
    jitter_ms: Option<Ms>,
}

impl Keys {
    pub(super) fn read(self, table: &Table<'_>) -> Result<ReorderSpec, ConfigError> {
        let percent =
            table.required_within("percent", self.percent, &NONZERO_PERCENT, "percent = 1")?;
        let jitter_ms = table.within("jitter_ms", self.jitter_ms, &LENGTH_MS)?;
        let extra_ms = table.within("extra_ms", self.extra_ms, &LENGTH_MS)?;
        if extra_ms.or(jitter_ms).is_none() {
            let example = "extra_ms = 5, or jitter_ms = 8 for a random time from 0 to 8 ms";
            table.required("extra_ms", extra_ms, example)?;
        }
        Ok(ReorderSpec {
            ppb: ppb(percent),
            extra_ns: extra_ms.map_or(0, ns),
            jitter_ns: jitter_ms.map_or(0, ns),
        })
    }
}

fn summary(spec: &PathSpec) -> Option<(&'static str, String)> {
    let reorder = spec.reorder?;
    let least = ms(reorder.extra_ns);
    let extra = match reorder.jitter_ns {
        0 => least,
        jitter_ns => format!(
            "{least} to {}",
            ms(reorder.extra_ns.saturating_add(jitter_ns))
        ),
    };
    Some(("reorder", format!("{} by {extra} ms", percent(reorder.ppb))))
}

fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Option<Box<dyn Stage>> {
    let reorder = spec.reorder?;
    Some(Box::new(Reorder {
        chance: Chance::from_ppb(reorder.ppb),
        extra_ns: reorder.extra_ns,
        jitter_ns: reorder.jitter_ns,
        stream: RandomStream::new(seed, direction, "reorder"),
        jitter_stream: RandomStream::new(seed, direction, "reorder jitter"),
        offered: 0,
        waiting: BinaryHeap::new(),
    }))
}

struct Reorder {
    chance: Chance,
    extra_ns: u64,
    jitter_ns: u64,
    stream: RandomStream,
    jitter_stream: RandomStream,
    /// Packets so far; it numbers them.
    offered: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

impl Stage for Reorder {
    fn offer(&mut self, now_ns: u64, item: Item) {
        let held_back = item
            .ticket
            .filter(|&ticket| self.chance.hit(self.stream.draw(ticket)));
        let at_ns = held_back.map_or(now_ns, |ticket| {
            now_ns
                .saturating_add(self.extra_ns)
                .saturating_add(self.jitter_of(ticket))
        });
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

impl Reorder {
    /// Returns this packet's time on top of `extra_ns`, from 0 to `jitter_ns`.
    fn jitter_of(&self, ticket: Ticket) -> u64 {
        let values = u128::from(self.jitter_ns) + 1;
        let drawn = (u128::from(self.jitter_stream.draw(ticket)) * values) >> 64;
        u64::try_from(drawn).unwrap_or(u64::MAX)
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

    /// Returns the outcomes of 10,000 packets, 10 ns apart, with a hold-back of 25 ns and up to
    /// `jitter_ns`.
    fn outcomes(ppb: u32, jitter_ns: u64) -> Vec<(u64, u64, Option<Cause>)> {
        let reorder = Some(ReorderSpec {
            ppb,
            extra_ns: 25,
            jitter_ns,
        });
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
        let out = outcomes(10_000_000, 0);
        let held_back: Vec<_> = out.iter().filter(|o| o.0 != o.1 * 10).collect();
        // Binomial, n = 10000 at 1 %: sigma 10.
        assert!(held_back.len().abs_diff(100) < 50, "{}", held_back.len());
        assert!(held_back.iter().all(|o| o.0 == o.1 * 10 + 25));
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn jitter_of_held_back_packets_is_their_own_and_uniform() {
        let out = outcomes(1_000_000_000, 40);
        let extra = |&(at_ns, token, _): &(u64, u64, _)| at_ns - token * 10 - 25;
        assert!(out.iter().all(|o| extra(o) <= 40));
        // Uniform over 41 values: sigma of the mean is sqrt((41^2 - 1) / 12 / 10000) = 0.12.
        let mean = out.iter().map(extra).sum::<u64>() as f64 / 10_000.0;
        assert!((mean - 20.0).abs() < 0.6, "{mean}");
        // A packet is overtaken by the next if its draw is more than 10 above: about 28 %.
        let overtaken = out.windows(2).filter(|w| w[0].1 > w[1].1).count();
        assert!(overtaken > 2000, "{overtaken}");
        assert!(out.windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn packets_due_at_the_same_time_keep_their_order() {
        assert!(
            outcomes(1_000_000_000, 0)
                .windows(2)
                .all(|w| w[0].1 < w[1].1)
        );
    }
}
