//! Computes the figures of a population of calls.

use std::collections::BTreeMap;

use record::{CallResult, CompactCall, CompactCell, Load, Run};
use stats::Span;

use crate::figures::cells::Blocks;
use crate::figures::estimate;
use crate::figures::load;
use crate::figures::phases::phases;
use crate::figures::population::{Population, time};
use crate::summary::measure::{Measure, Part};
use crate::summary::quantity::{Quantity, Unit};

/// Returns the figures of a population on one network, without the comparison with the baseline.
pub(crate) fn measure(population: &Population, blocks: &Blocks<'_>, run: &Run) -> Measure {
    let calls: Vec<CompactCall<'_>> = blocks
        .values()
        .flat_map(|cell| population.of(&cell.calls))
        .collect();
    let count =
        |test: fn(CompactCall<'_>) -> bool| calls.iter().filter(|call| test(**call)).count();
    let by_block: Vec<Span> = population
        .by_block(blocks, run.timeout_ns)
        .into_values()
        .collect();
    let mut errors: BTreeMap<String, usize> = BTreeMap::new();
    for call in &calls {
        if let CallResult::Error { kind, detail } = call.result() {
            let error = match detail.starts_with(kind) {
                true => detail.clone(),
                false => format!("{kind}: {detail}"),
            };
            *errors.entry(error).or_default() += 1;
        }
    }
    let loads = || blocks.values().filter_map(|cell| population.load(cell));
    for load in loads() {
        for (error, n) in &load.errors {
            *errors.entry(error.clone()).or_default() += *n as usize;
        }
    }
    let of_loads = |number: fn(&Load) -> u64| loads().map(number).sum::<u64>() as usize;
    let bits = |cell: &CompactCell| -> Option<Span> {
        let bytes = population
            .of(&cell.calls)
            .map(|call| bytes(call, population))
            .sum::<u64>();
        let time = match population.part {
            Part::Whole => population.steps(cell, run.timeout_ns).get(0)?,
            _ => time(population.of(&cell.calls).next()?, run.timeout_ns),
        };
        // The clock may be too coarse to show any time at all.
        Some(Span::exact(bytes as f64 * 8e9).over(time.map_increasing(|ns| ns.max(1.0))))
    };
    let goodput: Vec<Span> = match population.bulk {
        true => blocks.values().filter_map(|cell| bits(cell)).collect(),
        false => Vec::new(),
    };
    let by_request = population.part.is_by_request();
    Measure {
        group: population.group.clone(),
        part: population.part,
        label: population.label.clone(),
        decisive: population.decisive,
        calls: calls.len() + of_loads(|load| load.calls),
        timed_out: count(|call| *call.result() == CallResult::TimedOut)
            + of_loads(|load| load.timed_out),
        failed: count(|call| matches!(call.result(), CallResult::Error { .. }))
            + of_loads(Load::failed),
        retried: count(|call| call.server_hits() > 1) + of_loads(|load| load.retried),
        errors,
        mean: mean(population, blocks, run, &by_block),
        time: estimate::median(&by_block, Unit::Ns),
        tail_percent: population.tail_percent,
        percentiles: match by_request {
            true => crate::figures::percentiles::percentiles(population, blocks, run.timeout_ns),
            false => Vec::new(),
        },
        goodput: estimate::median(&goodput, Unit::BitsPerSecond),
        load: match population.part {
            Part::Load => load::figures(population, blocks, run),
            _ => None,
        },
        phases: match by_request {
            true => phases(population, blocks),
            false => None,
        },
        comparison: None,
    }
}

/// Returns the mean of the requests, where it differs from the median by more than the margin.
fn mean(
    population: &Population,
    blocks: &Blocks<'_>,
    run: &Run,
    medians: &[Span],
) -> Option<Quantity> {
    if !population.part.is_by_request() || population.part == Part::Load {
        return None;
    }
    let of_cell = |cell: &&CompactCell| {
        mean_of(
            population
                .steps(cell, run.timeout_ns)
                .iter()
                .map(|(_, t)| t),
        )
    };
    let means: Vec<Span> = blocks.values().filter_map(of_cell).collect();
    let (mean, median) = (mean_of(means.iter().copied())?, stats::median(medians)?);
    let margin_ns = estimate::margin_ns(run, Some(median));
    let differs = (mean.lo - median.lo).abs() > margin_ns;
    differs.then(|| Quantity::without_interval(mean, means.len(), Unit::Ns))
}

fn mean_of(times: impl Iterator<Item = Span>) -> Option<Span> {
    let (n, sum) = times.fold((0, Span::exact(0.0)), |(n, sum), time| {
        let sum = Span {
            lo: sum.lo + time.lo,
            hi: sum.hi + time.hi,
        };
        (n + 1, sum)
    });
    (n > 0).then(|| sum.map_increasing(|ns| ns / f64::from(n)))
}

fn bytes(call: CompactCall<'_>, population: &Population) -> u64 {
    match call.result() {
        CallResult::Ok => call.request_bytes().max(call.response_bytes()),
        CallResult::TimedOut | CallResult::Error { .. } => population.bulk_bytes,
    }
}
