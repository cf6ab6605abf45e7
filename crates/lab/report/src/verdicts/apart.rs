//! Finds the requests whose place on their connection makes them take another time than the others, such as the second
//! one of a client with Nagle's algorithm.

use std::collections::{BTreeMap, BTreeSet};

use record::Run;
use stats::{Level, Span};

use crate::figures::cells::{Blocks, CellIndex};
use crate::figures::population::{Population, populations};
use crate::figures::position::{Places, places};
use crate::summary::arm::{Role, role_of};
use crate::summary::measure::Part;
use crate::verdicts::values::ERROR;

/// If more places of a group differ, its requests are not alike, e.g. in their size, and none is taken apart.
const MOST_PLACES: usize = 3;

/// Returns the populations of a run, with the requests at places that differ apart.
pub(crate) fn populations_apart(run: &Run, cells: &CellIndex<'_>) -> Vec<Population> {
    populations(run, &differing(run, cells))
}

/// Returns the places whose requests take longer or shorter than the other warm ones of their group, by more than the
/// margin, for any arm on any network. All of them together are wrong with the error probability of a report.
pub(crate) fn differing(run: &Run, cells: &CellIndex<'_>) -> Places {
    let of_plan = populations(run, &Places::new());
    let warm = of_plan
        .iter()
        .filter(|p| p.part == Part::Warm && p.is_by_position());
    warm.flat_map(|population| of_group(run, cells, population))
        .collect()
}

fn of_group(run: &Run, cells: &CellIndex<'_>, warm: &Population) -> Places {
    let places = places(run);
    let all: BTreeSet<u32> = (warm.ids())
        .filter_map(|id| places.get(&id).copied())
        .collect();
    let arms = run
        .arms
        .iter()
        .filter(|arm| role_of(run, &arm.name) != Role::Repeat);
    let of_arm = |arm: &record::Arm| {
        let networks = run.networks.iter();
        networks
            .map(|network| cells.first(&network.name, &arm.name))
            .collect::<Vec<_>>()
    };
    let measured: Vec<Blocks<'_>> = arms.flat_map(of_arm).filter(|b| !b.is_empty()).collect();
    // Of two, neither is the other one.
    if all.len() < 3 || measured.is_empty() {
        return Places::new();
    }
    let level = Level::of_error(ERROR / (all.len() * measured.len()) as f64);
    let differs = |place: &u32| {
        let mut blocks = measured.iter();
        blocks.any(|blocks| differs(run, warm, &places, *place, blocks, level))
    };
    let found: Vec<u32> = all.into_iter().filter(differs).collect();
    match found.len() <= MOST_PLACES {
        true => found
            .into_iter()
            .map(|place| (warm.group.clone(), place))
            .collect(),
        false => Places::new(),
    }
}

/// Reports whether the requests at a place differ from the others of their cells.
fn differs(
    run: &Run,
    warm: &Population,
    places: &BTreeMap<u32, u32>,
    place: u32,
    blocks: &Blocks<'_>,
    level: Level,
) -> bool {
    let mut others = Vec::new();
    let difference = |cell: &&record::Cell| {
        let steps = warm.steps(cell, run.timeout_ns);
        let (here, there): (Vec<_>, Vec<_>) = steps
            .into_iter()
            .partition(|(id, _)| places.get(id) == Some(&place));
        let median = |steps: Vec<(u32, Span)>| {
            stats::median(&steps.into_iter().map(|(_, time)| time).collect::<Vec<_>>())
        };
        let there = median(there)?;
        others.push(there);
        Some(median(here)?.minus(there))
    };
    let differences: Vec<Span> = blocks.values().filter_map(difference).collect();
    let Some(estimate) = stats::estimate(&differences, level) else {
        return false;
    };
    let default_ns = stats::default_margin_ns(stats::median(&others).map_or(0.0, |time| time.lo));
    let margin_ns = run.margin_ns.map_or(default_ns, |ns| ns as f64);
    let interval = estimate.interval;
    differences.len() >= stats::MIN_BLOCKS && (interval.lo > margin_ns || interval.hi < -margin_ns)
}
