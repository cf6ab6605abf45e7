//! What all blocks say of a figure.

use record::Run;
use stats::{Level, Span};

use crate::summary::quantity::{Quantity, Unit};

/// Returns the largest difference from a time that still counts as none: the study's margin or the default.
pub(crate) fn margin_ns(run: &Run, base: Option<Span>) -> f64 {
    let default_ns = stats::default_margin_ns(base.map_or(0.0, |time| time.lo));
    run.margin_ns.map_or(default_ns, |ns| ns as f64)
}

/// Returns the median over blocks with the interval that a report prints for a figure of an arm.
pub fn median(blocks: &[Span], unit: Unit) -> Option<Quantity> {
    let estimate = stats::estimate(blocks, Level::NINETY_FIVE)?;
    Some(Quantity::new(&estimate, unit))
}
