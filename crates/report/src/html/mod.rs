//! The report as one page that is readable offline: no script, no font, no external resource.
//!
//! The order suits a reader with little time: where the figures are from, the answer, the best arms for each need, a forest plot
//! of all differences, the recommendation for each network, the figures behind it, their
//! distributions, then self-test and environment. Text from files is escaped by
//! `element::Text`; in addition the page's own policy forbids scripts.

mod appendix;
mod chart;
mod element;
mod forest;
mod head;
mod network;

use record::RunData;

use crate::summary::Summary;
use crate::wording::{a_a_line, cells_line};
use element::Text;

const STYLE: &str = include_str!("style.css");

/// Returns the report as one HTML file. `summary` must be the summary of `data`.
pub fn html(summary: &Summary, data: &RunData) -> String {
    let title = format!("{}: {}", summary.study, summary.question);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n{}<main>\n",
        Text(&title),
        head::head(summary, data),
    );
    if let Some(line) = a_a_line(&summary.a_a) {
        out += &format!("<p class=\"alarm\" role=\"alert\">{}</p>\n", Text(&line));
    }
    for line in &summary.invalid {
        out += &format!(
            "<p class=\"alarm\" role=\"alert\">Invalid: {}.</p>\n",
            Text(line)
        );
    }
    out += &format!("<p class=\"answer\">{}</p>\n", Text(&summary.answer));
    out += &network::needs(summary);
    out += &network::forests(summary);
    out += &network::cards(summary);
    out += &format!("<p>{}.</p>\n", cells_line(&summary.cells));
    out += &network::sections(summary, data);
    out += &appendix::sections(summary, data);
    out + "</main>\n</body>\n</html>\n"
}
