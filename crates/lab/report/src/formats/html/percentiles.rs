//! Percentiles of requests, and why some are not known.

use maud::{Markup, html};
use page::{arm, table, text};
use stats::{MIN_BLOCKS_FOR_POOLING, MIN_REQUESTS_BEYOND, fewest_requests};

use super::labels::{headings, in_network, measures};
use crate::figures::percentiles::PERCENTS;
use crate::summary::NetworkSummary;
use crate::summary::arm::ArmSummary;
use crate::summary::measure::{Measure, Part};
use crate::words::number::{Column, count};

/// Returns a table for each measure that consists of requests.
pub(super) fn percentiles(network: &NetworkSummary) -> Markup {
    let of_requests = |(_, measure): &(usize, &Measure)| {
        measure.part.is_by_request() && measure.part != Part::Load && measure.calls > 0
    };
    let measures = measures(network).iter().enumerate().filter(of_requests);
    let parts: Vec<Markup> = measures
        .map(|(m, measure)| percentiles_of(network, m, measure))
        .collect();
    html! {
        @for part in &parts { (part) }
    }
}

fn percentiles_of(network: &NetworkSummary, m: usize, measure: &Measure) -> Markup {
    let of = |arm: &ArmSummary, percent: u8| {
        let mut all = arm.measures[m].percentiles.iter();
        all.find(|p| p.percent == percent).cloned()
    };
    let all = network
        .arms
        .iter()
        .flat_map(|arm| &arm.measures[m].percentiles);
    let column = Column::over(all.clone().map(|p| &p.value));
    let missing: Vec<String> = (PERCENTS.into_iter())
        .filter(|percent| {
            network
                .arms
                .iter()
                .any(|arm| arm.measures[m].calls > 0 && of(arm, *percent).is_none())
        })
        .map(needs_words)
        .collect();
    let row = |(i, summary): (usize, &ArmSummary)| {
        let mut row = vec![arm(i, &summary.name)];
        row.extend(PERCENTS.map(|percent| {
            let found = of(summary, percent).zip(column.as_ref());
            text(found.map_or("-".to_owned(), |(p, column)| column.show(&p.value)))
        }));
        row.push(html! { (summary.measures[m].calls) });
        row
    };
    let rows: Vec<Vec<Markup>> = network.arms.iter().enumerate().map(row).collect();
    let unit = column.as_ref().map_or("", Column::unit);
    let names = PERCENTS.map(|percent| format!("p{percent}, {unit}"));
    let names = names.iter().map(String::as_str).chain(["requests"]);
    let blocks = measure.time.as_ref().map_or(0, |time| time.blocks);
    html! {
        @if column.is_some() {
            (table(&in_network(network, &measure.label), &headings("Arm", names), &rows))
        }
        @if !missing.is_empty() {
            p.note {
                @if column.is_none() { (measure.label) ": not known" } @else { "Not known" }
                " from " (count(measure.calls, "request")) " in " (count(blocks, "block")) ": "
                (missing.join(", ")) "."
            }
        }
        @if all.clone().any(|p| p.pooled) {
            p.note { "Without an interval: from the requests of all blocks together." }
        }
    }
}

/// Returns in words how many requests a percentile needs.
fn needs_words(percent: u8) -> String {
    let q = f64::from(percent) / 100.0;
    let in_all = (MIN_REQUESTS_BEYOND as f64 / (1.0 - q)).round();
    format!(
        "p{percent} needs {} in each block, or {in_all:.0} in {MIN_BLOCKS_FOR_POOLING} blocks",
        fewest_requests(q)
    )
}
