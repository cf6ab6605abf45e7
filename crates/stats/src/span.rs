//! A number of which perhaps only a bound is known.

/// All that is known of a number: it lies between `lo` and `hi`, which may be infinite.
///
/// A call that timed out after 10 s is `[10 s, inf)`; against an exact baseline its
/// difference is "at least", an exact arm against a censored baseline is "at most", and two
/// censored calls tell nothing of each other. Order statistics keep such bounds: the k-th
/// smallest of the numbers lies between the k-th smallest `lo` and the k-th smallest `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// It is not less than this.
    pub lo: f64,
    /// It is not more than this.
    pub hi: f64,
}

impl Span {
    /// The number is known.
    pub fn exact(value: f64) -> Self {
        Self {
            lo: value,
            hi: value,
        }
    }

    /// Censored: it would have been this or more.
    pub fn at_least(value: f64) -> Self {
        Self {
            lo: value,
            hi: f64::INFINITY,
        }
    }

    /// The number itself, when it is known.
    pub fn known(self) -> Option<f64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// This less `other`.
    pub fn minus(self, other: Self) -> Self {
        Self {
            lo: self.lo - other.hi,
            hi: self.hi - other.lo,
        }
    }

    /// This divided by `other`; both must be positive.
    pub fn over(self, other: Self) -> Self {
        Self {
            lo: self.lo / other.hi,
            hi: self.hi / other.lo,
        }
    }

    /// An increasing function of it.
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
