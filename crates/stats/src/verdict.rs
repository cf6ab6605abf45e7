//! Comparisons of an arm with the baseline.

use schemars::JsonSchema;
use serde::Serialize;

use crate::estimate::{Estimate, estimate, median};
use crate::interval::Level;
use crate::span::Span;

/// Fewest blocks for any verdict: with 5, even the whole range covers the median only 93.8 % of the
/// time.
pub const MIN_BLOCKS: usize = 6;

/// Most blocks that [`Verdict::CannotTell`] suggests; nobody would run more.
const MAX_NEEDED: f64 = 1_000.0;

/// Compares an arm with the baseline over blocks, given the (arm, baseline) times of each block.
/// `None` without a block.
pub fn compare(pairs: &[(Span, Span)], rule: &Rule) -> Option<Comparison> {
    let differences: Vec<Span> = pairs.iter().map(|(arm, base)| arm.minus(*base)).collect();
    let difference = estimate(&differences, rule.level, rule.seed)?;
    let verdict = decide(&differences, &difference, rule);
    Some(Comparison {
        difference,
        verdict,
    })
}

/// Returns the factor by which the arm is faster: the median over blocks of baseline / arm, on a
/// logarithmic scale, so that 2x faster and 2x slower are equally far from no difference. `None`
/// without a block, or when any time is not positive.
pub fn speedup(pairs: &[(Span, Span)], level: Level, seed: u64) -> Option<Estimate> {
    if pairs
        .iter()
        .any(|(arm, base)| arm.lo <= 0.0 || base.lo <= 0.0)
    {
        return None;
    }
    let logs: Vec<Span> = pairs
        .iter()
        .map(|(arm, base)| base.over(*arm).map_increasing(f64::ln))
        .collect();
    let mut factor = estimate(&logs, level, seed)?;
    factor.value = factor.value.map_increasing(f64::exp);
    factor.interval.lo = factor.interval.lo.exp();
    factor.interval.hi = factor.interval.hi.exp();
    Some(factor)
}

/// Returns Pearson's correlation of arm and baseline over the blocks where both are exact: how much
/// of their variation they have in common, and so what pairing gains. `None` below [`MIN_BLOCKS`]
/// such blocks or when one of the two never varies.
pub fn correlation(pairs: &[(Span, Span)]) -> Option<f64> {
    let exact: Vec<(f64, f64)> = pairs
        .iter()
        .filter_map(|(a, b)| Some((a.known()?, b.known()?)))
        .collect();
    if exact.len() < MIN_BLOCKS {
        return None;
    }
    let n = exact.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| exact.iter().map(of).sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(|p| p.0), mean(|p| p.1));
    let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
    for (a, b) in exact {
        let (da, db) = (a - mean_a, b - mean_b);
        aa += da * da;
        bb += db * db;
        ab += da * db;
    }
    (aa > 0.0 && bb > 0.0).then(|| (ab / (aa * bb).sqrt()).clamp(-1.0, 1.0))
}

/// Returns the margin, in ns, of a study that sets none: 5 % of the baseline, but at least 2 ms,
/// which no user notices and which the scheduler of a busy machine can cause.
pub fn default_margin_ns(baseline_ns: f64) -> f64 {
    (baseline_ns * 0.05).max(2e6)
}

/// When two arms count as different.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Largest difference that still counts as no difference, in the unit of the times. At least the
    /// resolution of the arms' clocks.
    pub margin: f64,
    /// Level of the interval, already shared among all comparisons of the report.
    pub level: Level,
    /// Seed of the bootstrap: the run's.
    pub seed: u64,
}

/// The result of comparing an arm with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Arm minus baseline; negative means that the arm is faster.
    pub difference: Estimate,
    /// The verdict on that difference.
    pub verdict: Verdict,
}

