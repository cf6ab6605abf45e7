//! The report as one page that is readable offline: no script, no font, no external resource.
//!
//! The order suits a reader with little time: the answer, the best arms for each need, a forest plot
//! of all differences, the recommendation for each network, the figures behind it, their
//! distributions, then self-test and environment. Text from files is escaped by
//! `element::Text`; in addition the page's own policy forbids scripts.

mod appendix;
mod chart;
mod element;
mod forest;
mod network;

use record::RunData;

use crate::number::{count, duration};
use crate::summary::Summary;
use crate::wording::{a_a_line, cells_line, self_test_words};
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
         <body>\n<header>\n<p class=\"study\">{} · {} · commute {} on {}</p>\n<h1>{}</h1>\n<p>seed {} · {} per \
         network · {} of measurement · {} · A/A check {}</p>\n</header>\n<main>\n",
        Text(&title),
        Text(&summary.study),
        date(data.run().started_unix_ns),
        Text(&summary.commute),
        Text(&data.run().host.cpu),
        Text(&summary.question),
        summary.seed,
        count(summary.blocks as usize, "block"),
        duration(summary.measured_ns as f64),
        self_test_words(summary),
        summary.a_a.name(),
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

/// Returns the date, in UTC, of a time since the Unix epoch.
fn date(unix_ns: u64) -> String {
    time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ns)).map_or_else(
        |_| "unknown date".to_owned(),
        |time| time.date().to_string(),
    )
}
