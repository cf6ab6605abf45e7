//! Tables.

use maud::{Markup, html};

/// Returns a table with a caption, in a box that scrolls on narrow screens. The first cell of each
/// row is its heading and stays in sight.
pub fn table(caption: &str, headings: &[Markup], rows: &[Vec<Markup>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { span { (caption) } }
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

/// From so many columns on, a list reads better than a table even on a desktop.
const MANY_COLUMNS: usize = 8;

/// Returns a table that is never wider than the page: on phones, and everywhere if it has many columns, each
/// row is a list of its cells, each with its heading. For what a reader must not miss.
pub fn list_table(caption: &str, headings: &[&str], rows: &[Vec<Markup>]) -> Markup {
    let class = match headings.len() >= MANY_COLUMNS {
        true => "list always",
        false => "list",
    };
    html! {
        div class=(class) {
            table {
                caption { (caption) }
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @if i == 0 { th scope="row" { (cell) } }
                                @else { td data-heading=(headings.get(i).unwrap_or(&"")) { (cell) } }
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

/// Returns a part of a page that is folded away until a reader wants it; on paper, too.
pub fn fold(title: &str, open: bool, content: &Markup) -> Markup {
    html! {
        details.fold open[open] {
            summary { h3 { (title) } }
            (content)
        }
        "\n"
    }
}

/// Returns a cell of plain text.
pub fn text(text: impl AsRef<str>) -> Markup {
    html! { (text.as_ref()) }
}

/// Returns tables beside each other where the screen is wide enough.
pub fn tables(tables: &[Markup]) -> Markup {
    html! { div.tables { @for table in tables { (table) } } "\n" }
}
