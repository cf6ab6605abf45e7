//! Intervals, their level, and the method that made them.

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end, in the unit of the values.
    pub lo: f64,
    /// Upper end, in the unit of the values.
    pub hi: f64,
    /// Probability that an interval made this way contains the true value: exact or a lower bound,
    /// unless [`Method`] says otherwise.
    pub coverage: f64,
    /// The method that made it.
    pub method: Method,
}

impl Interval {
    /// Returns whether the coverage is at least that of `level`. With too few blocks it cannot be.
    pub fn reaches(&self, level: Level) -> bool {
        self.coverage >= level.coverage() - f64::EPSILON
    }

    /// Returns the rank of both ends, if they are values.
    pub fn rank(&self) -> Option<usize> {
        match self.method {
            Method::OrderStatistics { rank } => Some(rank),
            _ => None,
        }
    }
}

/// A method of making an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From the `rank`-th smallest to the `rank`-th largest value.
    OrderStatistics {
        /// Rank of both ends, from 1; 0 without any value, when the interval is the whole line.
        rank: usize,
    },
    /// Both ends are interpolated between two ranks. The coverage is nominal; the true one is within
    /// a point of it for any common distribution.
    Interpolated {
        /// The outer rank; the inner one is the next.
        rank: usize,
    },
}

/// The probability with which an interval may miss the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    alpha: f64,
}

impl Level {
    /// 95 %: an interval that misses one time in twenty.
    pub const NINETY_FIVE: Self = Self { alpha: 0.05 };

    /// Returns the level of an interval that misses with probability `error`.
    pub fn of_error(error: f64) -> Self {
        Self { alpha: error }
    }

    /// Returns the probability that an interval misses the true value.
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// Returns the probability that an interval contains the true value.
    pub fn coverage(self) -> f64 {
        1.0 - self.alpha
    }
}
