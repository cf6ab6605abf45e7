//! Calls become one number a block and measure.

use std::collections::BTreeMap;

use record::{Call, CallResult, Group, Run};
use stats::{Level, Span};

use crate::cells::Blocks;
use crate::{Measure, Part, Quantity, Unit};

/// One population of calls of the workload.
#[derive(Clone, Debug)]
pub(crate) struct Population {
    pub(crate) group: String,
    pub(crate) part: Part,
    pub(crate) label: String,
    /// Body bytes a call of a bulk group moves, when the call itself cannot say.
    bulk_bytes: u64,
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

    /// All figures of it but the comparison.
    pub(crate) fn measure(&self, blocks: &Blocks<'_>, run: &Run) -> Measure {
        let calls: Vec<&Call> = blocks
            .values()
            .flat_map(|cell| self.of(&cell.calls))
            .collect();
        let count = |test: fn(&Call) -> bool| calls.iter().filter(|call| test(call)).count();
        let by_block: Vec<Span> = self
            .by_block(blocks, run.timeout_ns)
            .into_values()
            .collect();
        let estimate = |values: &[Span]| stats::estimate(values, Level::NINETY_FIVE, run.seed);
        let pooled: Vec<Vec<Span>> = blocks
            .values()
            .map(|cell| {
                self.of(&cell.calls)
                    .map(|c| time(c, run.timeout_ns))
                    .collect()
            })
            .collect();
        let p95 = stats::pooled_quantile(&pooled, 0.95, Level::NINETY_FIVE, run.seed);
        let goodput = || estimate(&self.goodput(blocks, run.timeout_ns));
        Measure {
            group: self.group.clone(),
            part: self.part,
            label: self.label.clone(),
            calls: calls.len(),
            timed_out: count(|call| call.result == CallResult::TimedOut),
            failed: count(|call| matches!(call.result, CallResult::Error { .. })),
            retried: count(|call| call.server_hits > 1),
            time: estimate(&by_block).map(|e| Quantity::new(&e, Unit::Ns)),
            p95: p95.map(|e| Quantity::new(&e, Unit::Ns)),
            goodput: (self.part == Part::Bulk)
                .then(goodput)
                .flatten()
                .map(|e| Quantity::new(&e, Unit::BitsPerSecond)),
            parts: crate::parts::parts(self, blocks),
            comparison: None,
            with_noisy: None,
        }
    }

    /// Body bits over time, the median of each block. A censored time is a bound on it too.
    fn goodput(&self, blocks: &Blocks<'_>, timeout_ns: u64) -> Vec<Span> {
        let rate = |call: &Call| {
            let bytes = match call.result {
                CallResult::Ok => call.request_bytes.max(call.response_bytes),
                CallResult::TimedOut | CallResult::Error { .. } => self.bulk_bytes,
            };
            let bits = Span::exact(bytes as f64 * 8e9);
            // A time of 0 ns is a clock too coarse to see the call.
            let time = time(call, timeout_ns).map_increasing(|ns| ns.max(1.0));
            bits.over(time)
        };
        let of = |calls: &[Call]| stats::median(&self.of(calls).map(rate).collect::<Vec<_>>());
        blocks.values().filter_map(|cell| of(&cell.calls)).collect()
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
