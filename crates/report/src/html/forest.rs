//! A forest plot: the difference of every arm from the baseline in one measure, with its interval,
//! zero and the margin.

use maud::{Markup, html};
use stats::Verdict;

use super::chart::{Axis, WIDTH, at, figure};
use crate::number::{percent, size};
use crate::summary::measure::Comparison;
use crate::wording::{range_words, verdict_words};

/// Room for the names of arms and for the words of verdicts.
const NAMES: f64 = 150.0;
const WORDS: f64 = 150.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 26.0;
const ROW: f64 = 24.0;

/// One arm of the plot.
pub(super) struct Row<'a> {
    pub(super) name: &'a str,
    pub(super) comparison: &'a Comparison,
}

/// Returns the plot; empty without a comparison.
pub(super) fn forest(title: &str, rows: &[Row<'_>]) -> Markup {
    let ends = rows.iter().flat_map(|row| {
        let Comparison {
            difference,
            margin_ns,
            ..
        } = row.comparison;
        let ends = [difference.low, difference.value, difference.high];
        ends.into_iter().flatten().chain([*margin_ns, -margin_ns])
    });
    let ends: Vec<f64> = ends.collect();
    let (left, right) = (NAMES, WIDTH - WORDS);
    let Some(axis) = Axis::over(&ends, left, right).filter(|_| !rows.is_empty()) else {
        return Markup::default();
    };
    let height = TOP + BOTTOM + ROW * rows.len() as f64;
    let bottom = height - BOTTOM;
    let zero = at(axis.x(0.0));
    let body = html! {
        (axis.grid(TOP, bottom))
        @for (i, row) in rows.iter().enumerate() {
            @let (from, to) = (axis.x(-row.comparison.margin_ns), axis.x(row.comparison.margin_ns));
            rect.margin x=(at(from)) y=(at(TOP + ROW * i as f64 + 2.0)) width=(at(to - from))
                height=(at(ROW - 4.0)) {}
        }
        text x=(at(left)) y="14" { "faster" }
        text x=(at(right)) y="14" text-anchor="end" { "slower" }
        line.zero x1=(zero) y1=(at(TOP)) x2=(zero) y2=(at(bottom)) {}
        @for (i, row) in rows.iter().enumerate() { (drawn(row, &axis, TOP + ROW * i as f64)) }
    };
    figure(title, [WIDTH, height], &body, &Markup::default())
}

fn drawn(row: &Row<'_>, axis: &Axis, top: f64) -> Markup {
    let Comparison {
        difference,
        verdict,
        ..
    } = row.comparison;
    let (middle, text) = (at(top + ROW / 2.0), at(top + ROW / 2.0 + 4.0));
    let class = verdict_words(*verdict).replace(' ', "-");
    // An unbounded end runs to the edge of the plot.
    let low = at(difference.low.map_or(axis.left, |low| axis.x(low)));
    let high = at(difference.high.map_or(axis.right, |high| axis.x(high)));
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
        text x=(at(NAMES - 8.0)) y=(text) text-anchor="end" { (row.name) }
        g class=(class) {
            title { (row.name) ", " (interval) }
            path.interval d={ "M" (low) " " (middle) "H" (high) } {}
            @if let Some(value) = difference.value {
                circle.estimate cx=(at(axis.x(value))) cy=(middle) r="4" {}
            }
            text x=(at(axis.right + 8.0)) y=(text) { (words) }
        }
        "\n"
    }
}
