//! Finds the requests whose place on their connection makes them take another time than the others, such as the second
//! one of a client with Nagle's algorithm.

use std::collections::{BTreeMap, BTreeSet};

use record::Run;
use stats::{Level, Span};

use crate::figures::cells::{Blocks, CellIndex};
use crate::figures::estimate::margin_ns;
use crate::figures::population::{Population, populations};
use crate::figures::position::{Places, places};
use crate::summary::arm::{Role, role_of};
use crate::summary::measure::Part;
use crate::verdicts::values::ERROR;

/// If more places of a group differ, or half of them, its requests are not alike, e.g. in their size, and none is taken
/// apart.
const MOST_PLACES: usize = 3;

/// Returns the populations of a run, with the requests at places that differ apart.
pub(crate) fn populations_apart(run: &Run, cells: &CellIndex<'_>) -> Vec<Population> {
    populations(run, &differing(run, cells))
}

/// Returns the places whose requests take longer or shorter than the other warm ones of their group, by more than the
/// margin, for any arm on any network. All of them together are wrong with the error probability of a report.
pub(crate) fn differing(run: &Run, cells: &CellIndex<'_>) -> Places {
    let places = places(run);
    let populations = populations(run, &Places::new());
    let of_place = |population: &Population| {
        let known = population.ids().filter_map(|id| places.get(&id).copied());
        known.collect::<BTreeSet<u32>>()
    };
    let warm = populations
        .iter()
        .filter(|p| p.part == Part::Warm && p.is_by_position());
    let groups: Vec<(&Population, BTreeSet<u32>)> = warm.map(|p| (p, of_place(p))).collect();
    let measured = measured(run, cells);
    let tests = groups.iter().map(|(_, all)| all.len()).sum::<usize>() * measured.len();
    let search = Search {
        run,
        places: &places,
        measured: &measured,
        level: Level::of_error(ERROR / tests.max(1) as f64),
    };
    let mut apart = Places::new();
    for (warm, all) in groups {
        let found = search.of_group(warm, all);
        apart.extend(found.into_iter().map(|place| (warm.group.clone(), place)));
    }
    apart
}

/// Returns the cells of each arm on each network, without A/A arms.
fn measured<'a>(run: &Run, cells: &CellIndex<'a>) -> Vec<Blocks<'a>> {
    let arms = run
        .arms
        .iter()
        .filter(|arm| role_of(run, &arm.name) != Role::Repeat);
    let of_arm = |arm: &record::Arm| {
        let networks = run.networks.iter();
        let blocks = networks.map(|network| cells.first(&network.name, &arm.name));
        blocks.collect::<Vec<_>>()
    };
    arms.flat_map(of_arm)
        .filter(|blocks| !blocks.is_empty())
        .collect()
}

/// The search for places that differ.
struct Search<'a> {
    run: &'a Run,
    places: &'a BTreeMap<u32, u32>,
    measured: &'a [Blocks<'a>],
    level: Level,
}

impl Search<'_> {
    /// Returns the places of a group that differ from the others, the most deviant one first, which the others are then
    /// compared without.
    fn of_group(&self, warm: &Population, mut left: BTreeSet<u32>) -> Vec<u32> {
        let (mut found, all) = (Vec::new(), left.len());
        // Of two, neither is the other one.
        while left.len() > 2 {
            let deviation = |place: &u32| {
                let of_arm = |blocks| self.deviation_ns(warm, &left, *place, blocks);
                let most = self
                    .measured
                    .iter()
                    .filter_map(of_arm)
                    .max_by(f64::total_cmp);
                most.map(|ns| (*place, ns))
            };
            let most = left.iter().filter_map(deviation);
            let Some((place, _)) = most.max_by(|(_, a), (_, b)| a.total_cmp(b)) else {
                break;
            };
            left.remove(&place);
            found.push(place);
        }
        match found.len() <= MOST_PLACES && 2 * found.len() < all {
            true => found,
            false => Vec::new(),
        }
    }

    /// Returns by how much the requests at a place differ from those at the other places that are left, if they do.
    fn deviation_ns(
        &self,
        warm: &Population,
        left: &BTreeSet<u32>,
        place: u32,
        blocks: &Blocks<'_>,
    ) -> Option<f64> {
        let mut others = Vec::new();
        let difference = |cell: &&record::CompactCell| {
            let steps = warm.steps(cell, self.run.timeout_ns);
            let median = |is_wanted: &dyn Fn(u32) -> bool| {
                let of_place = |id: &u32| self.places.get(id).is_some_and(|&at| is_wanted(at));
                let wanted = steps.iter().filter(|(id, _)| of_place(id));
                stats::median(&wanted.map(|(_, time)| time).collect::<Vec<Span>>())
            };
            let there = median(&|at| at != place && left.contains(&at))?;
            others.push(there);
            Some(median(&|at| at == place)?.minus(there))
        };
        let differences: Vec<Span> = blocks.values().filter_map(difference).collect();
        let estimate = stats::estimate(&differences, self.level)?;
        let margin_ns = margin_ns(self.run, stats::median(&others));
        let interval = estimate.interval;
        let is_beyond = interval.lo > margin_ns || interval.hi < -margin_ns;
        (is_beyond && interval.reaches(self.level))
            .then(|| interval.lo.abs().min(interval.hi.abs()))
    }
}
