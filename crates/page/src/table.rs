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

/// Returns a cell of plain text.
pub fn text(text: impl AsRef<str>) -> Markup {
    html! { (text.as_ref()) }
}

/// Returns tables beside each other where the screen is wide enough.
pub fn tables(tables: &[Markup]) -> Markup {
    html! { div.tables { @for table in tables { (table) } } "\n" }
}
