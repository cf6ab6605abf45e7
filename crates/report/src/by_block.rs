//! What each block says, before it is decided: the values that every verdict and interval of a report
//! is made from. Kept, they give the same verdicts again without the records, by the same code.

use std::collections::BTreeMap;

use record::{Cell, RunData};
use stats::{Differences, Family, Level, Ranks, Span};

use crate::cells::{Blocks, CellIndex};
use crate::compare::{self, ERROR, role_of};
use crate::population::populations;
use crate::quantity::{Quantity, Unit};
use crate::summary::arm::Role;
use crate::summary::measure::Comparison;

/// The measure of IP bytes in both directions, as sent, over all requests of a cell. Its values are in
/// bytes instead of ns.
pub const BYTES: &str = "bytes on the wire";

/// The largest difference in bytes that still counts as no difference, as a share of the other arm's:
/// repeated headers and acknowledgements alone vary by about as much.
const BYTES_MARGIN: f64 = 0.02;

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

/// Where a value was measured: a measure of an arm on a network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The network's name.
    pub network: String,
    /// The label of the measure, as in [`crate::Measure::label`].
    pub measure: String,
    /// The arm's name.
    pub arm: String,
}

/// Everything that the blocks of a run say, without A/A arms: of every measure, and of [`BYTES`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ByBlock {
    /// The arm's median in each block.
    pub medians: BTreeMap<Place, BTreeMap<u32, Span>>,
    /// Comparisons with the arm that is named second.
    pub pairs: BTreeMap<(Place, String), Values>,
}

impl ByBlock {
    /// Takes the values of a run: every arm against the baseline, and `others`, more pairs of an arm
    /// and the one that it is compared with.
    pub fn of(data: &RunData, others: &[(&str, &str)]) -> ByBlock {
        let (run, cells) = (data.run(), CellIndex::new(data));
        let populations = populations(run);
        let arms: Vec<&str> = run
            .arms
            .iter()
            .map(|arm| arm.name.as_str())
            .filter(|arm| role_of(run, arm) != Role::Repeat)
            .collect();
        let rivals = arms.iter().filter(|arm| **arm != run.baseline);
        let mut pairs: Vec<(&str, &str)> = rivals.map(|arm| (*arm, &*run.baseline)).collect();
        pairs.extend_from_slice(others);
        let mut all = ByBlock::default();
        for network in &run.networks {
            let place = |arm: &str| Place {
                network: network.name.clone(),
                measure: BYTES.to_owned(),
                arm: arm.to_owned(),
            };
            let bytes = |arm: &str| bytes(&cells.first(&network.name, arm));
            for arm in &arms {
                all.medians.insert(place(arm), bytes(arm));
            }
            for (arm, other) in &pairs {
                let values = compare_bytes(&bytes(arm), &bytes(other));
                all.pairs.insert((place(arm), (*other).to_owned()), values);
            }
        }
        for (network, population) in run
            .networks
            .iter()
            .flat_map(|network| populations.iter().map(|p| (network.name.as_str(), p)))
        {
            let place = |arm: &str| Place {
                network: network.to_owned(),
                measure: population.label.clone(),
                arm: arm.to_owned(),
            };
            for arm in &arms {
                let times = population.by_block(&cells.first(network, arm), run.timeout_ns);
                all.medians.insert(place(arm), times);
            }
            for (arm, other) in &pairs {
                let values = compare::values(run, &cells, population, network, (arm, other));
                all.pairs.insert((place(arm), (*other).to_owned()), values);
            }
        }
        all
    }
}

/// Returns the bytes of each block's cell where they are known and the cell was measured.
fn bytes(blocks: &Blocks<'_>) -> BTreeMap<u32, Span> {
    let bytes = |cell: &Cell| (cell.wire.up_bytes + cell.wire.down_bytes) as f64;
    let known = |cell: &Cell| cell.is_measured() && bytes(cell) > 0.0;
    let measured = blocks.iter().filter(|(_, cell)| known(cell));
    measured
        .map(|(&block, cell)| (block, Span::exact(bytes(cell))))
        .collect()
}

fn compare_bytes(arm: &BTreeMap<u32, Span>, other: &BTreeMap<u32, Span>) -> Values {
    let value = |(block, bytes): (&u32, &Span)| {
        let other = other.get(block)?;
        let value = BlockValue {
            difference: bytes.minus(*other),
            speedup: Some(other.over(*bytes)),
        };
        Some((*block, value))
    };
    let median = stats::median(&other.values().copied().collect::<Vec<_>>());
    Values {
        margin: BYTES_MARGIN * median.map_or(0.0, |median| median.lo),
        blocks: arm.iter().filter_map(value).collect(),
    }
}

/// Returns the median over blocks with the interval that a report prints for a figure of an arm.
pub fn median(blocks: &[Span], unit: Unit) -> Option<Quantity> {
    let estimate = stats::estimate(blocks, Level::NINETY_FIVE)?;
    Some(Quantity::new(&estimate, unit))
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
            margin_ns: values.margin,
            verdict: decided.verdict,
            clean_only: None,
            correlation: None,
            loss_correlation: None,
            caveats: Vec::new(),
        }
    };
    families
        .iter()
        .zip(answered)
        .map(|(family, answered)| family.iter().zip(answered.comparisons).map(comparison))
        .map(Iterator::collect)
        .collect()
}