/// What a comparison with the baseline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is below zero, and the estimate beyond the margin.
    Faster,
    /// The whole interval is above zero, and the estimate beyond the margin.
    Slower,
    /// The whole interval lies within the margin.
    NoDifference,
    /// The blocks are too few or too scattered for any of these.
    CannotTell {
        /// Blocks so far.
        blocks: usize,
        /// About how many blocks a verdict would take; absent when no affordable number would do.
        needs: Option<usize>,
    },
}

fn decide(differences: &[Span], difference: &Estimate, rule: &Rule) -> Verdict {
    let Estimate {
        value,
        interval,
        blocks,
    } = *difference;
    let cannot_tell = || Verdict::CannotTell {
        blocks,
        needs: blocks_needed(differences, value, rule),
    };
    if blocks < MIN_BLOCKS || !interval.reaches(rule.level) {
        return cannot_tell();
    }
    if interval.hi < 0.0 && value.hi < -rule.margin {
        Verdict::Faster
    } else if interval.lo > 0.0 && value.lo > rule.margin {
        Verdict::Slower
    } else if interval.lo >= -rule.margin && interval.hi <= rule.margin {
        Verdict::NoDifference
    } else {
        cannot_tell()
    }
}

/// Returns the number of blocks after which a verdict is likely if further blocks are like those so
/// far.
///
/// The interval has to shrink until it excludes zero (for an estimate beyond the margin) or fits
/// into the margin (for one within). Its half-width falls with the square root of the number of
/// blocks n; for a median it is about z * sqrt(pi/2) * sigma / sqrt(n), with sigma from the median
/// absolute deviation, which a single outlier does not move.
fn blocks_needed(differences: &[Span], value: Span, rule: &Rule) -> Option<usize> {
    let at_least = (differences.len() + 1)
        .max(rule.level.fewest_blocks())
        .max(MIN_BLOCKS);
    let value = value.known()?;
    if differences.len() < 2 {
        return Some(at_least);
    }
    let deviations: Vec<Span> = differences
        .iter()
        .map(|d| d.known().map(|d| Span::exact((d - value).abs())))
        .collect::<Option<_>>()?;
    let sigma = 1.4826 * median(&deviations)?.lo;
    let room = if value.abs() > rule.margin {
        value.abs()
    } else {
        rule.margin - value.abs()
    };
    let half_width_of_one = upper_normal_quantile(rule.level.alpha() / 2.0)
        * std::f64::consts::FRAC_PI_2.sqrt()
        * sigma;
    let blocks = (half_width_of_one / room).powi(2).ceil();
    (blocks <= MAX_NEEDED).then(|| at_least.max(blocks as usize))
}

