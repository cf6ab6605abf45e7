//! Calls become one number a block and population.

use std::collections::BTreeMap;

use record::{Call, CallResult, Group, Run};
use stats::Span;

use crate::cells::Blocks;
use crate::summary::Part;

/// One population of calls of the workload.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub(crate) group: String,
    pub(crate) part: Part,
    pub(crate) label: String,
    /// Body bytes a call of a bulk group moves, when the call itself cannot say.
    pub(crate) bulk_bytes: u64,
}

/// The populations of a study: each small group in two parts, each bulk group whole.
pub(crate) fn populations(run: &Run) -> Vec<Population> {
    let small = run.groups.iter().filter(|g| !g.bulk).count();
    let named = |group: &Group, one: &str| match small {
        1 => one.to_owned(),
        _ => format!("{} {one}", group.name),
    };
    let of = |group: &Group, part, label| Population {
        group: group.name.clone(),
        part,
        label,
        bulk_bytes: group.response_bytes,
    };
    run.groups
        .iter()
        .flat_map(|group| match group.bulk {
            true => vec![of(group, Part::Bulk, group.name.clone())],
            false => vec![
                of(group, Part::First, named(group, "first call")),
                of(group, Part::Rest, named(group, "later calls")),
            ],
        })
        .collect()
}

impl Population {
    /// The calls of it in a cell.
    pub(crate) fn of<'a>(&self, calls: &'a [Call]) -> impl Iterator<Item = &'a Call> {
        let (group, part) = (self.group.clone(), self.part);
        calls.iter().filter(move |call| {
            call.group == group
                && match part {
                    Part::First => call.first,
                    Part::Rest => !call.first,
                    Part::Bulk => true,
                }
        })
    }

    /// The block's number: the median of its calls.
    pub(crate) fn by_block(&self, blocks: &Blocks<'_>, timeout_ns: u64) -> BTreeMap<u32, Span> {
        let of = |calls: &[Call]| {
            let times: Vec<Span> = self.of(calls).map(|c| time(c, timeout_ns)).collect();
            stats::median(&times)
        };
        blocks
            .iter()
            .filter_map(|(&b, cell)| Some((b, of(&cell.calls)?)))
            .collect()
    }
}

/// What is known of the time of a call. One that failed before its time-out never answered,
/// however early it gave up, so it is not allowed to look quick: at least the time-out.
pub(crate) fn time(call: &Call, timeout_ns: u64) -> Span {
    match call.result {
        CallResult::Ok => Span::exact(call.end_ns as f64),
        CallResult::TimedOut => Span::at_least(call.end_ns as f64),
        CallResult::Error { .. } => Span::at_least(timeout_ns.max(call.end_ns) as f64),
    }
}
