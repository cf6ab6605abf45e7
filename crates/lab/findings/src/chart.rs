//! The published factors beside ours, as an SVG of its own: readable in light and dark, without script
//! or font.

use config::ConfigError;
use maud::{Markup, PreEscaped, html};
use report::Quantity;

use crate::claims::{Chart, Panel};
use crate::finding::Finding;
use crate::words::factor;

// Sizes in SVG user units.
const WIDTH: f64 = 760.0;
/// Where the plot begins and ends; labels are before it, figures behind it.
const LEFT: f64 = 220.0;
const RIGHT: f64 = 530.0;
const PUBLISHED: f64 = 600.0;
const OURS: f64 = 750.0;
const TOP: f64 = 44.0;
const TITLE: f64 = 30.0;
const ROW: f64 = 26.0;
const BOTTOM: f64 = 34.0;
/// Distance of the published mark above, and of ours below, the middle of a row.
const APART: f64 = 5.0;

/// Ticks within a decade, from few to many; the first that gives three are drawn.
const TICKS: [&[f64]; 3] = [
    &[1.0, 2.0, 5.0],
    &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
    &[0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5],
];

const STYLE: &str = "\
svg { --ink: #1c2127; --soft: #5b6470; --line: #d9dde2; --ours: #1f5fbf; --paper: #ffffff; \
font: 12px system-ui, sans-serif; background: var(--paper); } \
@media (prefers-color-scheme: dark) { svg { --ink: #e6e9ed; --soft: #a3acb8; --line: #343b44; \
--ours: #7fb0ff; --paper: #14171b; } } \
.paper { fill: var(--paper); } text { fill: var(--ink); } .soft { fill: var(--soft); } \
.title { font-weight: 600; } .grid { stroke: var(--line); } .one { stroke: var(--soft); } \
.published { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; } \
.ours { fill: var(--ours); } .interval { stroke: var(--ours); stroke-width: 2.5; } \
.curve { fill: none; stroke-width: 1.2; } .curve.published { fill: none; stroke-dasharray: 4 3; } \
.curve.ours { fill: none; stroke: var(--ours); }";

/// A row with its numbers.
struct Row<'a> {
    label: &'a str,
    published: Option<f64>,
    ours: Option<Quantity>,
}

/// Returns the chart of a study.
pub(crate) fn svg(finding: &Finding, chart: &Chart) -> Result<String, ConfigError> {
    let panels: Vec<(&Panel, Vec<Row<'_>>)> = chart
        .panels
        .iter()
        .map(|panel| Ok((panel, rows(finding, panel)?)))
        .collect::<Result<_, ConfigError>>()?;
    let axis = Axis::over(panels.iter().flat_map(|(_, rows)| rows).flat_map(ends));
    let height_of = |rows: &[Row<'_>]| TITLE + ROW * rows.len() as f64 + BOTTOM;
    let mut top = TOP;
    let mut body = Vec::new();
    for (panel, rows) in &panels {
        body.push(drawn(panel, rows, &axis, top));
        top += height_of(rows);
    }
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (top) } width=(WIDTH)
            height=(top) role="img" aria-label=(chart.title) {
            "\n" style { (PreEscaped(STYLE)) }
            "\n" rect.paper width=(WIDTH) height=(top) {}
            "\n" text.title x="10" y="20" { (chart.title) }
            (diamond(PUBLISHED - 70.0, 38.0))
            text x=(at(PUBLISHED)) y="42" text-anchor="end" { "published" }
            circle.ours cx=(at(OURS - 36.0)) cy="38" r="4.5" {}
            text x=(at(OURS)) y="42" text-anchor="end" { "ours" }
            "\n"
            @for panel in &body { (panel) }
        }
    };
    Ok(svg.into_string() + "\n")
}

fn rows<'a>(finding: &Finding, panel: &'a Panel) -> Result<Vec<Row<'a>>, ConfigError> {
    let row = |row: &'a crate::claims::Row| {
        let published = row
            .published
            .as_ref()
            .map(|of| finding.find(of))
            .transpose()?;
        Ok(Row {
            label: &row.label,
            published: published.map(|(_, value)| value),
            ours: row.ours.as_ref().and_then(|pair| finding.speedup(pair)),
        })
    };
    panel.rows.iter().map(row).collect()
}

/// Returns every number of a row that the axis must cover.
fn ends<'a>(row: &'a Row<'_>) -> impl Iterator<Item = f64> + 'a {
    let ours = row
        .ours
        .iter()
        .flat_map(|q| [q.value, q.low, q.high])
        .flatten();
    row.published.into_iter().chain(ours)
}

