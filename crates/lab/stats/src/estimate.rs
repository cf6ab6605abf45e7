//! The median over blocks and its interval.

use crate::ends::Ends;
use crate::interval::{Interval, Level, Method};
use crate::ranks::Ranks;
use crate::span::Span;

/// Returns the median; of an even number of values, the mean of the two in the middle.
pub fn median(values: &[Span]) -> Option<Span> {
    let mut ends = Ends::default();
    ends.median(values.iter().copied())
}

/// Returns the median over blocks with its interval, given one value per block. `None` without a
/// block.
///
/// The ends of the interval are interpolated between order statistics (Hettmansperger and Sheather, "Confidence
/// intervals based on interpolated order statistics", 1986). That gives about the coverage of `level` for any number of
/// blocks. With too few blocks for `level`, the interval is the whole range, with the coverage that has.
pub fn estimate(blocks: &[Span], level: Level) -> Option<Estimate> {
    let value = median(blocks)?;
    Some(Estimate {
        value,
        interval: interpolated(&Ends::sorted(blocks), level),
        blocks: blocks.len(),
    })
}

/// Returns the median over blocks with an interval from one block's value to another's, without
/// interpolation: with enough blocks its coverage is never below that of `level`, for any continuous
/// distribution. With too few it is the whole range.
pub fn estimate_by_order(blocks: &[Span], level: Level) -> Option<Estimate> {
    let rank = Ranks::Fixed.rank(blocks.len(), level).max(1);
    estimate_at_rank(blocks, rank, Ranks::Fixed)
}

/// Returns the median over blocks with the interval from the `rank`-th smallest to the `rank`-th
/// largest value. `None` without a block.
pub fn estimate_at_rank(blocks: &[Span], rank: usize, ranks: Ranks) -> Option<Estimate> {
    Some(Estimate {
        value: median(blocks)?,
        interval: at_rank(&Ends::sorted(blocks), rank, ranks),
        blocks: blocks.len(),
    })
}

/// An estimate with its interval and the number of blocks behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median; a range if requests timed out.
    pub value: Span,
    /// Where the true value lies, with a known probability.
    pub interval: Interval,
    /// Number of blocks behind it.
    pub blocks: usize,
}

impl Estimate {
    /// The estimate from no block at all: anything is possible.
    pub(crate) const UNKNOWN: Self = Self {
        value: Span {
            lo: f64::NEG_INFINITY,
            hi: f64::INFINITY,
        },
        interval: Interval {
            lo: f64::NEG_INFINITY,
            hi: f64::INFINITY,
            coverage: 1.0,
            method: Method::OrderStatistics { rank: 0 },
        },
        blocks: 0,
    };
}

/// Returns the interval from the `rank`-th smallest to the `rank`-th largest value, with 1 <= `rank`
/// <= the number of values.
pub(crate) fn at_rank(ends: &Ends, rank: usize, ranks: Ranks) -> Interval {
    let n = ends.lo.len();
    Interval {
        lo: ends.lo[rank - 1],
        hi: ends.hi[n - rank],
        coverage: 1.0 - ranks.error(n, rank),
        method: Method::OrderStatistics { rank },
    }
}

