//! What all blocks say of a figure.

use stats::{Level, Span};

use crate::summary::quantity::{Quantity, Unit};

/// Returns the median over blocks with the interval that a report prints for a figure of an arm.
pub fn median(blocks: &[Span], unit: Unit) -> Option<Quantity> {
    let estimate = stats::estimate(blocks, Level::NINETY_FIVE)?;
    Some(Quantity::new(&estimate, unit))
}
