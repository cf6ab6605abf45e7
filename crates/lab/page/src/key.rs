//! How arms are told apart: by colour and, for readers who cannot distinguish colours, by dashes.

use maud::{Markup, html};

/// Number of colours in the style sheet.
const COLORS: usize = 8;
/// Number of dash patterns in the style sheet. Differs from [`COLORS`] so that no two of the first
/// 40 arms look the same.
const DASHES: usize = 5;

/// Returns the name of the arm at `index`, behind a sample of its line. The script hides its row or
/// its column with it.
pub fn arm(index: usize, name: &str) -> Markup {
    html! {
        span.arm data-arm=(index) {
            svg.swatch width="24" height="10" aria-hidden="true" {
                line x1="0" y1="5" x2="24" y2="5" class={ "curve " (line_classes(index)) } {}
            }
            " " (name)
        }
    }
}

/// Returns the key to the lines of a group of figures.
pub fn key<'a>(arms: impl Iterator<Item = (usize, &'a str)>) -> Markup {
    html! {
        ul.key { @for (index, name) in arms { li { (arm(index, name)) } } }
        "\n"
    }
}

/// Returns the classes of the arm at `index`: its colour and its dashes.
pub fn line_classes(index: usize) -> String {
    format!("{} dash-{}", color_class(index), index % DASHES)
}

/// Returns the class of the colour of the arm at `index`.
pub fn color_class(index: usize) -> String {
    format!("arm-{}", index % COLORS)
}