fn interpolated(ends: &Ends, level: Level) -> Interval {
    let n = ends.lo.len();
    let rank = Ranks::Fixed.rank(n, level);
    let outer = at_rank(ends, rank.max(1), Ranks::Fixed);
    if rank == 0 || 2 * rank >= n {
        return outer;
    }
    let inner = at_rank(ends, rank + 1, Ranks::Fixed);
    let spare = (outer.coverage - level.coverage()) / (outer.coverage - inner.coverage);
    let (n, r) = (n as f64, rank as f64);
    let weight = (n - r) * spare / (r + (n - 2.0 * r) * spare);
    // Nothing is known of where a censored value would have been.
    let between = |outer: f64, inner: f64| match outer.is_infinite() {
        true => outer,
        false => outer + weight.clamp(0.0, 1.0) * (inner - outer),
    };
    Interval {
        lo: between(outer.lo, inner.lo),
        hi: between(outer.hi, inner.hi),
        coverage: level.coverage(),
        method: Method::Interpolated { rank },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: &[f64]) -> Vec<Span> {
        values.iter().map(|&v| Span::exact(v)).collect()
    }

    #[test]
    fn median_of_odd_and_even_numbers() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&exact(&[3.0, 1.0, 2.0])), Some(Span::exact(2.0)));
        assert_eq!(
            median(&exact(&[4.0, 1.0, 2.0, 3.0])),
            Some(Span::exact(2.5))
        );
    }

    #[test]
    fn minority_of_timeouts_leaves_the_median_exact() {
        let v = [Span::exact(1.0), Span::exact(2.0), Span::at_least(10.0)];
        assert_eq!(median(&v), Some(Span::exact(2.0)));
    }

    #[test]
    fn majority_of_timeouts_makes_the_median_a_lower_bound() {
        let v = [Span::exact(1.0), Span::at_least(10.0), Span::at_least(10.0)];
        assert_eq!(median(&v), Some(Span::at_least(10.0)));
        // Half of them: at least the mean of 2 and 10.
        let v = [
            Span::exact(1.0),
            Span::exact(2.0),
            Span::at_least(10.0),
            Span::at_least(10.0),
        ];
        assert_eq!(median(&v), Some(Span::at_least(6.0)));
    }

    fn one_to(n: u32) -> Vec<Span> {
        exact(&(1..=n).map(f64::from).collect::<Vec<_>>())
    }

    #[test]
    fn interval_without_interpolation_runs_between_values() {
        let got = estimate_by_order(&one_to(10), Level::NINETY_FIVE).unwrap();
        assert_eq!((got.interval.lo, got.interval.hi), (2.0, 9.0));
        assert_eq!(got.interval.rank(), Some(2));
        assert!((got.interval.coverage - 0.978_515_625).abs() < 1e-12);
    }

    #[test]
    fn few_blocks_have_low_coverage() {
        let two = estimate(&one_to(2), Level::NINETY_FIVE).unwrap().interval;
        assert_eq!((two.lo, two.hi), (1.0, 2.0));
        assert!((two.coverage - 0.5).abs() < 1e-12);
        assert_eq!(two.rank(), Some(1));
        assert!(!two.reaches(Level::NINETY_FIVE));
        let one = estimate(&one_to(1), Level::NINETY_FIVE).unwrap().interval;
        assert_eq!((one.lo, one.hi, one.coverage), (1.0, 1.0, 0.0));
        assert_eq!(estimate(&[], Level::NINETY_FIVE), None);
    }

    /// n = 10, 95 %: ranks 2 and 3 cover 97.85 % and 89.06 %, so I = 0.0285 / 0.0879 = 0.3244 and
    /// lambda = 8 I / (2 + 6 I) = 0.6577.
    #[test]
    fn ends_are_interpolated_between_ranks() {
        let got = estimate(&one_to(10), Level::NINETY_FIVE).unwrap().interval;
        let spare = (0.978_515_625 - 0.95) / (0.978_515_625 - 0.890_625);
        let lambda = 8.0 * spare / (2.0 + 6.0 * spare);
        assert!((got.lo - (2.0 + lambda)).abs() < 1e-9, "{got:?}");
        assert!((got.hi - (9.0 - lambda)).abs() < 1e-9, "{got:?}");
        assert_eq!(got.method, Method::Interpolated { rank: 2 });
        assert_eq!(got.coverage, 0.95);
    }

    #[test]
    fn interpolating_with_an_infinite_end_is_infinite() {
        let mut values = one_to(10);
        values[9] = Span::at_least(10.0);
        let one_timeout = estimate(&values, Level::NINETY_FIVE).unwrap().interval;
        assert!(
            one_timeout.hi < 9.0,
            "it is beyond both ranks: {one_timeout:?}"
        );
        values[8] = Span::at_least(9.0);
        let two_timeouts = estimate(&values, Level::NINETY_FIVE).unwrap().interval;
        assert_eq!(two_timeouts.hi, f64::INFINITY);
        assert_eq!(two_timeouts.lo, one_timeout.lo);
    }
}
