//! A forest plot: the difference of every arm from the baseline in one measure, with its interval,
//! zero and the margin.

use stats::Verdict;

use super::chart::{Axis, WIDTH};
use super::element::Text;
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
pub(super) fn forest(title: &str, rows: &[Row<'_>]) -> String {
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
        return String::new();
    };
    let height = TOP + BOTTOM + ROW * rows.len() as f64;
    let bottom = height - BOTTOM;
    let mut body = axis.grid(TOP, bottom);
    for (i, row) in rows.iter().enumerate() {
        let margin_ns = row.comparison.margin_ns;
        let (from, to) = (axis.x(-margin_ns), axis.x(margin_ns));
        body += &format!(
            "<rect class=\"margin\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
            TOP + ROW * i as f64 + 2.0,
            to - from,
            ROW - 4.0
        );
    }
    body += &format!(
        "<text x=\"{left:.1}\" y=\"14\">faster</text>\
         <text x=\"{right:.1}\" y=\"14\" text-anchor=\"end\">slower</text>\n\
         <line class=\"zero\" x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{bottom:.1}\"/>\n",
        axis.x(0.0)
    );
    for (i, row) in rows.iter().enumerate() {
        body += &drawn(row, &axis, TOP + ROW * i as f64);
    }
    let title = Text(title);
    format!(
        "<figure>\n<figcaption>{title}</figcaption>\n\
         <svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n{body}</svg>\n\
         </figure>\n"
    )
}

fn drawn(row: &Row<'_>, axis: &Axis, top: f64) -> String {
    let Comparison {
        difference,
        verdict,
        ..
    } = row.comparison;
    let (middle, text) = (top + ROW / 2.0, top + ROW / 2.0 + 4.0);
    let class = verdict_words(*verdict).replace(' ', "-");
    let mut out = format!(
        "<text x=\"{:.1}\" y=\"{text:.1}\" text-anchor=\"end\">{}</text>\n",
        NAMES - 8.0,
        Text(row.name)
    );
    // An unbounded end runs to the edge of the plot.
    let low = difference.low.map_or(axis.left, |low| axis.x(low));
    let high = difference.high.map_or(axis.right, |high| axis.x(high));
    let interval = match range_words(row.comparison) {
        Some(range) => format!("{}: {range}", percent(difference.coverage)),
        None => "unbounded".to_owned(),
    };
    out += &format!(
        "<g class=\"{class}\"><title>{}</title><path class=\"interval\" \
         d=\"M{low:.1} {middle:.1}H{high:.1}\"/>",
        Text(&format!("{}, {interval}", row.name))
    );
    if let Some(value) = difference.value {
        let x = axis.x(value);
        out += &format!("<circle class=\"estimate\" cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"4\"/>");
    }
    let words = match (verdict, size(difference, *verdict == Verdict::Faster)) {
        (Verdict::Faster | Verdict::Slower, Some(size)) => {
            format!("{} {}", size.value, verdict_words(*verdict))
        }
        _ => verdict_words(*verdict).to_owned(),
    };
    out + &format!(
        "<text x=\"{:.1}\" y=\"{text:.1}\">{}</text></g>\n",
        axis.right + 8.0,
        Text(&words)
    )
}
