//! The values that comparisons are decided from, and how they are decided.

use std::collections::BTreeMap;

use stats::{Differences, Family, Ranks, Span};

use crate::summary::measure::Comparison;
use crate::summary::quantity::{Quantity, Unit};

/// The share of wrong verdicts that a report accepts among those it gives.
pub const ERROR: f64 = 0.05;

/// What one block says of two arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockValue {
    /// Arm minus the other: negative is faster.
    pub difference: Span,
    /// The other divided by the arm: above 1 is faster; absent where a time is 0.
    pub speedup: Option<Span>,
}

/// What all blocks say of two arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// The largest difference that still counts as no difference, in the unit of the differences.
    pub margin: f64,
    /// One value per block that has both arms.
    pub blocks: BTreeMap<u32, BlockValue>,
}

/// Returns the ranks of intervals that hold, whether the number of blocks was chosen in advance or by
/// looking at results.
pub fn ranks(looked_at_results: bool) -> Ranks {
    match looked_at_results {
        true => Ranks::Anytime,
        false => Ranks::Fixed,
    }
}

/// Decides comparisons as a report does. A family is what its readers look at together: all arms in
/// one measure on one network. `unit` is that of the differences. Which cells were clean is not known
/// here, nor any caveat.
pub fn decide(families: &[Vec<Values>], unit: Unit, ranks: Ranks) -> Vec<Vec<Comparison>> {
    let differences = |values: &Values| Differences {
        by_block: values.blocks.values().map(|b| b.difference).collect(),
        margin: values.margin,
    };
    let asked: Vec<Family> = families
        .iter()
        .map(|family| Family {
            comparisons: family.iter().map(differences).collect(),
        })
        .collect();
    let answered = stats::decide(&asked, ERROR, ranks);
    let comparison = |(values, decided): (&Values, stats::Comparison)| {
        let factors: Vec<Span> = values.blocks.values().filter_map(|b| b.speedup).collect();
        let speedup = stats::speedup(&factors, &decided.difference);
        Comparison {
            difference: Quantity::new(&decided.difference, unit),
            speedup: speedup.map(|factor| Quantity::new(&factor, Unit::Factor)),
            // In the unit of the difference, which in a report is ns.
            margin_ns: values.margin,
            verdict: decided.verdict,
            clean_only: None,
            correlation: None,
            loss_correlation: None,
            noticeable_ns: None,
            caveats: Vec::new(),
            reason: None,
        }
    };
    families
        .iter()
        .zip(answered)
        .map(|(family, answered)| family.iter().zip(answered.comparisons).map(comparison))
        .map(Iterator::collect)
        .collect()
}
