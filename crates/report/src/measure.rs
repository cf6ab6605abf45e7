//! Computes the figures of a population of calls.

use record::{Call, CallResult, Run};
use stats::{Level, Span};

use crate::cells::Blocks;
use crate::phases::phases;
use crate::population::{Population, time};
use crate::quantity::{Quantity, Unit};
use crate::summary::measure::{Measure, Part};

/// Returns the figures of a population on one network, without the comparison with the baseline.
pub(crate) fn measure(population: &Population, blocks: &Blocks<'_>, run: &Run) -> Measure {
    let calls: Vec<&Call> = blocks
        .values()
        .flat_map(|cell| population.of(&cell.calls))
        .collect();
    let count = |test: fn(&Call) -> bool| calls.iter().filter(|call| test(call)).count();
    let by_block: Vec<Span> = population
        .by_block(blocks, run.timeout_ns)
        .into_values()
        .collect();
    let estimate = |values: &[Span]| stats::estimate(values, Level::NINETY_FIVE);
    let times_by_block: Vec<Vec<Span>> = blocks
        .values()
        .map(|cell| {
            population
                .of(&cell.calls)
                .map(|c| time(c, run.timeout_ns))
                .collect()
        })
        .collect();
    let p95 = match stats::quantile(&times_by_block, 0.95, Level::NINETY_FIVE) {
        Some(stats::Quantile::WithinBlocks(estimate)) => Some(estimate),
        _ => None,
    };
    let goodput = || estimate(&goodput(population, blocks, run.timeout_ns));
    Measure {
        group: population.group.clone(),
        part: population.part,
        label: population.label.clone(),
        calls: calls.len(),
        timed_out: count(|call| call.result == CallResult::TimedOut),
        failed: count(|call| matches!(call.result, CallResult::Error { .. })),
        retried: count(|call| call.server_hits > 1),
        time: estimate(&by_block).map(|e| Quantity::new(&e, Unit::Ns)),
        p95: p95.map(|e| Quantity::new(&e, Unit::Ns)),
        goodput: (population.part == Part::Bulk)
            .then(goodput)
            .flatten()
            .map(|e| Quantity::new(&e, Unit::BitsPerSecond)),
        phases: phases(population, blocks),
        comparison: None,
        with_noisy: None,
    }
}

/// Returns the median goodput of each block in bit/s, from body bytes. A censored time gives a
/// bound.
fn goodput(population: &Population, blocks: &Blocks<'_>, timeout_ns: u64) -> Vec<Span> {
    let rate = |call: &Call| {
        let bytes = match call.result {
            CallResult::Ok => call.request_bytes.max(call.response_bytes),
            CallResult::TimedOut | CallResult::Error { .. } => population.bulk_bytes,
        };
        let bits = Span::exact(bytes as f64 * 8e9);
        // The clock may be too coarse to show any time at all.
        let time = time(call, timeout_ns).map_increasing(|ns| ns.max(1.0));
        bits.over(time)
    };
    let median =
        |calls: &[Call]| stats::median(&population.of(calls).map(rate).collect::<Vec<_>>());
    blocks
        .values()
        .filter_map(|cell| median(&cell.calls))
        .collect()
}
