//! The figures of groups that are bound by time: rates, and percentiles from histograms.

use record::{CompactCell, Load, Pace, Run};
use stats::Span;

use crate::figures::cells::Blocks;
use crate::figures::estimate;
use crate::figures::histogram::quantile;
use crate::figures::population::Population;
use crate::summary::arm::ArmSummary;
use crate::summary::measure::{LoadFigures, LoadPercentile};
use crate::summary::quantity::{Quantity, Unit};
use crate::words::number::{count, with_interval};

/// The percentiles of a load, in percent.
const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// The note below the table.
pub(crate) const NOTE: &str = "Medians over blocks, of requests that started after the warm-up. Times of an \
    open loop count from the intended start; late sends started more than 1 ms after it.";

/// Returns the figures of a group on a network; `None` if no cell measured it.
pub(crate) fn figures(
    population: &Population,
    blocks: &Blocks<'_>,
    run: &Run,
) -> Option<LoadFigures> {
    let loads: Vec<&Load> = (blocks.values())
        .filter_map(|cell| population.load(cell))
        .collect();
    let plan = run
        .groups
        .iter()
        .find(|g| g.name == population.group)?
        .load?;
    loads.first()?;
    let median = |values: &[Span], unit| estimate::median(values, unit);
    let rate =
        |load: &&Load| Span::exact(load.succeeded() as f64 * 1e9 / load.measured_ns.max(1) as f64);
    let max = |load: &&Load| {
        let longest = load.distribution().ok()?.max_ns();
        match load.calls > load.succeeded() {
            true => Some(Span::at_least(run.timeout_ns as f64)),
            false => longest.map(|ns| Span::exact(ns as f64)),
        }
    };
    let percentile = |percent: f64| {
        let of_cell = |cell: &&CompactCell| {
            quantile(cell, &population.group, percent / 100.0, run.timeout_ns)
        };
        let values: Vec<Span> = blocks.values().filter_map(of_cell).collect();
        let value = (values.len() == blocks.len()).then(|| median(&values, Unit::Ns))??;
        Some(LoadPercentile { percent, value })
    };
    Some(LoadFigures {
        requests_per_second: median(&loads.iter().map(rate).collect::<Vec<_>>(), Unit::PerSecond),
        percentiles: PERCENTS.into_iter().filter_map(percentile).collect(),
        max: median(&loads.iter().filter_map(max).collect::<Vec<_>>(), Unit::Ns),
        late: match plan.pace {
            Pace::Outstanding(_) => None,
            Pace::RatePerS(_) => Some(loads.iter().map(|load| load.late).sum()),
        },
        out_of_steps: loads.iter().filter(|load| load.out_of_steps).count(),
    })
}

/// Returns the heading of the table.
pub(crate) fn heading(label: &str) -> String {
    format!("{label}: requests per second and their times")
}

/// Returns the table's columns for a measure, if any arm has figures: headings, and a text per arm.
pub(crate) fn columns(arms: &[ArmSummary], measure: usize) -> Option<Vec<(String, Vec<String>)>> {
    let of = |arm: &'_ ArmSummary| arm.measures[measure].load.clone();
    let any: Vec<LoadFigures> = arms.iter().filter_map(of).collect();
    any.first()?;
    let shown = |q: Option<&Quantity>| q.map_or("-".into(), with_interval);
    let column = |heading: String, text: &dyn Fn(&ArmSummary, &LoadFigures) -> String| {
        let texts = arms
            .iter()
            .map(|arm| of(arm).map_or("-".into(), |load| text(arm, &load)));
        (heading, texts.collect())
    };
    let mut columns = vec![column("requests/s".into(), &|_, load| {
        shown(load.requests_per_second.as_ref())
    })];
    for percent in PERCENTS {
        let has = |load: &LoadFigures| load.percentiles.iter().any(|p| p.percent == percent);
        if any.iter().any(has) {
            columns.push(column(format!("p{percent}"), &|_, load| {
                let found = load.percentiles.iter().find(|p| p.percent == percent);
                shown(found.map(|p| &p.value))
            }));
        }
    }
    columns.push(column("max".into(), &|_, load| shown(load.max.as_ref())));
    if any.iter().any(|load| load.late.is_some()) {
        columns.push(column("late sends".into(), &|_, load| {
            load.late.map_or("-".into(), |n| n.to_string())
        }));
    }
    columns.push(column("n · timed out · failed".into(), &|arm, _| {
        let of = &arm.measures[measure];
        format!("{} · {} · {}", of.calls, of.timed_out, of.failed)
    }));
    if any.iter().any(|load| load.out_of_steps > 0) {
        columns.push(column("out of steps".into(), &|_, load| {
            count(load.out_of_steps, "cell")
        }));
    }
    Some(columns)
}
