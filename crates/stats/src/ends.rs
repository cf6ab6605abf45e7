//! Order statistics of spans.

use crate::span::Span;

/// Both ends of many values; kept from one resample to the next.
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

    /// The median of `values`, in time linear in their number.
    pub(crate) fn middle(&mut self, values: impl Iterator<Item = Span>) -> Option<Span> {
        self.fill(values);
        Some(Span {
            lo: middle(&mut self.lo)?,
            hi: middle(&mut self.hi)?,
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

/// Median of numbers, whose order it changes.
fn middle(numbers: &mut [f64]) -> Option<f64> {
    let half = numbers.len().checked_sub(1)? / 2;
    let even = numbers.len().is_multiple_of(2);
    let (_, &mut a, above) = numbers.select_nth_unstable_by(half, f64::total_cmp);
    let b = match even {
        true => above.iter().copied().min_by(f64::total_cmp)?,
        false => a,
    };
    // Equal infinities must stay what they are, and halves first cannot overflow.
    Some(if a == b { a } else { a / 2.0 + b / 2.0 })
}
