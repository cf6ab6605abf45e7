use std::collections::BTreeMap;

use config::{ConfigError, Percent};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Model;
use crate::{
    flows::Ticket,
    model::Direction,
    rng::{Chance, RandomStream},
    spec::GilbertElliottSpec,
    table::{NONZERO_PERCENT, PERCENT, Table, ppb},
};

/// `[down.gilbert_elliott]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    /// Chance of a step to turn bad. Required.
    p_percent: Option<Percent>,
    /// Chance of a step to turn good again. Required.
    r_percent: Option<Percent>,
    /// Loss in the good state, 0 by default.
    good_loss_percent: Option<Percent>,
    /// Loss in the bad state, 100 % by default.
    bad_loss_percent: Option<Percent>,
}

impl Keys {
    pub(super) fn read(self, table: &Table<'_>) -> Result<GilbertElliottSpec, ConfigError> {
        let step =
            |key, value, example| table.required_within(key, value, &NONZERO_PERCENT, example);
        let to_bad = "p_percent = 0.5, the chance to turn bad";
        let to_good = "r_percent = 20, the chance to turn good";
        let good_loss = table.within("good_loss_percent", self.good_loss_percent, &PERCENT)?;
        let bad_loss = table.within("bad_loss_percent", self.bad_loss_percent, &PERCENT)?;
        Ok(GilbertElliottSpec {
            to_bad_ppb: ppb(step("p_percent", self.p_percent, to_bad)?),
            to_good_ppb: ppb(step("r_percent", self.r_percent, to_good)?),
            good_loss_ppb: ppb(good_loss.unwrap_or(0.0)),
            bad_loss_ppb: ppb(bad_loss.unwrap_or(100.0)),
        })
    }
}

/// The chain of Gilbert (1960) and Elliott (1963), which takes one step per packet: a fade lasts a
/// number of packets, however long they take. It is here to repeat published work. For comparisons
/// use burst loss, which gives fast and slow senders the same fades.
///
/// Each flow has a chain for its full-size packets and one for all others. Neither a second flow
/// nor one more acknowledgement shifts a chain.
pub(super) struct GilbertElliott {
    to_bad: Chance,
    to_good: Chance,
    good_loss: Chance,
    bad_loss: Chance,
    step_stream: RandomStream,
    loss_stream: RandomStream,
    /// Whether the chain of each series is in the bad state.
    bad: BTreeMap<u64, bool>,
}

impl GilbertElliott {
    pub(super) fn new(
        spec: &GilbertElliottSpec,
        direction: Direction,
        seed: u64,
    ) -> GilbertElliott {
        GilbertElliott {
            to_bad: Chance::from_ppb(spec.to_bad_ppb),
            to_good: Chance::from_ppb(spec.to_good_ppb),
            good_loss: Chance::from_ppb(spec.good_loss_ppb),
            bad_loss: Chance::from_ppb(spec.bad_loss_ppb),
            step_stream: RandomStream::new(seed, direction, "gilbert-elliott step"),
            loss_stream: RandomStream::new(seed, direction, "gilbert-elliott loss"),
            bad: BTreeMap::new(),
        }
    }
}

impl Model for GilbertElliott {
    fn start(&mut self, _origin_ns: u64) {
        self.bad.clear();
    }

    /// Takes a step of the chain first, as netem does, then draws the loss in the new state.
    fn loses(&mut self, _now_ns: u64, ticket: Ticket) -> bool {
        let bad = self.bad.entry(ticket.series).or_default();
        let leaves = if *bad { self.to_good } else { self.to_bad };
        *bad ^= leaves.hit(self.step_stream.draw(ticket));
        let chance = if *bad { self.bad_loss } else { self.good_loss };
        chance.hit(self.loss_stream.draw(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2.439 % in bursts of five packets.
    const SPEC: GilbertElliottSpec = GilbertElliottSpec {
        to_bad_ppb: 5_000_000,
        to_good_ppb: 200_000_000,
        good_loss_ppb: 0,
        bad_loss_ppb: 1_000_000_000,
    };

    fn losses(model: &mut GilbertElliott, series: u64, n: u64) -> Vec<bool> {
        (0..n)
            .map(|index| model.loses(0, Ticket { series, index }))
            .collect()
    }

    #[test]
    fn share_and_length_of_bursts_match_the_chain() {
        let losses = losses(
            &mut GilbertElliott::new(&SPEC, Direction::Down, 7),
            0,
            1_000_000,
        );
        let lost = losses.iter().filter(|&&lost| lost).count();
        // pi = p / (p + r) = 0.02439. Correlation 1 - p - r = 0.795 makes the variance of the
        // mean (1 + 0.795) / (1 - 0.795) = 8.76 times the binomial one: sigma 457.
        assert!(lost.abs_diff(24_390) < 2285, "{lost}");
        let bursts = losses.windows(2).filter(|w| !w[0] && w[1]).count();
        // Geometric with mean 5: sigma sqrt(20 / 4878) = 0.064.
        let mean = lost as f64 / bursts as f64;
        assert!((mean - 5.0).abs() < 0.32, "{mean}");
    }

    #[test]
    fn start_resets_every_chain_to_good() {
        let stays = GilbertElliottSpec {
            to_bad_ppb: 10_000_000,
            to_good_ppb: 0,
            ..SPEC
        };
        let mut model = GilbertElliott::new(&stays, Direction::Down, 7);
        let first = losses(&mut model, 0, 10_000);
        assert_eq!(first.last(), Some(&true));
        model.start(0);
        assert_eq!(losses(&mut model, 0, 10_000), first);
    }

    #[test]
    fn flows_have_independent_chains() {
        let mut both = GilbertElliott::new(&SPEC, Direction::Down, 7);
        let mut first = Vec::new();
        for index in 0..10_000 {
            both.loses(0, Ticket { series: 1, index });
            first.push(both.loses(0, Ticket { series: 0, index }));
        }
        let alone = losses(
            &mut GilbertElliott::new(&SPEC, Direction::Down, 7),
            0,
            10_000,
        );
        assert_eq!(first, alone);
    }
}
