//! Splits the calls of a workload into populations, and reduces each to one number per block.

use std::collections::BTreeMap;

use record::{Call, CallResult, Group, Run};
use stats::Span;

use crate::cells::Blocks;
use crate::summary::measure::Part;

/// One population of calls.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub(crate) group: String,
    pub(crate) part: Part,
    pub(crate) label: String,
    /// Body bytes that one call of a bulk group transfers, for calls that did not succeed.
    pub(crate) bulk_bytes: u64,
}

/// Returns the populations of a study: one for each bulk group, two for every other group.
pub(crate) fn populations(run: &Run) -> Vec<Population> {
    let small_groups = run.groups.iter().filter(|g| !g.bulk).count();
    let label = |group: &Group, requests: &str| match small_groups {
        1 => requests.to_owned(),
        _ => format!("{} {requests}", group.name),
    };
    let population = |group: &Group, part, label| Population {
        group: group.name.clone(),
        part,
        label,
        bulk_bytes: group.response_bytes,
    };
    run.groups
        .iter()
        .flat_map(|group| match group.bulk {
            true => vec![population(group, Part::Bulk, group.name.clone())],
            false => vec![
                population(group, Part::First, label(group, "first request")),
                population(group, Part::Warm, label(group, "warm requests")),
            ],
        })
        .collect()
}

impl Population {
    /// Returns those of a cell's calls that belong to it.
    pub(crate) fn of<'a>(&self, calls: &'a [Call]) -> impl Iterator<Item = &'a Call> {
        let (group, part) = (self.group.clone(), self.part);
        calls.iter().filter(move |call| {
            call.group == group
                && match part {
                    Part::First => call.first,
                    Part::Warm => !call.first,
                    Part::Bulk => true,
                }
        })
    }

    /// Returns the number of each block: the median time of its calls.
    pub(crate) fn by_block(&self, blocks: &Blocks<'_>, timeout_ns: u64) -> BTreeMap<u32, Span> {
        let median = |calls: &[Call]| {
            let times: Vec<Span> = self.of(calls).map(|c| time(c, timeout_ns)).collect();
            stats::median(&times)
        };
        blocks
            .iter()
            .filter_map(|(&b, cell)| Some((b, median(&cell.calls)?)))
            .collect()
    }
}

/// Returns what is known of the time of a call. A call that failed early counts as at least the
/// timeout, because failing early is not being fast.
pub(crate) fn time(call: &Call, timeout_ns: u64) -> Span {
    match call.result {
        CallResult::Ok => Span::exact(call.end_ns as f64),
        CallResult::TimedOut => Span::at_least(call.end_ns as f64),
        CallResult::Error { .. } => Span::at_least(timeout_ns.max(call.end_ns) as f64),
    }
}
