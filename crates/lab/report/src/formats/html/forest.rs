//! Forest plots: the difference of every arm from the baseline in one measure, with its interval, zero
//! and the margin.

use maud::{Markup, html};
use page::{Axis, TIME, WIDTH, at, figure, figures, grid_across, shortened};
use stats::Verdict;

use super::labels::{in_network, measures};
use super::verdicts::class_of;
use crate::answer::wording::range_words;
use crate::summary::measure::{Comparison, Measure};
use crate::summary::{NetworkSummary, Summary};
use crate::words::number::{percent, size};
use crate::words::verdict::verdict_words;

const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 38.0;
const ROW: f64 = 38.0;
/// Room for a row's words above its interval.
const WORDS_HEIGHT: f64 = 18.0;
/// Room for the words of a verdict.
const WORDS: f64 = 130.0;

/// One arm of the plot.
struct Row<'a> {
    name: &'a str,
    /// Index of the arm in the study.
    index: usize,
    comparison: &'a Comparison,
}

/// Returns the forest plots of all networks, of the measures that the recommendation is made from.
pub(super) fn decisive(summary: &Summary) -> Markup {
    let of_network = |network| plots(network, &summary.baseline, |measure| measure.decisive);
    let plots: Vec<Markup> = summary.networks.iter().flat_map(of_network).collect();
    figures(&Markup::default(), &plots)
}

/// Returns the forest plots of a network's other measures.
pub(super) fn others(network: &NetworkSummary, baseline: &str) -> Markup {
    let plots = plots(network, baseline, |measure| !measure.decisive);
    figures(&Markup::default(), &plots)
}

fn plots(network: &NetworkSummary, baseline: &str, wanted: fn(&Measure) -> bool) -> Vec<Markup> {
    let plot = |(m, measure): (usize, &Measure)| {
        let arms = network.arms.iter().enumerate();
        let rows = arms.filter_map(|(index, arm)| {
            Some(Row {
                name: &arm.name,
                index,
                comparison: arm.measures[m].comparison.as_ref()?,
            })
        });
        let title = format!("{}: difference from {baseline}", measure.label);
        forest(&in_network(network, &title), &rows.collect::<Vec<_>>())
    };
    let measures = measures(network).iter().enumerate();
    measures
        .filter(|(_, measure)| wanted(measure))
        .map(plot)
        .collect()
}

/// Returns the plot; empty without a comparison.
fn forest(title: &str, rows: &[Row<'_>]) -> Markup {
    let ends = rows.iter().flat_map(|row| {
        let Comparison {
            difference,
            margin_ns,
            ..
        } = row.comparison;
        let ends = [difference.low, difference.value, difference.high];
        ends.into_iter().flatten().chain([*margin_ns, -margin_ns])
    });
    let Some(axis) = Axis::linear(ends, 1e3, [LEFT, RIGHT]) else {
        return Markup::default();
    };
    let bottom = TOP + ROW * rows.len() as f64;
    let zero = at(axis.at(0.0));
    let body = html! {
        @for (i, row) in rows.iter().enumerate() {
            @let (from, to) = (axis.at(-row.comparison.margin_ns), axis.at(row.comparison.margin_ns));
            @let top = TOP + ROW * i as f64 + WORDS_HEIGHT;
            rect.margin x=(at(from)) y=(at(top)) width=(at(to - from)) height=(at(ROW - 20.0)) {}
            // Not through the words above.
            line.zero x1=(zero) y1=(at(top - 2.0)) x2=(zero) y2=(at(top + ROW - WORDS_HEIGHT)) {}
        }
        text.name x=(at(LEFT)) y="11" { "← faster" }
        text.name x=(at(RIGHT)) y="11" text-anchor="end" { "slower →" }
        (grid_across(&axis, [bottom - 4.0, bottom], "difference, with its interval", TIME))
        @for (i, row) in rows.iter().enumerate() { (drawn(row, &axis, TOP + ROW * i as f64)) }
    };
    figure(title, "", bottom + BOTTOM, &body)
}

fn drawn(row: &Row<'_>, axis: &Axis, top: f64) -> Markup {
    let Comparison {
        difference,
        verdict,
        ..
    } = row.comparison;
    let (text, middle) = (at(top + 13.0), at(top + 27.0));
    // An unbounded end runs to the edge of the plot.
    let low = at(difference.low.map_or(LEFT, |low| axis.at(low)));
    let high = at(difference.high.map_or(RIGHT, |high| axis.at(high)));
    let interval = match range_words(row.comparison) {
        Some(range) => format!("{}: {range}", percent(difference.coverage)),
        None => "unbounded".to_owned(),
    };
    let words = match (verdict, size(difference, *verdict == Verdict::Faster)) {
        (Verdict::Faster | Verdict::Slower, Some(size)) => {
            format!("{} {}", size.value, verdict_words(*verdict))
        }
        _ => verdict_words(*verdict).to_owned(),
    };
    html! {
        g data-arm=(row.index) {
            text.label x=(at(LEFT)) y=(text) { (shortened(row.name, RIGHT - LEFT - WORDS)) }
            g class=(class_of(*verdict)) {
                title { (row.name) ": " (words) " (" (interval) ")" }
                path.interval d={ "M" (low) " " (middle) "H" (high) } {}
                @if let Some(value) = difference.value {
                    circle.estimate cx=(at(axis.at(value))) cy=(middle) r="4.5" {}
                }
                text x=(at(RIGHT)) y=(text) text-anchor="end" { (words) }
            }
        }
        "\n"
    }
}
