//! Generates a trace from a model and a seed.
//!
//! The logarithm of the rate is a normal autoregressive process of the first order, in steps of 100 ms. So the rate is
//! log-normal, as the throughput of most hosts of the Internet was found to be (Balakrishnan, Stemm, Seshan, Katz:
//! Analyzing stability in wide-area network performance, SIGMETRICS 1997). Its exponential correlation is assumed. Fades
//! interrupt it: a chain of two states with exponential times in each (Gilbert: Capacity of a burst-noise channel, Bell
//! System Technical Journal 39, 1960), as `burst_loss` of networks has them.
//!
//! Logarithms and exponentials are those of the crate `libm`, so that a seed gives the same trace on every machine.

use link::Trace;

use crate::interval::{Interval, MAX_DURATION_US, NoTrace, trace};
use crate::{MAX_BPS, words};

/// How long the rate stays the same.
const STEP_US: u64 = 100_000;
/// Ranges of the parameters.
const MEAN_BPS: std::ops::RangeInclusive<f64> = 1e3..=20e9;
const MAX_CV: f64 = 3.0;
const MAX_FADES: u64 = 1_000_000;
const TIMES_US: std::ops::RangeInclusive<u64> = 1_000..=3_600_000_000;

/// A model of a link's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The mean rate over all time, fades included, in bits per second.
    pub mean_bps: f64,
    /// The rate's standard deviation by its mean, outside of fades.
    pub cv: f64,
    /// The time over which the correlation of the rate's logarithm falls to 1/e.
    pub correlation_us: u64,
    /// Times without delivery, if there are any.
    pub fades: Option<Fades>,
    /// How long the trace is.
    pub duration_us: u64,
}

/// Times without delivery: exponential times in two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fades {
    /// Mean time from the end of a fade to the next.
    pub good_us: u64,
    /// Mean length of a fade.
    pub bad_us: u64,
}

/// Why a model gives no trace.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A parameter is out of its range.
    #[error("{0}")]
    Range(&'static str),
    /// What the model generates is no trace that a network reads.
    #[error("{}; {}", .0, advice(.0))]
    Trace(#[from] NoTrace),
}

/// Returns which parameters give a trace.
fn advice(error: &NoTrace) -> &'static str {
    match error {
        NoTrace::NoRate => "give a longer --good or another --seed",
        NoTrace::TooLong { .. } | NoTrace::TooMany { .. } => "give a lower --mean or --duration",
    }
}

/// Generates a trace; the same model and seed give the same trace.
pub fn generate(model: &Model, seed: u64) -> Result<Trace, GenerateError> {
    check(model)?;
    let rates = rates(model, &mut Random(seed ^ 0x7261_7465));
    if rates.iter().any(|rate| rate.bps > MAX_BPS) {
        return Err(GenerateError::Range(
            "the rate outside of fades exceeds 20 Gbit/s; give a lower --mean or --cv, or shorter fades",
        ));
    }
    let Some(fades) = model.fades else {
        return Ok(trace(&rates)?.0);
    };
    let open = open_times(fades, model.duration_us, &mut Random(seed ^ 0x6661_6465));
    Ok(trace(&gated(&rates, &open))?.0)
}

fn check(model: &Model) -> Result<(), GenerateError> {
    let times = [Some(model.correlation_us)].into_iter().chain([
        model.fades.map(|f| f.good_us),
        model.fades.map(|f| f.bad_us),
    ]);
    let wrong = if !MEAN_BPS.contains(&model.mean_bps) {
        "the mean rate must be from 1 kbit/s to 20 Gbit/s"
    } else if !(0.0..=MAX_CV).contains(&model.cv) {
        "the coefficient of variation must be from 0 to 3"
    } else if times.flatten().any(|us| !TIMES_US.contains(&us)) {
        "correlation time and mean lengths must be from 1 ms to 3600 s"
    } else if !(STEP_US..=MAX_DURATION_US).contains(&model.duration_us) {
        "the duration must be from 100 ms to 86400 s"
    } else if let Some(fades) = model.fades
        && model.duration_us / (fades.good_us + fades.bad_us) > MAX_FADES
    {
        "the duration has more than 1,000,000 fades in the mean; give a shorter one or longer fades"
    } else {
        return Ok(());
    };
    Err(GenerateError::Range(wrong))
}

