//! The report as one page that is readable offline: no script, no font, no external resource.
//!
//! The order suits a reader with little time: where the figures are from, the answer, the best arms
//! for each need, a forest plot of all differences, the recommendation for each network, the figures
//! behind it, their distributions, then self-test and environment. `maud` escapes all text; in
//! addition the page's own policy forbids scripts.
//!
//! The figures are SVG of our own: their colours come from the style sheet, for dark mode and print,
//! which plotting libraries do not offer.

mod appendix;
mod chart;
mod forest;
mod head;
mod network;
mod sending;
mod sweep;
mod table;
mod timeline;

use maud::{DOCTYPE, PreEscaped, html};
use record::RunData;

use crate::summary::Summary;
use crate::text::plain_lines;
use crate::wording::{a_a_line, cells_line};

const STYLE: &str = include_str!("style.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Returns the report as one HTML file. `summary` must be the summary of `data`.
pub fn html(summary: &Summary, data: &RunData) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (summary.study) ": " (summary.question) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head::head(summary, data))
                main {
                    @if let Some(line) = a_a_line(&summary.a_a) {
                        p.alarm role="alert" { (line) }
                    }
                    @for line in &summary.invalid {
                        p.alarm role="alert" { "Invalid: " (line) "." }
                    }
                    p.answer { (summary.answer) }
                    (network::needs(summary))
                    (network::forests(summary))
                    (network::cards(summary))
                    p { (cells_line(&summary.cells)) "." }
                    (sweep::sections(summary))
                    (network::sections(summary, data))
                    (appendix::sections(summary, data))
                }
            }
        }
    };
    // One pass over the page, so that no name is forgotten.
    plain_lines(&page.into_string())
}
