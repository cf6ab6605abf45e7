//! The median over blocks and its interval.

use crate::bootstrap;
use crate::ends::Ends;
use crate::interval::{Interval, Level, Method};
use crate::span::Span;

/// Below it, order statistics lose little by their discrete steps and need no assumption; from it on
/// their steps are small too, and the bootstrap gives exactly the requested level.
pub(crate) const BOOTSTRAP_FROM: usize = 20;

/// Returns the median; of an even number of values, the mean of the two in the middle.
pub fn median(values: &[Span]) -> Option<Span> {
    let mut ends = Ends::default();
    ends.median(values.iter().copied())
}

/// Returns the median over blocks with its interval, given one value per block. `None` without a
/// block.
///
/// Below 20 blocks the interval runs between order statistics, and its coverage is exact for any
/// continuous distribution; with too few blocks for `level` it is the whole range, with the coverage
/// that has. From 20 blocks on it is a percentile bootstrap.
pub fn estimate(blocks: &[Span], level: Level, seed: u64) -> Option<Estimate> {
    let value = median(blocks)?;
    let interval = if blocks.len() < BOOTSTRAP_FROM {
        order_statistics(blocks, level)
    } else {
        bootstrap::of_median(blocks, value, level, seed)
    };
    Some(Estimate {
        value,
        interval,
        blocks: blocks.len(),
    })
}

/// Returns the median over blocks with an interval from order statistics for any number of blocks up
/// to a thousand. The interval is somewhat wider than a bootstrap's, and with enough blocks its
/// coverage is never below that of `level`.
pub fn estimate_by_order(blocks: &[Span], level: Level) -> Option<Estimate> {
    Some(Estimate {
        value: median(blocks)?,
        interval: order_statistics(blocks, level),
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

/// Returns the interval from the r-th smallest to the r-th greatest of n values. It contains the
/// median unless fewer than r values lie on one side of it, and that count is binomial (n, 1/2) for
/// any continuous distribution (David and Nagaraja, "Order Statistics", 3rd ed., 7.1).
fn order_statistics(blocks: &[Span], level: Level) -> Interval {
    let n = blocks.len();
    let mut rank = 1;
    while 2 * rank < n && 2.0 * tail(n, rank + 1) <= level.alpha() {
        rank += 1;
    }
    let ends = Ends::sorted(blocks);
    Interval {
        lo: ends.lo[rank - 1],
        hi: ends.hi[n - rank],
        coverage: (1.0 - 2.0 * tail(n, rank)).max(0.0),
        method: Method::OrderStatistics { rank },
    }
}

/// Returns the probability that fewer than `r` of `n` fair coins show heads.
fn tail(n: usize, r: usize) -> f64 {
    let mut term = 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut sum = 0.0;
    for i in 0..r {
        sum += term;
        term *= (n - i) as f64 / (i + 1) as f64;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

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

    /// Ranks and coverages of the sign-test interval (n, rank at 95 %, exact coverage) are those of
    /// Conover, "Practical Nonparametric Statistics", table A3.
    #[test]
    fn ranks_and_coverages_match_published_tables() {
        for (n, rank, coverage) in [
            (6, 1, 0.96875),
            (9, 2, 0.9609375),
            (10, 2, 0.978515625),
            (15, 4, 0.96484375),
        ] {
            let values = exact(&(1..=n).map(f64::from).collect::<Vec<_>>());
            let got = estimate(&values, Level::NINETY_FIVE, 0).unwrap().interval;
            assert_eq!(got.method, Method::OrderStatistics { rank }, "n {n}");
            assert!(
                (got.coverage - coverage).abs() < 1e-12,
                "n {n}: {}",
                got.coverage
            );
            assert_eq!(got.lo, rank as f64);
            assert_eq!(got.hi, f64::from(n) + 1.0 - rank as f64);
        }
    }

    #[test]
    fn few_blocks_have_low_coverage() {
        let two = estimate(&exact(&[1.0, 2.0]), Level::NINETY_FIVE, 0)
            .unwrap()
            .interval;
        assert_eq!((two.lo, two.hi, two.coverage), (1.0, 2.0, 0.5));
        assert!(!two.reaches(Level::NINETY_FIVE));
        let one = estimate(&exact(&[1.0]), Level::NINETY_FIVE, 0)
            .unwrap()
            .interval;
        assert_eq!((one.lo, one.hi, one.coverage), (1.0, 1.0, 0.0));
        assert_eq!(Level::NINETY_FIVE.fewest_blocks(), 6);
        assert_eq!(Level::NINETY_FIVE.shared_by(25).fewest_blocks(), 10);
        assert_eq!(Level::NINETY_FIVE.shared_by(26).fewest_blocks(), 11);
    }

    /// On a skewed distribution the interval covers the median as often as stated, within four
    /// standard deviations of the count.
    #[test]
    fn order_statistics_have_their_stated_coverage() {
        let trials = 6_000u64;
        for (n, level) in [
            (6, Level::NINETY_FIVE),
            (10, Level::NINETY_FIVE),
            (10, Level::NINETY_FIVE.shared_by(24)),
            (19, Level::NINETY_FIVE),
        ] {
            let (covered, stated) = covered(n, level, trials);
            let sd = (stated * (1.0 - stated) / trials as f64).sqrt();
            let got = covered as f64 / trials as f64;
            assert!(
                (got - stated).abs() <= 4.0 * sd,
                "n {n}: stated {stated}, covered {got}"
            );
        }
    }

    /// The coverage of a bootstrap of the median is only nominal. It must not fall short of it by more
    /// than its known small-sample loss of about 1.5 points at 95 %.
    #[test]
    fn bootstrap_has_about_its_stated_coverage() {
        let trials = 200;
        for (n, level) in [
            (20, Level::NINETY_FIVE),
            (31, Level::NINETY_FIVE.shared_by(24)),
        ] {
            let (covered, stated) = covered(n, level, trials);
            let sd = (stated * (1.0 - stated) / trials as f64).sqrt();
            let got = covered as f64 / trials as f64;
            assert!(
                got >= stated - 0.015 - 4.0 * sd,
                "n {n}: stated {stated}, covered {got}"
            );
        }
    }

    /// Counts how often the interval of `n` exponential draws covers their true median, ln 2; also
    /// returns the stated coverage.
    fn covered(n: usize, level: Level, trials: u64) -> (u64, f64) {
        let truth = std::f64::consts::LN_2;
        let mut stated = 0.0;
        let mut covered = 0;
        for t in 0..trials {
            let values: Vec<Span> = (0..n as u64)
                .map(|i| Span::exact(-rng::unit(t.wrapping_mul(7919), i).ln()))
                .collect();
            let got = estimate(&values, level, t).unwrap().interval;
            stated = got.coverage;
            covered += u64::from(got.lo <= truth && truth <= got.hi);
        }
        (covered, stated)
    }
}