/// Returns z with P(Z > z) = p for a standard normal Z and p up to 1/2 (Abramowitz and Stegun
/// 26.2.23, error below 4.5e-4).
fn upper_normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * p.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        margin: 5.0,
        level: Level::NINETY_FIVE,
        seed: 7,
    };

    fn against_100(arm: &[f64]) -> Vec<(Span, Span)> {
        arm.iter()
            .map(|&a| (Span::exact(a), Span::exact(100.0)))
            .collect()
    }

    fn verdict(arm: &[f64]) -> Verdict {
        compare(&against_100(arm), &RULE).unwrap().verdict
    }

    #[test]
    fn verdicts_of_simple_differences() {
        assert_eq!(
            verdict(&[80.0, 81.0, 82.0, 83.0, 84.0, 85.0]),
            Verdict::Faster
        );
        assert_eq!(
            verdict(&[120.0, 121.0, 122.0, 123.0, 124.0, 125.0]),
            Verdict::Slower
        );
        assert_eq!(
            verdict(&[98.0, 99.0, 100.0, 101.0, 102.0, 103.0]),
            Verdict::NoDifference
        );
        let wide = verdict(&[60.0, 80.0, 90.0, 110.0, 120.0, 140.0]);
        assert!(matches!(wide, Verdict::CannotTell { blocks: 6, needs: Some(n) } if n > 6));
    }

    #[test]
    fn certain_difference_within_the_margin_is_no_difference() {
        assert_eq!(
            verdict(&[96.0, 96.1, 96.2, 96.3, 96.4, 96.5]),
            Verdict::NoDifference
        );
    }

    #[test]
    fn margin_itself_is_no_difference() {
        assert_eq!(verdict(&[95.0; 6]), Verdict::NoDifference);
        assert_eq!(verdict(&[105.0; 6]), Verdict::NoDifference);
        assert_eq!(verdict(&[94.9; 6]), Verdict::Faster);
    }

    #[test]
    fn five_blocks_give_no_verdict() {
        let got = verdict(&[10.0; 5]);
        assert_eq!(
            got,
            Verdict::CannotTell {
                blocks: 5,
                needs: Some(6)
            }
        );
    }

    #[test]
    fn more_comparisons_need_more_blocks() {
        let rule = Rule {
            level: Level::NINETY_FIVE.shared_by(24),
            ..RULE
        };
        let of = |n| {
            compare(&against_100(&vec![10.0; n]), &rule)
                .unwrap()
                .verdict
        };
        assert_eq!(
            of(9),
            Verdict::CannotTell {
                blocks: 9,
                needs: Some(10)
            }
        );
        assert_eq!(of(10), Verdict::Faster);
    }

    #[test]
    fn timeouts_count_as_at_least_their_length() {
        let mut pairs = against_100(&[120.0, 121.0, 122.0, 123.0]);
        pairs.extend([(Span::at_least(900.0), Span::exact(100.0)); 2]);
        let got = compare(&pairs, &RULE).unwrap();
        assert_eq!(got.verdict, Verdict::Slower);
        assert_eq!(got.difference.interval.hi, f64::INFINITY);
        // A censored baseline cannot make the arm slower.
        let pairs = vec![(Span::exact(120.0), Span::at_least(900.0)); 6];
        assert_eq!(compare(&pairs, &RULE).unwrap().verdict, Verdict::Faster);
        // Faster by at least 2, with a margin of 5: it may or may not be enough.
        let pairs = vec![(Span::exact(120.0), Span::at_least(122.0)); 6];
        let got = compare(&pairs, &RULE).unwrap().verdict;
        assert!(matches!(got, Verdict::CannotTell { .. }), "{got:?}");
        // The difference of two censored times is unknown.
        let pairs = vec![(Span::at_least(900.0), Span::at_least(900.0)); 12];
        let got = compare(&pairs, &RULE).unwrap().verdict;
        assert_eq!(
            got,
            Verdict::CannotTell {
                blocks: 12,
                needs: None
            }
        );
    }

    #[test]
    fn speedup_is_the_ratio_of_baseline_to_arm() {
        let got = speedup(&against_100(&[50.0; 8]), Level::NINETY_FIVE, 1).unwrap();
        assert!((got.value.lo - 2.0).abs() < 1e-12);
        assert!(speedup(&against_100(&[0.0; 8]), Level::NINETY_FIVE, 1).is_none());
    }

    #[test]
    fn correlation_of_rising_and_falling_lines() {
        let pair = |a: f64, b: f64| (Span::exact(a), Span::exact(b));
        let line: Vec<_> = (0..6)
            .map(|i| pair(f64::from(i), 2.0 * f64::from(i)))
            .collect();
        assert!((correlation(&line).unwrap() - 1.0).abs() < 1e-12);
        let fall: Vec<_> = (0..6).map(|i| pair(f64::from(i), -f64::from(i))).collect();
        assert!((correlation(&fall).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&line[..5]), None, "five blocks");
        assert_eq!(correlation(&[pair(1.0, 2.0); 9]), None, "no variation");
    }

    #[test]
    fn normal_quantiles_match_published_tables() {
        for (p, z) in [(0.025, 1.95996), (0.005, 2.57583), (0.001, 3.09023)] {
            assert!((upper_normal_quantile(p) - z).abs() < 4.5e-4);
        }
    }
}
