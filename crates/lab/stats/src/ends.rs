//! Order statistics of spans.

use crate::span::Span;

/// The ends of many spans.
#[derive(Default)]
pub(crate) struct Ends {
    pub(crate) lo: Vec<f64>,
    pub(crate) hi: Vec<f64>,
}

impl Ends {
    pub(crate) fn sorted(values: &[Span]) -> Self {
        let mut ends = Self::default();
        ends.fill(values.iter().copied());
        ends.lo.sort_by(f64::total_cmp);
        ends.hi.sort_by(f64::total_cmp);
        ends
    }

    /// Returns the median of `values`, in linear time.
    pub(crate) fn median(&mut self, values: impl Iterator<Item = Span>) -> Option<Span> {
        self.fill(values);
        Some(Span {
            lo: median(&mut self.lo)?,
            hi: median(&mut self.hi)?,
        })
    }

    fn fill(&mut self, values: impl Iterator<Item = Span>) {
        self.lo.clear();
        self.hi.clear();
        for value in values {
            self.lo.push(value.lo);
            self.hi.push(value.hi);
        }
    }
}

/// Returns the median of `numbers`, whose order it changes.
fn median(numbers: &mut [f64]) -> Option<f64> {
    let half = numbers.len().checked_sub(1)? / 2;
    let even = numbers.len().is_multiple_of(2);
    let (_, &mut a, above) = numbers.select_nth_unstable_by(half, f64::total_cmp);
    let b = match even {
        true => above.iter().copied().min_by(f64::total_cmp)?,
        false => a,
    };
    // Two equal infinities are their own mean; halving first avoids overflow.
    Some(if a == b { a } else { a / 2.0 + b / 2.0 })
}