fn drawn(panel: &Panel, rows: &[Row<'_>], axis: &Axis, top: f64) -> Markup {
    let (first, bottom) = (top + TITLE, top + TITLE + ROW * rows.len() as f64);
    let middle = |i: usize| first + ROW * (i as f64 + 0.5);
    let curve = |value: &dyn Fn(&Row<'_>) -> Option<f64>, shift: f64| {
        let points = rows.iter().enumerate();
        let points = points.filter_map(|(i, row)| Some((axis.x(value(row)?), middle(i) + shift)));
        let points: Vec<String> = points
            .map(|(x, y)| format!("{} {}", at(x), at(y)))
            .collect();
        format!("M{}", points.join("L"))
    };
    html! {
        text.title x="10" y=(at(top + 20.0)) { (panel.title) }
        @for tick in &axis.ticks {
            @let x = at(axis.x(*tick));
            line class=(if *tick == 1.0 { "one" } else { "grid" }) x1=(x) y1=(at(first)) x2=(x)
                y2=(at(bottom)) {}
            text.soft x=(x) y=(at(bottom + 15.0)) text-anchor="middle" { (tick) "x" }
        }
        "\n"
        @if panel.curve {
            path class="curve published" d=(curve(&|row| row.published, -APART)) {}
            path class="curve ours" d=(curve(&|row| row.ours.as_ref()?.value, APART)) {}
            "\n"
        }
        @for (i, row) in rows.iter().enumerate() {
            @let (y, text) = (middle(i), at(middle(i) + 4.0));
            text x=(at(LEFT - 10.0)) y=(text) text-anchor="end" { (row.label) }
            @match row.published {
                Some(value) => {
                    (diamond(axis.x(value), y - APART))
                    text x=(at(PUBLISHED)) y=(text) text-anchor="end" { (format!("{value:.2}x")) }
                }
                None => text.soft x=(at(PUBLISHED)) y=(text) text-anchor="end" { "none" },
            }
            @match &row.ours {
                Some(q) => (estimate(q, axis, y + APART, &text)),
                None => text.soft x=(at(OURS)) y=(text) text-anchor="end" { "not run" },
            }
            "\n"
        }
    }
}

/// Draws our factor with its interval; an open end runs to the edge of the plot.
fn estimate(q: &Quantity, axis: &Axis, y: f64, text: &str) -> Markup {
    let low = q.low.filter(|x| *x > 0.0).map_or(LEFT, |x| axis.x(x));
    let high = q.high.map_or(RIGHT, |x| axis.x(x));
    html! {
        line.interval x1=(at(low)) y1=(at(y)) x2=(at(high)) y2=(at(y)) {}
        @if let Some(value) = q.value.filter(|x| *x > 0.0) {
            circle.ours cx=(at(axis.x(value))) cy=(at(y)) r="4.5" {}
        }
        text x=(at(OURS)) y=(text) text-anchor="end" { (factor(q)) }
    }
}

fn diamond(x: f64, y: f64) -> Markup {
    html! { path.published d={ "M" (at(x)) " " (at(y - 5.0)) "l5 5l-5 5l-5 -5z" } {} }
}

/// A logarithmic axis of factors.
struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// Returns an axis over all positive values and 1, no difference.
    fn over(values: impl Iterator<Item = f64>) -> Axis {
        let values: Vec<f64> = values.filter(|x| *x > 0.0 && x.is_finite()).collect();
        let low = values.iter().copied().fold(1.0, f64::min) / 1.1;
        let high = values.iter().copied().fold(1.0, f64::max) * 1.1;
        let within = |ticks: &&[f64]| -> Vec<f64> {
            let decades = (-3..6).flat_map(|power| {
                // Division by a power of ten is exact to the last digit; multiplication is not.
                ticks.iter().map(move |tick| match power < 0 {
                    true => tick / 10f64.powi(-power),
                    false => tick * 10f64.powi(power),
                })
            });
            let mut ticks: Vec<f64> = decades.filter(|tick| (low..=high).contains(tick)).collect();
            ticks.sort_by(f64::total_cmp);
            ticks.dedup();
            ticks
        };
        let choices: Vec<Vec<f64>> = TICKS.iter().map(within).collect();
        let enough = choices.iter().find(|ticks| ticks.len() >= 3);
        let ticks = enough.or(choices.last()).cloned().unwrap_or_default();
        Axis { low, high, ticks }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value / self.low).ln() / (self.high / self.low).ln() * (RIGHT - LEFT)
    }
}

/// Formats a coordinate.
fn at(units: f64) -> String {
    format!("{units:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_cover_their_values_and_one() {
        for (values, ticks) in [
            (vec![1.5, 7.9], vec![1.0, 2.0, 5.0]),
            (vec![1.8, 1.9], vec![1.0, 1.5, 2.0]),
            (vec![0.95, 1.05], vec![0.9, 1.0, 1.1]),
            (vec![0.3, 12.0], vec![0.5, 1.0, 2.0, 5.0, 10.0]),
        ] {
            let axis = Axis::over(values.iter().copied());
            assert_eq!(axis.ticks, ticks, "{values:?}");
            let inside = |x: &f64| (LEFT..=RIGHT).contains(&axis.x(*x));
            assert!(values.iter().chain(&[1.0]).all(inside));
        }
    }
}
