//! Intervals, their level, and the method that made them.

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end, in the unit of the values.
    pub lo: f64,
    /// Upper end, in the unit of the values.
    pub hi: f64,
    /// Probability that an interval made this way contains the true value: exact for order
    /// statistics, nominal for a bootstrap.
    pub coverage: f64,
    /// The method that made it.
    pub method: Method,
}

impl Interval {
    /// Returns whether the coverage is at least that of `level`. With too few blocks it cannot be.
    pub fn reaches(&self, level: Level) -> bool {
        self.coverage >= level.coverage()
    }
}

/// A method of making an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The `rank`-th smallest and the `rank`-th greatest value.
    OrderStatistics {
        /// Rank of both ends, from 1.
        rank: usize,
    },
    /// Percentiles of the estimate over resampled blocks.
    Bootstrap,
}

/// The probability with which an interval may miss the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    alpha: f64,
}

impl Level {
    /// 95 %: an interval that misses one time in twenty.
    pub const NINETY_FIVE: Self = Self { alpha: 0.05 };

    /// Returns the level at which each of `comparisons` intervals must be made so that any of them
    /// misses at most as often as one at this level (Bonferroni).
    pub fn shared_by(self, comparisons: usize) -> Self {
        Self {
            alpha: self.alpha / comparisons.max(1) as f64,
        }
    }

    /// Returns the probability that an interval misses the true value.
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// Returns the probability that an interval contains the true value.
    pub fn coverage(self) -> f64 {
        1.0 - self.alpha
    }

    /// Returns the fewest blocks whose whole range covers the median at this level. The range misses
    /// only when all blocks are on one side of the median, with probability 2 * 2^-n.
    pub fn fewest_blocks(self) -> usize {
        (1.0 - self.alpha.log2()).ceil() as usize
    }
}