/// Returns the rate in each step, as if there were no fades but with a mean that makes up for them.
fn rates(model: &Model, random: &mut Random) -> Vec<Interval> {
    let open_share = model.fades.map_or(1.0, |fades| {
        fades.good_us as f64 / (fades.good_us as f64 + fades.bad_us as f64)
    });
    // The logarithm of a log-normal variable with mean m and coefficient of variation c has the variance ln(1 + c²) and
    // the mean ln(m) - variance / 2.
    let variance = libm::log(1.0 + model.cv * model.cv);
    let deviation = variance.sqrt();
    let middle = libm::log(model.mean_bps / open_share) - variance / 2.0;
    let kept = libm::exp(-(STEP_US as f64) / model.correlation_us as f64);
    let fresh = (1.0 - kept * kept).sqrt();
    let mut level = random.normal();
    let mut rates = Vec::new();
    let mut start_us = 0;
    while start_us < model.duration_us {
        let us = STEP_US.min(model.duration_us - start_us);
        let bps = libm::exp(middle + deviation * level).round() as u64;
        rates.push(Interval { us, bps });
        level = kept * level + fresh * random.normal();
        start_us += us;
    }
    rates
}

/// Returns begin and end of the times with delivery, in order.
fn open_times(fades: Fades, duration_us: u64, random: &mut Random) -> Vec<(u64, u64)> {
    let bad_share = fades.bad_us as f64 / (fades.good_us as f64 + fades.bad_us as f64);
    // The chain begins in its steady state. Exponential times have no memory, so the first is drawn as all others.
    let mut is_good = random.uniform() >= bad_share;
    let mut open = Vec::new();
    let mut start_us = 0;
    while start_us < duration_us {
        let mean_us = if is_good { fades.good_us } else { fades.bad_us };
        // At least 1, so that time goes on.
        let us = (-libm::log(random.uniform()) * mean_us as f64).round() as u64;
        let end_us = start_us.saturating_add(us.max(1));
        if is_good {
            open.push((start_us, end_us));
        }
        start_us = end_us;
        is_good = !is_good;
    }
    open
}

/// Returns the intervals with no rate outside of these times.
fn gated(rates: &[Interval], open: &[(u64, u64)]) -> Vec<Interval> {
    let mut gated = Vec::new();
    let mut open = open.iter().copied().peekable();
    let mut at_us = 0;
    for rate in rates {
        let end_us = at_us + rate.us;
        while at_us < end_us {
            open.next_if(|(_, closes_us)| *closes_us <= at_us);
            let (bps, until_us) = match open.peek() {
                Some((opens_us, closes_us)) if *opens_us <= at_us => (rate.bps, *closes_us),
                Some((opens_us, _)) => (0, *opens_us),
                None => (0, end_us),
            };
            let until_us = until_us.min(end_us);
            gated.push(Interval {
                us: until_us - at_us,
                bps,
            });
            at_us = until_us;
        }
    }
    gated
}

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number of the standard normal distribution (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }
}

