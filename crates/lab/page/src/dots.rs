//! A dot plot: a named row per thing, its values as dots on one logarithmic axis.

use maud::{Markup, html};

use crate::axis::{Axis, Units};
use crate::figure::{WIDTH, at, figure, grid_across, shortened};
use crate::key::color_class;

const LEFT: f64 = 10.0;
const RIGHT: f64 = WIDTH - 22.0;
const TOP: f64 = 4.0;
const ROW: f64 = 32.0;
const BOTTOM: f64 = 38.0;
/// Room for the words at the end of a row.
const WORDS: f64 = 80.0;

/// A row of a dot plot.
pub struct Row {
    /// What it is.
    pub name: String,
    /// A figure besides its dots, e.g. a size.
    pub words: String,
    /// The index of its colour.
    pub color: usize,
    /// Its values.
    pub dots: Vec<Dot>,
}

/// A value with its interval.
pub struct Dot {
    /// The value, above zero.
    pub value: f64,
    /// The lower and the upper end of its interval.
    pub ends: [f64; 2],
    /// Whether it is drawn hollow, to tell two kinds apart.
    pub hollow: bool,
    /// All of it in words.
    pub title: String,
}

/// Returns a dot plot; nothing without a dot. `name` is the axis's.
pub fn dots(title: &str, about: &str, rows: &[Row], name: &str, units: Units) -> Markup {
    let all = rows.iter().flat_map(|row| &row.dots);
    let ends = all.flat_map(|dot| [dot.ends[0], dot.value, dot.ends[1]]);
    let Some(axis) = Axis::log(ends, [LEFT, RIGHT]) else {
        return Markup::default();
    };
    let bottom = TOP + ROW * rows.len() as f64;
    let body = html! {
        (grid_across(&axis, [TOP, bottom], name, units))
        @for (i, row) in rows.iter().enumerate() { (drawn(row, &axis, TOP + ROW * i as f64)) }
    };
    figure(title, about, bottom + BOTTOM, &body)
}

fn drawn(row: &Row, axis: &Axis, top: f64) -> Markup {
    let (text, middle) = (at(top + 12.0), at(top + 22.0));
    html! {
        text.label x="0" y=(text) { (shortened(&row.name, WIDTH - WORDS)) }
        text x=(at(WIDTH)) y=(text) text-anchor="end" { (row.words) }
        g class=(color_class(row.color)) {
            @for dot in &row.dots {
                g {
                    title { (dot.title) }
                    path.interval d={ "M" (at(axis.at(dot.ends[0]))) " " (middle) "H" (at(axis.at(dot.ends[1]))) } {}
                    circle class=(if dot.hollow { "noisy" } else { "point" })
                        cx=(at(axis.at(dot.value))) cy=(middle) r="4.5" {}
                }
            }
        }
        "\n"
    }
}
