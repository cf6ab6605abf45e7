//! The results block by block, in the order in which they were measured.

use maud::{Markup, html};
use page::{
    Axis, COUNT, TIME, WIDTH, at, color_class, figure, figures, grid_across, grid_up, line_classes,
};
use record::{CompactRun, Outcome};
use stats::Span;

use super::labels::{in_network, key};
use crate::figures::cells::CellIndex;
use crate::figures::population::Population;
use crate::summary::NetworkSummary;
use crate::words::number::duration;

const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 190.0;
const NAMES: f64 = 38.0;
/// With more points only those of noisy cells are drawn, and the lines.
const MAX_POINTS: usize = 300;

/// One arm along the blocks.
struct Line<'a> {
    name: &'a str,
    /// Index of the arm in the study.
    index: usize,
    points: Vec<Point>,
}

struct Point {
    block: u32,
    time: Span,
    noisy: bool,
}

/// Returns a figure for each measure that the recommendation is made from.
pub(super) fn blocks(
    network: &NetworkSummary,
    data: &CompactRun,
    cells: &CellIndex<'_>,
    populations: &[Population],
) -> Markup {
    let decisive = populations.iter().filter(|population| population.decisive);
    let drawn: Vec<Markup> = decisive
        .map(|population| {
            let lines: Vec<Line<'_>> = (network.arms.iter().enumerate())
                .map(|(index, arm)| {
                    let blocks = cells.first(&network.name, &arm.name);
                    let times = population.by_block(&blocks, data.run().timeout_ns);
                    let points = times.into_iter().map(|(block, time)| Point {
                        block,
                        time,
                        noisy: matches!(blocks[&block].outcome, Outcome::Noisy { .. }),
                    });
                    Line {
                        name: &arm.name,
                        index,
                        points: points.collect(),
                    }
                })
                .collect();
            drawn(&in_network(network, &population.label), &lines)
        })
        .collect();
    html! {
        @if drawn.iter().any(|figure| !figure.0.is_empty()) {
            (figures(&key(network), &drawn))
            p.note {
                "Each block's value in the order of measurement: a trend, or blocks that differ from all \
                 others, shows here. Hollow: the cell was noisy. A time that is only known to be longer, \
                 because requests timed out or failed, is drawn at its bound."
            }
        }
    }
}

fn drawn(title: &str, lines: &[Line<'_>]) -> Markup {
    let points = || lines.iter().flat_map(|line| &line.points);
    let last = points().map(|point| point.block).max().unwrap_or(0);
    let (Some(x), Some(y)) = (
        Axis::linear([0.0, f64::from(last + 1)], 1.0, [LEFT, RIGHT]),
        Axis::log(points().map(|point| point.time.lo), [BOTTOM, TOP]),
    ) else {
        return Markup::default();
    };
    // One block is no course.
    if last == 0 {
        return Markup::default();
    }
    let position = |point: &Point| (x.at(f64::from(point.block + 1)), y.at(point.time.lo));
    let with_points = points().count() <= MAX_POINTS;
    let body = html! {
        (grid_across(&x, [TOP, BOTTOM], "block", COUNT))
        (grid_up(&y, [LEFT, RIGHT], "time (logarithmic)", TIME))
        @for line in lines.iter().filter(|line| !line.points.is_empty()) {
            g data-arm=(line.index) {
                path class={ "curve " (line_classes(line.index)) }
                    d=(path(line.points.iter().map(position))) {}
                @for point in line.points.iter().filter(|point| point.noisy || with_points) {
                    @let (x, y) = position(point);
                    circle class={ (color_class(line.index)) (if point.noisy { " noisy" } else { " point" }) }
                        cx=(at(x)) cy=(at(y)) r=(if point.noisy { "4" } else { "2.5" }) {
                        title { (words(line.name, point)) }
                    }
                }
            }
            "\n"
        }
    };
    figure(title, "", BOTTOM + NAMES, &body)
}

fn path(positions: impl Iterator<Item = (f64, f64)>) -> String {
    let positions: Vec<String> = positions
        .map(|(x, y)| format!("{} {}", at(x), at(y)))
        .collect();
    format!("M{}", positions.join("L"))
}

fn words(name: &str, point: &Point) -> String {
    let bound = if point.time.known().is_none() {
        "at least "
    } else {
        ""
    };
    let noisy = if point.noisy { ", noisy" } else { "" };
    format!(
        "{name}, block {}: {bound}{}{noisy}",
        point.block + 1,
        duration(point.time.lo)
    )
}