impl std::fmt::Display for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "log-normal rate, mean {}, CV {}, correlation time {}; ",
            words::rate(self.mean_bps),
            self.cv,
            words::duration(self.correlation_us)
        )?;
        match self.fades {
            None => f.write_str("no fades"),
            Some(fades) => write!(
                f,
                "fades of {} after {} each, in the mean",
                words::duration(fades.bad_us),
                words::duration(fades.good_us)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;

    const MODEL: Model = Model {
        mean_bps: 10e6,
        cv: 0.5,
        correlation_us: 1_000_000,
        fades: None,
        duration_us: 60_000_000,
    };

    fn summary(model: &Model, seed: u64) -> Summary {
        Summary::of(&generate(model, seed).unwrap(), 100)
    }

    #[test]
    fn without_variation_the_rate_is_constant() {
        let model = Model { cv: 0.0, ..MODEL };
        let made = summary(&model, 1);
        assert_eq!(made.opportunities, 50_000);
        assert_eq!(made.duration_ms, 60_000);
        let tenths = &made.windows[0];
        // An opportunity more or less in a window.
        assert!(tenths.max_bps - tenths.min_bps <= 120_000.0, "{tenths:?}");
    }

    /// 3600 s at a correlation time of 1 s are about 1800 independent values. The standard error of the mean is
    /// 0.5 / √1800 = 1.2 % of it, and that of a coefficient of variation is no larger than 3 % here: five of them.
    #[test]
    fn rates_have_the_mean_the_variation_and_the_correlation_time() {
        let model = Model {
            duration_us: 3_600_000_000,
            ..MODEL
        };
        for seed in 0..5 {
            let made = summary(&model, seed);
            assert!((made.mean_bps / 10e6 - 1.0).abs() < 0.06, "{made:?}");
            let cv = made.windows[0].cv.unwrap();
            assert!((cv - 0.5).abs() < 0.075, "{made:?}");
            let correlation_ms = made.correlation_ms.unwrap();
            assert!((700..=1300).contains(&correlation_ms), "{made:?}");
        }
    }

    /// Some 109 fades: the standard error of their total length is √2 / √109 = 14 %, five of them 68 %.
    #[test]
    fn fades_have_their_share_and_leave_the_mean() {
        let fades = Fades {
            good_us: 30_000_000,
            bad_us: 3_000_000,
        };
        let model = Model {
            fades: Some(fades),
            cv: 0.2,
            duration_us: 3_600_000_000,
            ..MODEL
        };
        for seed in 0..5 {
            let made = summary(&model, seed);
            let share = made.outages.total_ms as f64 / made.duration_ms as f64;
            assert!((0.03..0.16).contains(&share), "{made:?}");
            assert!((60..160).contains(&made.outages.number), "{made:?}");
            assert!((made.mean_bps / 10e6 - 1.0).abs() < 0.08, "{made:?}");
        }
    }

    #[test]
    fn a_closed_time_has_no_rate() {
        let rates = [Interval { us: 100, bps: 7 }, Interval { us: 100, bps: 9 }];
        let of = |open: &[(u64, u64)]| -> Vec<(u64, u64)> {
            let parts = gated(&rates, open);
            parts.iter().map(|part| (part.us, part.bps)).collect()
        };
        assert_eq!(of(&[(0, 500)]), [(100, 7), (100, 9)]);
        assert_eq!(of(&[]), [(100, 0), (100, 0)]);
        assert_eq!(
            of(&[(20, 30), (50, 130), (190, 300)]),
            [
                (20, 0),
                (10, 7),
                (20, 0),
                (50, 7),
                (30, 9),
                (60, 0),
                (10, 9)
            ]
        );
    }

    #[test]
    fn the_chain_begins_in_its_steady_state() {
        let fades = Fades {
            good_us: 1_000_000,
            bad_us: 3_000_000,
        };
        let begins_open = |seed| {
            let open = open_times(fades, 1_000, &mut Random(seed));
            usize::from(open.first().is_some_and(|(from, _)| *from == 0))
        };
        // Binomial, n = 1000, p = 1/4: sigma 13.7, five of them.
        let open: usize = (0..1000).map(begins_open).sum();
        assert!(open.abs_diff(250) < 69, "{open}");
    }

    #[test]
    fn a_seed_decides_everything() {
        assert_eq!(generate(&MODEL, 7).unwrap(), generate(&MODEL, 7).unwrap());
        assert_ne!(generate(&MODEL, 7).unwrap(), generate(&MODEL, 8).unwrap());
    }

    /// A change of this file changes all traces that were published with their seed.
    #[test]
    fn traces_never_change_between_versions() {
        let model = Model {
            mean_bps: 500e3,
            fades: Some(Fades {
                good_us: 1_000_000,
                bad_us: 500_000,
            }),
            duration_us: 3_050_000,
            ..MODEL
        };
        testing::golden(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/generated.txt"),
            &crate::text(&generate(&model, 121).unwrap()),
        );
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let wrong = |model: Model| generate(&model, 1).unwrap_err().to_string();
        let fades = |good_us, bad_us| Model {
            fades: Some(Fades { good_us, bad_us }),
            ..MODEL
        };
        for (model, message) in [
            (
                Model {
                    mean_bps: 999.0,
                    ..MODEL
                },
                "the mean rate must be",
            ),
            (
                Model {
                    mean_bps: f64::NAN,
                    ..MODEL
                },
                "the mean rate must be",
            ),
            (Model { cv: 3.1, ..MODEL }, "the coefficient of variation"),
            (Model { cv: -0.1, ..MODEL }, "the coefficient of variation"),
            (
                Model {
                    correlation_us: 999,
                    ..MODEL
                },
                "correlation time and mean",
            ),
            (fades(999, 1_000), "correlation time and mean"),
            (fades(1_000, 3_600_000_001), "correlation time and mean"),
            (
                Model {
                    duration_us: 99_999,
                    ..MODEL
                },
                "the duration must be",
            ),
            (
                Model {
                    duration_us: MAX_DURATION_US + 1,
                    ..MODEL
                },
                "the duration must be",
            ),
            (
                Model {
                    mean_bps: 19e9,
                    cv: 0.0,
                    ..MODEL
                },
                "the trace has 95000000 opportunities of 1500 bytes, and a network reads at most 5000000; give a lower",
            ),
            (
                Model {
                    mean_bps: 1e9,
                    cv: 0.0,
                    duration_us: 1_000_000,
                    ..fades(1_000, 100_000)
                },
                "the rate outside of fades exceeds 20 Gbit/s",
            ),
            (
                Model {
                    duration_us: 2_002_000_000,
                    ..fades(1_000, 1_000)
                },
                "the duration has more than 1,000,000 fades",
            ),
            (
                Model {
                    duration_us: 100_000,
                    ..fades(1_000, 3_600_000_000)
                },
                "the rate outside of fades exceeds",
            ),
            (
                Model {
                    mean_bps: 1e3,
                    duration_us: 100_000,
                    ..fades(1_000, 3_600_000_000)
                },
                "the rate is 0 throughout, so nothing would ever be delivered; give a longer --good",
            ),
        ] {
            let error = wrong(model);
            assert!(error.starts_with(message), "{error}");
        }
    }
}
