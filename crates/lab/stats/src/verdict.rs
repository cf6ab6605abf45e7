//! The verdict on the difference between an arm and the baseline.

use schemars::JsonSchema;
use serde::Serialize;

use crate::estimate::Estimate;
use crate::outlook::Outlook;
use crate::span::Span;

/// Returns the margin, in ns, of a study that sets none: 5 % of the baseline, but at least 2 ms,
/// which no user notices and which the scheduler of a busy machine can cause.
pub fn default_margin_ns(baseline_ns: f64) -> f64 {
    (baseline_ns * 0.05).max(2e6)
}

/// The result of comparing an arm with the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Arm minus baseline; negative means that the arm is faster. The interval runs from one block's
    /// difference to another's.
    pub difference: Estimate,
    /// The verdict on that difference.
    pub verdict: Verdict,
    /// The smallest error probability at which these blocks decide the comparison, were it the only
    /// one; `None` if they decide it at none.
    pub p_value: Option<f64>,
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
    /// Faster or no difference: the interval ends within the margin, but begins beyond it.
    NotSlower,
    /// Slower or no difference: the interval begins within the margin, but ends beyond it.
    NotFaster,
    /// The blocks are too few or too scattered for any of these.
    CannotTell {
        /// Blocks so far.
        blocks: usize,
        /// Whether more blocks would decide it.
        outlook: Outlook,
    },
}

impl Verdict {
    /// Returns whether it is anything but [`Verdict::CannotTell`].
    pub fn is_decided(self) -> bool {
        !matches!(self, Verdict::CannotTell { .. })
    }

    /// Returns whether no difference can have both verdicts.
    pub fn contradicts(self, other: Verdict) -> bool {
        let excludes = |one, other| match one {
            Verdict::Faster => matches!(
                other,
                Verdict::Slower | Verdict::NoDifference | Verdict::NotFaster
            ),
            Verdict::Slower => matches!(other, Verdict::NoDifference | Verdict::NotSlower),
            _ => false,
        };
        excludes(self, other) || excludes(other, self)
    }
}

/// Returns the verdict that an interval allows. A narrower interval around the same estimate allows
/// the same verdict or, where one side was open, a more exact one.
pub(crate) fn verdict(value: Span, (lo, hi): (f64, f64), margin: f64) -> Option<Verdict> {
    if hi < 0.0 && value.hi < -margin {
        Some(Verdict::Faster)
    } else if lo > 0.0 && value.lo > margin {
        Some(Verdict::Slower)
    } else if lo >= -margin && hi <= margin {
        Some(Verdict::NoDifference)
    } else if hi <= margin {
        Some(Verdict::NotSlower)
    } else if lo >= -margin {
        Some(Verdict::NotFaster)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Differences, compare};
    use crate::interval::Level;
    use crate::ranks::Ranks;

    const MARGIN: f64 = 5.0;

    fn compared(pairs: &[(Span, Span)], level: Level) -> Comparison {
        let differences = Differences {
            by_block: pairs.iter().map(|(arm, base)| arm.minus(*base)).collect(),
            margin: MARGIN,
        };
        compare(&differences, level, Ranks::Fixed)
    }

    fn against_100(arm: &[f64]) -> Vec<(Span, Span)> {
        arm.iter()
            .map(|&a| (Span::exact(a), Span::exact(100.0)))
            .collect()
    }

    fn verdict(arm: &[f64]) -> Verdict {
        compared(&against_100(arm), Level::NINETY_FIVE).verdict
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
        assert!(matches!(wide, Verdict::CannotTell { blocks: 6, .. }));
    }

    #[test]
    fn certain_difference_within_the_margin_is_no_difference() {
        assert_eq!(
            verdict(&[96.0, 96.1, 96.2, 96.3, 96.4, 96.5]),
            Verdict::NoDifference
        );
    }

    #[test]
    fn one_side_may_be_decided_alone() {
        let faster_or_equal = [90.0, 94.0, 96.0, 96.5, 97.0, 98.0];
        assert_eq!(verdict(&faster_or_equal), Verdict::NotSlower);
        assert_eq!(
            verdict(&faster_or_equal.map(|t| 200.0 - t)),
            Verdict::NotFaster
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
                outlook: Outlook::AFewMore
            }
        );
    }

    #[test]
    fn more_comparisons_need_more_blocks() {
        let level = Level::of_error(0.05 / 24.0);
        let of = |n| compared(&against_100(&vec![10.0; n]), level).verdict;
        assert_eq!(
            of(9),
            Verdict::CannotTell {
                blocks: 9,
                outlook: Outlook::AFewMore
            }
        );
        assert_eq!(of(10), Verdict::Faster);
    }

    #[test]
    fn timeouts_count_as_at_least_their_length() {
        let mut pairs = against_100(&[120.0, 121.0, 122.0, 123.0]);
        pairs.extend([(Span::at_least(900.0), Span::exact(100.0)); 2]);
        let got = compared(&pairs, Level::NINETY_FIVE);
        assert_eq!(got.verdict, Verdict::Slower);
        assert_eq!(got.difference.interval.hi, f64::INFINITY);
        // A censored baseline cannot make the arm slower.
        let pairs = vec![(Span::exact(120.0), Span::at_least(900.0)); 6];
        assert_eq!(
            compared(&pairs, Level::NINETY_FIVE).verdict,
            Verdict::Faster
        );
        // Faster by at least 2, with a margin of 5: it may or may not be enough.
        let pairs = vec![(Span::exact(120.0), Span::at_least(122.0)); 6];
        let got = compared(&pairs, Level::NINETY_FIVE).verdict;
        assert_eq!(got, Verdict::NotSlower);
        // The difference of two censored times is unknown.
        let pairs = vec![(Span::at_least(900.0), Span::at_least(900.0)); 12];
        let got = compared(&pairs, Level::NINETY_FIVE).verdict;
        assert_eq!(
            got,
            Verdict::CannotTell {
                blocks: 12,
                outlook: Outlook::MayNotSettle
            }
        );
    }
}
