//! Tables, and the line samples of arms in them.

use maud::{Markup, html};

/// Number of colours in the style sheet.
const COLORS: usize = 8;
/// Number of dash patterns in the style sheet. Differs from [`COLORS`] so that no two of the first
/// 40 arms look the same.
const DASHES: usize = 5;

/// Returns a table with a caption, in a box that scrolls on narrow screens. The first cell of each
/// row is its heading.
pub(super) fn table(caption: &str, headings: &[&str], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                        "\n"
                    }
                }
            }
        }
        "\n"
    }
}

/// Returns a cell of plain text.
pub(super) fn text(text: impl AsRef<str>) -> Markup {
    html! { (text.as_ref()) }
}

/// Returns the name of the arm at `index` in the study, behind its line sample.
pub(super) fn arm(index: usize, name: &str) -> Markup {
    html! { (line_sample(index)) (name) }
}

/// Returns the classes of the arm at `index` in the study: its colour and its dashes.
pub(super) fn line_classes(index: usize) -> String {
    format!("{} dash-{}", color_class(index), index % DASHES)
}

/// Returns the class of the colour of the arm at `index` in the study.
pub(super) fn color_class(index: usize) -> String {
    format!("arm-{}", index % COLORS)
}

/// Returns a sample of the line that represents an arm in the figures.
pub(super) fn line_sample(index: usize) -> Markup {
    html! {
        svg.swatch width="24" height="10" aria-hidden="true" {
            line x1="0" y1="5" x2="24" y2="5" class={ "curve " (line_classes(index)) } {}
        }
        " "
    }
}
