//! Intervals, their levels, and how they were made.

/// Where the true value lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Probability that an interval made like this holds the true value: exact for order
    /// statistics, nominal for a bootstrap.
    pub coverage: f64,
    /// How it was made.
    pub method: Method,
}

impl Interval {
    /// Its coverage is what was asked for. With few blocks it cannot be.
    pub fn reaches(&self, level: Level) -> bool {
        self.coverage >= level.coverage()
    }
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From the `rank`-th smallest to the `rank`-th greatest value.
    OrderStatistics {
        /// From 1.
        rank: usize,
    },
    /// Percentiles of the estimate over resampled blocks.
    Bootstrap,
}

/// How often an interval may miss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    alpha: f64,
}

impl Level {
    /// One interval that misses one time in twenty.
    pub const NINETY_FIVE: Self = Self { alpha: 0.05 };

    /// The level of each of `comparisons` intervals that together miss as often as this one
    /// alone (Bonferroni).
    pub fn shared_by(self, comparisons: usize) -> Self {
        Self {
            alpha: self.alpha / comparisons.max(1) as f64,
        }
    }

    /// Probability to miss.
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// Probability to hold.
    pub fn coverage(self) -> f64 {
        1.0 - self.alpha
    }

    /// Fewest blocks whose whole range covers the median at this level: it misses only when
    /// all blocks fall on one side, 2 * 2^-n.
    pub fn fewest_blocks(self) -> usize {
        (1.0 - self.alpha.log2()).ceil() as usize
    }
}
