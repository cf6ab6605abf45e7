//! Sweeps: a table and a figure for each measure along the levels of a setting.

use maud::{Markup, html};
use page::{
    Axis, TIME, WIDTH, arm, at, color_class, figure, figures, grid_up, line_classes, table, tables,
    text,
};

use stats::Verdict;

use super::labels::headings;
use crate::summary::Summary;
use crate::summary::quantity::Quantity;
use crate::summary::sweep::{Sweep, Trend};
use crate::words::number::{Column, with_interval};
use crate::words::verdict::verdict_words;

/// Id and title of the section.
pub(super) const CONTENT: [&str; 2] = ["sweeps", "Along the swept settings"];

const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 200.0;
const NAMES: f64 = 38.0;
/// Room between the axis and the first level.
const INSET: f64 = 24.0;

/// Returns the section on sweeps; nothing where the study has none.
pub(super) fn sections(summary: &Summary) -> Markup {
    let plots: Vec<Markup> = summary.sweeps.iter().map(plot).collect();
    let trends: Vec<Markup> = summary.sweeps.iter().map(trends).collect();
    let arms = summary.sweeps.first().map_or(&[][..], |sweep| &sweep.arms);
    let key = page::key(arms.iter().map(|trend| (trend.index, trend.arm.as_str())));
    html! {
        @if !summary.sweeps.is_empty() {
            section id=(CONTENT[0]) {
                h2 { (CONTENT[1]) }
                (figures(&key, &plots))
                (tables(&trends))
            }
        }
    }
}

fn trends(sweep: &Sweep) -> Markup {
    let times = sweep
        .arms
        .iter()
        .flat_map(|trend| trend.times.iter().flatten());
    let Some(column) = Column::over(times) else {
        return Markup::default();
    };
    let levels: Vec<String> = (sweep.values.iter())
        .map(|value| format!("{value}, {}", column.unit()))
        .collect();
    let headings = headings("Arm", levels.iter().map(String::as_str).chain(["verdict"]));
    let cell = |(time, verdict): (&Option<Quantity>, &Option<Verdict>)| {
        html! {
            (time.as_ref().map_or("-".to_owned(), |time| column.show(time)))
            @if let Some(verdict) = verdict { " " (verdict_words(*verdict)) }
        }
    };
    let rows: Vec<Vec<Markup>> = (sweep.arms.iter())
        .map(|trend| {
            let mut row = vec![arm(trend.index, &trend.arm)];
            row.extend(trend.times.iter().zip(&trend.verdicts).map(cell));
            row.push(text(trend.words.as_deref().unwrap_or("baseline")));
            row
        })
        .collect();
    table(&sweep.title(), &headings, &rows)
}

/// Returns the times of all arms at each level, on a logarithmic axis: losses multiply times.
fn plot(sweep: &Sweep) -> Markup {
    let ends = |q: &Quantity| [q.value, q.low, q.high].into_iter().flatten();
    let all = (sweep.arms.iter()).flat_map(|trend| trend.times.iter().flatten().flat_map(ends));
    let Some(axis) = Axis::log(all, [BOTTOM, TOP]) else {
        return Markup::default();
    };
    let room = RIGHT - LEFT - 2.0 * INSET;
    let steps = (sweep.values.len().max(2) - 1) as f64;
    let x = |level: usize| LEFT + INSET + room * level as f64 / steps;
    let body = html! {
        (grid_up(&axis, [LEFT, RIGHT], "time (logarithmic)", TIME))
        @for (level, value) in sweep.values.iter().enumerate() {
            text x=(at(x(level))) y=(at(BOTTOM + 15.0)) text-anchor="middle" { (value) }
        }
        text.name x=(at((LEFT + RIGHT) / 2.0)) y=(at(BOTTOM + 31.0)) text-anchor="middle" { (sweep.setting) }
        "\n"
        @for trend in &sweep.arms { (line(trend, &sweep.values, &axis, &x)) "\n" }
    };
    figure(&sweep.title(), "", BOTTOM + NAMES, &body)
}

/// Returns one arm's line, broken where a level has no time, with its intervals.
fn line(trend: &Trend, values: &[String], axis: &Axis, x: &dyn Fn(usize) -> f64) -> Markup {
    let mut path = String::new();
    let mut pen = 'M';
    for (level, time) in trend.times.iter().enumerate() {
        match time.as_ref().and_then(|time| time.value) {
            Some(value) => {
                path += &format!("{pen}{} {}", at(x(level)), at(axis.at(value)));
                pen = 'L';
            }
            None => pen = 'M',
        }
    }
    html! {
        g data-arm=(trend.index) {
            path class={ "curve " (line_classes(trend.index)) } d=(path) {}
            @for (level, time) in trend.times.iter().enumerate() {
                @if let Some(time) = time {
                    g class=(color_class(trend.index)) {
                        title { (trend.arm) ", " (values[level]) ": " (with_interval(time)) }
                        @if let Quantity { low: Some(low), high: Some(high), .. } = time {
                            path.whisker
                                d={ "M" (at(x(level))) " " (at(axis.at(*low))) "V" (at(axis.at(*high))) } {}
                        }
                        @if let Some(value) = time.value {
                            circle.point cx=(at(x(level))) cy=(at(axis.at(value))) r="3" {}
                        }
                    }
                }
            }
        }
    }
}
