use std::ops::RangeInclusive;

use config::{ConfigError, Ms, Percent};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Model;
use crate::{
    flows::Ticket,
    model::Direction,
    rng::{Chance, RandomStream},
    spec::{BadLength, BurstSpec},
    table::{NONZERO_PERCENT, Table, ns, ppb},
};

/// Mean sojourns: at least a millisecond, so that counting those of an idle hour takes no
/// noticeable time.
const SOJOURN_MS: RangeInclusive<f64> = 1.0..=3_600_000.0;

/// `[down.burst_loss]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    /// Mean length of good times, in ms or as text. Required.
    good_ms: Option<Ms>,
    /// Mean length of bad times, in ms or as text. Required.
    bad_ms: Option<Ms>,
    /// Whether bad times vary.
    bad_length: Option<BadLength>,
    /// Loss in a bad time, 100 % by default.
    loss_percent: Option<Percent>,
}

impl Keys {
    pub(super) fn read(self, table: &Table<'_>) -> Result<BurstSpec, ConfigError> {
        let sojourn = |key, value, example| table.required_within(key, value, &SOJOURN_MS, example);
        let loss = table.within("loss_percent", self.loss_percent, &NONZERO_PERCENT)?;
        Ok(BurstSpec {
            good_ns: ns(sojourn("good_ms", self.good_ms, "good_ms = 950")?),
            bad_ns: ns(sojourn("bad_ms", self.bad_ms, "bad_ms = 50")?),
            bad_length: self.bad_length.unwrap_or_default(),
            loss_ppb: ppb(loss.unwrap_or(100.0)),
        })
    }
}

/// Good and bad times by the clock: a fade lasts as long for one packet as for a hundred, so all
/// arms of a comparison meet the same fades.
pub(super) struct Burst {
    good_ns: u64,
    bad_ns: u64,
    bad_length: BadLength,
    chance: Chance,
    loss_stream: RandomStream,
    sojourn_stream: RandomStream,
    /// Number of the current sojourn; even numbers are good times.
    number: u64,
    /// When the current sojourn ends.
    until_ns: u64,
}

impl Burst {
    pub(super) fn new(spec: &BurstSpec, direction: Direction, seed: u64) -> Burst {
        let mut burst = Burst {
            good_ns: spec.good_ns,
            bad_ns: spec.bad_ns,
            bad_length: spec.bad_length,
            chance: Chance::from_ppb(spec.loss_ppb),
            loss_stream: RandomStream::new(seed, direction, "burst loss"),
            sojourn_stream: RandomStream::new(seed, direction, "burst sojourn"),
            number: 0,
            until_ns: 0,
        };
        burst.start(0);
        burst
    }

    fn is_bad(&self) -> bool {
        self.number % 2 == 1
    }

    /// Returns the length of a sojourn, at least a nanosecond, so that every sojourn ends after it
    /// began. Exponential lengths are drawn by inversion.
    fn sojourn_ns(&self, number: u64) -> u64 {
        let mean_ns = match (number % 2 == 1, self.bad_length) {
            (true, BadLength::Fixed) => return self.bad_ns.max(1),
            (true, BadLength::Exponential) => self.bad_ns,
            (false, _) => self.good_ns,
        };
        // 53 bits fit a double exactly; the half keeps the logarithm finite.
        let bits = self.sojourn_stream.draw_at(0, number) >> 11;
        let uniform = (bits as f64 + 0.5) / (1_u64 << 53) as f64;
        ((mean_ns as f64 * -uniform.ln()) as u64).max(1)
    }
}

impl Model for Burst {
    fn start(&mut self, origin_ns: u64) {
        self.number = 0;
        self.until_ns = origin_ns.saturating_add(self.sojourn_ns(0));
    }

    fn loses(&mut self, now_ns: u64, ticket: Ticket) -> bool {
        while self.until_ns <= now_ns {
            self.number += 1;
            self.until_ns = self.until_ns.saturating_add(self.sojourn_ns(self.number));
        }
        self.is_bad() && self.chance.hit(self.loss_stream.draw(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::NS_PER_MS;

    const SPEC: BurstSpec = BurstSpec {
        good_ns: 900 * NS_PER_MS,
        bad_ns: 100 * NS_PER_MS,
        bad_length: BadLength::Exponential,
        loss_ppb: 1_000_000_000,
    };

    /// Returns whether each packet is lost, sent every `gap_ms` for an hour.
    fn losses(spec: &BurstSpec, origin_ns: u64, gap_ms: u64) -> Vec<bool> {
        let mut model = Burst::new(spec, Direction::Down, 7);
        model.start(origin_ns);
        (0..3_600_000 / gap_ms)
            .map(|index| {
                let now_ns = origin_ns + index * gap_ms * NS_PER_MS;
                model.loses(now_ns, Ticket { series: 0, index })
            })
            .collect()
    }

    #[test]
    fn share_and_length_of_bad_times_match_their_means() {
        let losses = losses(&SPEC, 0, 1);
        // 3600 cycles of two exponentials: the share's sigma is 0.9 x 0.1 x sqrt(2 / 3600)
        // = 0.0021, that of the mean burst 100 ms / sqrt(3600) = 1.7 ms. Five sigma each.
        let lost = losses.iter().filter(|&&lost| lost).count();
        let share = lost as f64 / losses.len() as f64;
        assert!((share - 0.1).abs() < 0.0107, "{share}");
        let bursts = losses.windows(2).filter(|w| !w[0] && w[1]).count();
        let mean_ms = lost as f64 / bursts as f64;
        assert!((mean_ms - 100.5).abs() < 8.5, "{mean_ms}");
    }

    #[test]
    fn fixed_bad_times_all_last_equally_long() {
        let spec = BurstSpec {
            bad_length: BadLength::Fixed,
            ..SPEC
        };
        let losses = losses(&spec, 0, 1);
        let bursts: Vec<usize> = losses
            .split(|lost| !lost)
            .map(<[bool]>::len)
            .filter(|len| *len > 0)
            .collect();
        // A hundred packets a millisecond apart. Good times shorter than a millisecond fall between
        // two packets and join two bursts: one in 900.
        let whole = bursts.iter().filter(|len| (100..=101).contains(*len));
        assert!(bursts.len() - whole.count() < 20, "{bursts:?}");
        // 3600 exponential good times: sigma of the mean share is 0.9 x 0.1 / sqrt(3600) = 0.0015.
        let share = bursts.iter().sum::<usize>() as f64 / losses.len() as f64;
        assert!((share - 0.1).abs() < 0.0075, "{share}");
    }

    #[test]
    fn fades_do_not_depend_on_the_packets_sent() {
        let dense = losses(&SPEC, 0, 1);
        let sparse = losses(&SPEC, 0, 10);
        let same: Vec<bool> = dense.iter().copied().step_by(10).collect();
        assert_eq!(sparse, same);
    }

    #[test]
    fn fades_start_at_the_origin() {
        assert_eq!(losses(&SPEC, 0, 10), losses(&SPEC, 12_345 * NS_PER_MS, 10));
    }

    #[test]
    fn fades_may_lose_only_part_of_their_packets() {
        let spec = BurstSpec {
            good_ns: 1,
            bad_ns: u64::MAX / 2,
            bad_length: BadLength::Exponential,
            loss_ppb: 250_000_000,
        };
        let lost = losses(&spec, 0, 100).iter().filter(|&&lost| lost).count();
        // Binomial, n = 36000 less those before the first fade: mean 9000, sigma 82.
        assert!(lost.abs_diff(9000) < 410, "{lost}");
    }
}
