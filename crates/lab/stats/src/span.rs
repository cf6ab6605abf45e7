//! Numbers that may be known only by their bounds.

/// A number that is known to lie between `lo` and `hi`, which may be infinite.
///
/// A request that timed out after 10 s is `[10 s, inf)`. Its difference from an exact baseline is "at
/// least"; that of an exact arm from a censored baseline is "at most"; and that of two censored
/// requests is unknown. Order statistics keep such bounds: the k-th smallest of the numbers lies
/// between the k-th smallest `lo` and the k-th smallest `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Lower bound; the number is not less than this.
    pub lo: f64,
    /// Upper bound; the number is not more than this.
    pub hi: f64,
}

impl Span {
    /// Returns the span of a known number.
    pub fn exact(value: f64) -> Self {
        Self {
            lo: value,
            hi: value,
        }
    }

    /// Returns the span of a censored number: it would have been this or more.
    pub fn at_least(value: f64) -> Self {
        Self {
            lo: value,
            hi: f64::INFINITY,
        }
    }

    /// Returns the number itself if it is known exactly.
    pub fn known(self) -> Option<f64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Returns this plus `other`.
    pub fn plus(self, other: Self) -> Self {
        Self {
            lo: self.lo + other.lo,
            hi: self.hi + other.hi,
        }
    }

    /// Returns this minus `other`.
    pub fn minus(self, other: Self) -> Self {
        Self {
            lo: self.lo - other.hi,
            hi: self.hi - other.lo,
        }
    }

    /// Returns this divided by `other`; both must be positive.
    pub fn over(self, other: Self) -> Self {
        Self {
            lo: self.lo / other.hi,
            hi: self.hi / other.lo,
        }
    }

    /// Applies an increasing function to both bounds.
    pub fn map_increasing(self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            lo: f(self.lo),
            hi: f(self.hi),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_censored_times_are_bounds() {
        let (ten, three) = (Span::at_least(10.0), Span::exact(3.0));
        assert_eq!(ten.plus(three), Span::at_least(13.0));
        assert_eq!(three.plus(three), Span::exact(6.0));
        let below = three.minus(ten);
        assert_eq!(below.plus(three).hi, -4.0);
    }

    #[test]
    fn differences_of_censored_times_are_bounds() {
        let (ten, three) = (Span::at_least(10.0), Span::exact(3.0));
        assert_eq!(ten.minus(three), Span::at_least(7.0));
        assert_eq!(
            three.minus(ten),
            Span {
                lo: f64::NEG_INFINITY,
                hi: -7.0
            }
        );
        assert_eq!(
            ten.minus(ten),
            Span {
                lo: f64::NEG_INFINITY,
                hi: f64::INFINITY
            }
        );
        assert_eq!(ten.minus(ten).known(), None);
        assert_eq!(three.minus(three).known(), Some(0.0));
    }

    #[test]
    fn ratios_of_censored_times_are_bounds() {
        let (ten, five) = (Span::at_least(10.0), Span::exact(5.0));
        assert_eq!(ten.over(five), Span::at_least(2.0));
        assert_eq!(five.over(ten), Span { lo: 0.0, hi: 0.5 });
    }
}
