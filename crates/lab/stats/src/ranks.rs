//! The ranks of the values between which an interval runs.

use crate::binomial::{cdf, ln_gamma};
use crate::interval::Level;

/// Fewest blocks for any verdict: with 5, even the whole range covers the median only 93.8 % of the
/// time.
pub const MIN_BLOCKS: usize = 6;

/// Relative tolerance between a level and a probability. Both can be the same fraction, e.g. 2/2^6
/// and 0.05 * 5/6 * 3/4, but differ in their last binary digit.
const TOLERANCE: f64 = 1e-9;

/// How ranks are chosen: by when the number of blocks is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// The number of blocks is chosen before the first one runs. Ranks are those of the sign test
    /// (David and Nagaraja, "Order Statistics", 3rd ed., 7.1).
    Fixed,
    /// Blocks are added until the results so far are good enough. Ranks are those of a sequential
    /// sign test, the Krichevsky-Trofimov mixture. Its error probability holds at any stopping
    /// time (Robbins, "Statistical methods related to the law of the iterated logarithm", 1970).
    Anytime,
}

impl Ranks {
    /// Returns the probability that the interval from the `rank`-th smallest to the `rank`-th largest
    /// of `blocks` values misses the median: exact for [`Ranks::Fixed`] and any continuous
    /// distribution, an upper bound for [`Ranks::Anytime`]. Rank 0 stands for the whole line, which
    /// never misses.
    pub fn error(self, blocks: usize, rank: usize) -> f64 {
        if rank == 0 {
            return 0.0;
        }
        if 2 * rank > blocks {
            return 1.0;
        }
        match self {
            // The interval misses if fewer than `rank` values are on one side of the median.
            Ranks::Fixed => (2.0 * cdf(blocks, rank - 1, 0.5)).min(1.0),
            Ranks::Anytime => (-ln_e_value(blocks, rank - 1)).exp().min(1.0),
        }
    }

    /// Returns the largest rank whose error is at most that of `level`; 0 if there are too few blocks
    /// for any.
    pub fn rank(self, blocks: usize, level: Level) -> usize {
        // The error grows with the rank.
        let (mut within, mut beyond) = (0, blocks / 2 + 1);
        while beyond - within > 1 {
            let middle = usize::midpoint(within, beyond);
            match at_most(self.error(blocks, middle), level.alpha()) {
                true => within = middle,
                false => beyond = middle,
            }
        }
        within
    }

    /// Returns the fewest blocks whose whole range covers the median at `level`, i.e. the fewest that
    /// can decide a comparison in which all blocks agree.
    pub fn fewest_blocks(self, level: Level) -> usize {
        let mut blocks = 2;
        while self.rank(blocks, level) == 0 {
            blocks += 1;
        }
        blocks
    }
}

impl Level {
    /// Returns the fewest blocks whose whole range covers the median at this level, if their number
    /// is fixed in advance.
    pub fn fewest_blocks(self) -> usize {
        Ranks::Fixed.fewest_blocks(self)
    }
}

/// Returns whether `probability` is at most `limit`, apart from rounding.
pub(crate) fn at_most(probability: f64, limit: f64) -> bool {
    probability <= limit * (1.0 + TOLERANCE)
}

/// Returns the logarithm of the e-value against the median when `k` of `n` values lie on one side of it: 2^n Gamma(k +
/// 1/2) Gamma(n - k + 1/2) / (pi n!). This is the likelihood ratio of a coin with a Beta(1/2, 1/2) bias to a fair one.
fn ln_e_value(n: usize, k: usize) -> f64 {
    let (n, k) = (n as f64, k as f64);
    n * std::f64::consts::LN_2 + ln_gamma(k + 0.5) + ln_gamma(n - k + 0.5)
        - std::f64::consts::PI.ln()
        - ln_gamma(n + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(one_in: f64) -> Level {
        Level::of_error(1.0 / one_in)
    }

    /// Ranks of the sign test at 95 %: Conover, "Practical Nonparametric Statistics", table A3.
    #[test]
    fn fixed_ranks_match_published_tables() {
        for (n, rank, coverage) in [
            (5, 0, 1.0),
            (6, 1, 0.96875),
            (9, 2, 0.9609375),
            (10, 2, 0.978515625),
            (15, 4, 0.96484375),
        ] {
            assert_eq!(Ranks::Fixed.rank(n, Level::NINETY_FIVE), rank, "{n}");
            let error = Ranks::Fixed.error(n, rank);
            assert!((1.0 - error - coverage).abs() < 1e-12, "{n}: {error}");
        }
    }

    #[test]
    fn unanimous_blocks_needed() {
        for (one_in, fixed, anytime) in [(20.0, 6, 7), (80.0, 8, 9), (680.0, 11, 13)] {
            assert_eq!(Ranks::Fixed.fewest_blocks(level(one_in)), fixed);
            assert_eq!(Ranks::Anytime.fewest_blocks(level(one_in)), anytime);
        }
    }

    /// 2/2^6 is exactly 1/32, however the level was computed.
    #[test]
    fn equal_probabilities_are_within_the_level() {
        let level = Level::of_error(0.05 * 5.0 / 6.0 * 3.0 / 4.0);
        assert_eq!(Ranks::Fixed.rank(6, level), 1);
        for n in 2..=1_000 {
            for one_more in [0, 1, 2] {
                let twice = 2.0 * 0.5f64.powi(n + one_more);
                let rank = Ranks::Fixed.rank(n as usize, Level::of_error(twice));
                assert_eq!(rank, usize::from(one_more == 0), "{n}");
            }
        }
    }

    /// With one block there is no evidence for or against a side: the e-value is 1.
    #[test]
    fn anytime_errors_of_unanimous_blocks_are_catalan_products() {
        // e(0; n) = product over i < n of (i + 1/2) / (i + 1) * 2.
        let mut e = 1.0;
        for n in 1..=60 {
            e *= 2.0 * (f64::from(n) - 0.5) / f64::from(n);
            let error = Ranks::Anytime.error(n as usize, 1).min(1.0);
            if n > 1 {
                assert!((error * e - 1.0).abs() < 1e-12, "{n}");
            }
        }
    }

    #[test]
    fn ten_thousand_blocks_have_ranks() {
        // Normal approximation: 5000 - 1.96 * 50 = 4902.
        let fixed = Ranks::Fixed.rank(10_000, Level::NINETY_FIVE);
        assert!((4_900..=4_903).contains(&fixed), "{fixed}");
        let anytime = Ranks::Anytime.rank(10_000, Level::NINETY_FIVE);
        assert!((4_750..4_900).contains(&anytime), "{anytime}");
        assert!(Ranks::Anytime.error(10_000, 1) == 0.0);
    }
}
