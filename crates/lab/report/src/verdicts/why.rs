//! Where the time of requests went, and why arms differ: the parts of each arm and the comparisons with one of them.

use std::collections::BTreeMap;

use record::{CallResult, CompactCall, CompactCell, CompactRun, Run};

use crate::figures::cells::CellIndex;
use crate::figures::parts::measures;
use crate::figures::population::Population;
use crate::records::Records;
use crate::summary::arm::Role;
use crate::summary::why::{FORMAT, Why, WhyMeasure};
use crate::verdicts::apart::populations_apart;
use crate::verdicts::compare::compare;
use crate::verdicts::coverage::coverage;
use crate::verdicts::reason::{pairs, reason};
use crate::words::number::count;

/// What of a run is wanted; what is absent is not limited.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The network.
    pub network: Option<&'a str>,
    /// The arm, beside the one that it is compared with.
    pub arm: Option<&'a str>,
    /// The arm to compare with instead of the baseline.
    pub against: Option<&'a str>,
    /// The id of the call in each cell.
    pub call: Option<u32>,
}

impl Wanted<'_> {
    fn has_network(&self, name: &str) -> bool {
        self.network.is_none_or(|network| network == name)
    }

    fn has_arm(&self, name: &str) -> bool {
        self.arm.is_none_or(|arm| arm == name)
    }
}

/// Returns where the time of requests went. Fails with the reason if no wanted request has parts.
///
/// Verdicts are those of the report: `wanted` limits what is returned, not which arms share an error probability.
pub fn why(data: &impl Records, wanted: &Wanted<'_>) -> Result<Why, String> {
    let data = &*data.compact();
    let cells = CellIndex::new(data);
    let mut populations = populations_apart(data.run(), &cells);
    populations.retain(|population| !population.is_aggregate());
    if let Some(id) = wanted.call {
        populations = populations.iter().filter_map(|p| p.only(id)).collect();
    }
    let against = wanted.against.unwrap_or(&data.run().baseline).to_owned();
    let run = Run {
        baseline: against.clone(),
        ..data.run().clone()
    };
    let mut comparisons = compare(&run, &cells, &populations, Role::Arm);
    // Copies of the baseline have an error probability of their own, as in the report.
    comparisons.extend(compare(&run, &cells, &populations, Role::Repeat));
    let mut measures = measures(&run, &cells, &populations);
    for measure in &mut measures {
        let of_label = |p: &Population| p.label == measure.label;
        let Some(index) = populations.iter().position(of_label) else {
            continue;
        };
        let baseline = cells.first(&measure.network, &against);
        for arm in &mut measure.arms {
            let key = (arm.arm.clone(), measure.network.clone(), index);
            let comparison = comparisons.remove(&key);
            arm.comparison = comparison.map(|mut comparison| {
                let of_arm = cells.first(&measure.network, &arm.arm);
                let pairs = || pairs(&populations[index], &of_arm, &baseline, run.timeout_ns);
                comparison.reason = reason(&comparison, pairs, measure.rtt_ns);
                comparison
            });
        }
        // Alone, the arm that others are compared with answers nothing.
        match (measure.arms.iter()).any(|arm| wanted.has_arm(&arm.arm)) {
            true => (measure.arms).retain(|arm| wanted.has_arm(&arm.arm) || arm.arm == against),
            false => measure.arms.clear(),
        }
    }
    measures.retain(|measure| wanted.has_network(&measure.network) && !measure.arms.is_empty());
    match measures.is_empty() {
        true => Err(absence(data, &cells, wanted)),
        false => Ok(Why {
            format: FORMAT,
            study: run.study,
            against,
            coverage: coverage(&measures, &shown_calls(&cells, &populations, &measures)),
            measures,
        }),
    }
}

/// Returns the requests of these populations of these arms.
fn shown_calls<'a>(
    cells: &CellIndex<'a>,
    populations: &'a [Population],
    measures: &[WhyMeasure],
) -> Vec<CompactCall<'a>> {
    let mut calls = Vec::new();
    for measure in measures {
        for population in populations.iter().filter(|p| p.label == measure.label) {
            for arm in &measure.arms {
                let blocks = cells.first(&measure.network, &arm.arm);
                calls.extend(
                    blocks
                        .into_values()
                        .flat_map(|cell| population.of(&cell.calls)),
                );
            }
        }
    }
    calls
}

/// Returns why no wanted request has parts, as far as the records tell.
fn absence(data: &CompactRun, cells: &CellIndex<'_>, wanted: &Wanted<'_>) -> String {
    let run = data.run();
    let networks = run.networks.iter().map(|network| network.name.as_str());
    let networks = networks.filter(|name| wanted.has_network(name));
    let arms = run.arms.iter().map(|arm| arm.name.as_str());
    let arms: Vec<&str> = arms.filter(|arm| wanted.has_arm(arm)).collect();
    let firsts = networks.flat_map(|network| arms.iter().map(move |arm| cells.first(network, arm)));
    let measured: Vec<&CompactCell> = firsts
        .flat_map(BTreeMap::into_values)
        .filter(|cell| cell.is_measured())
        .collect();
    let calls: Vec<CompactCall<'_>> = measured.iter().flat_map(|cell| cell.calls.iter()).collect();
    let chosen = |call: &&CompactCall<'_>| wanted.call.is_none_or(|id| call.id() == id);
    let chosen: Vec<CompactCall<'_>> = calls.iter().filter(chosen).copied().collect();
    let succeeded = |call: &CompactCall<'_>| *call.result() == CallResult::Ok;
    let why = if measured.is_empty() {
        "no cell was measured; commute report says why".to_owned()
    } else if calls.is_empty() {
        "all are in groups that are bound by time, of which records keep only the distribution"
            .to_owned()
    } else if chosen.is_empty() {
        let ids = || calls.iter().map(|call| call.id());
        let (first, last) = (ids().min().unwrap_or(0), ids().max().unwrap_or(0));
        format!("no call has this id; ids are {first} to {last}")
    } else if !chosen.iter().any(succeeded) {
        format!("{} failed or timed out", all_of(chosen.len()))
    } else if run.calls.is_empty() {
        "they were imported, without packets".to_owned()
    } else if measured.iter().all(|cell| cell.stack.clock == "own") {
        "their clients have a clock of their own, which packets cannot be compared with".to_owned()
    } else {
        "they were recorded by an earlier version of commute, or neither end reported the client's port; run the \
         study again"
            .to_owned()
    };
    format!("no request{} has parts: {why}", limits(wanted))
}

fn all_of(n: usize) -> String {
    match n {
        1 => "the only one".to_owned(),
        n => format!("all {}", count(n, "request")),
    }
}

/// Returns what limits the wanted requests, in words.
fn limits(wanted: &Wanted<'_>) -> String {
    let mut words = String::new();
    if let Some(id) = wanted.call {
        words += &format!(" with the id {id}");
    }
    if let Some(arm) = wanted.arm {
        words += &format!(" of `{arm}`");
    }
    if let Some(network) = wanted.network {
        words += &format!(" on `{network}`");
    }
    match words.is_empty() {
        true => " of this run".to_owned(),
        false => words,
    }
}
