//! One page, readable offline: no script, no font, no link that leaves the file.
//!
//! The order is that of a reader with little time: what to do on each network, what that rests
//! on, the shape behind the medians, then how far the lab itself can be believed. Whatever
//! comes from a file is escaped by [`Text`]; the page's own policy forbids scripts besides.

mod appendix;
mod chart;
mod network;

use std::fmt;

use record::RunData;

use crate::number::{count, duration};
use crate::summary::{AaCheck, Summary};
use crate::text::plain;
use crate::wording::{a_a_line, cells_line, self_test_words};

/// The report as one HTML file. `summary` is that of `data`.
pub fn html(summary: &Summary, data: &RunData) -> String {
    let title = format!("{}: {}", summary.study, summary.question);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<header>\n<p class=\"study\">{}</p>\n<h1>{}</h1>\n<p>seed {} · {} a network · {} \
         of measuring · {} · A/A check {}</p>\n</header>\n<main>\n",
        Text(&title),
        Text(&summary.study),
        Text(&summary.question),
        summary.seed,
        count(summary.blocks as usize, "block"),
        duration(summary.measured_ns as f64),
        self_test_words(summary),
        match summary.a_a {
            AaCheck::Absent => "absent",
            AaCheck::Passed => "passed",
            AaCheck::Failed { .. } => "failed",
        },
    );
    if let Some(line) = a_a_line(&summary.a_a) {
        out += &format!("<p class=\"alarm\" role=\"alert\">{}</p>\n", Text(&line));
    }
    out += &network::cards(summary);
    out += &format!("<p>{}.</p>\n", cells_line(&summary.cells));
    out += &network::sections(summary, data);
    out += &appendix::sections(summary, data);
    out + "</main>\n</body>\n</html>\n"
}

const STYLE: &str = include_str!("style.css");

/// Text from outside, for content and for quoted attributes: without control characters, and
/// with nothing that HTML would read as its own.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&html_escape::encode_quoted_attribute(&plain(self.0)))
    }
}

/// A table under a caption, in a box that scrolls by itself on a phone. The first cell of
/// each row heads it. Cells are HTML already.
fn table(caption: &str, heads: &[String], rows: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table>\n\
         <caption>{caption}</caption>\n<thead><tr>"
    );
    for head in heads {
        out += &format!("<th scope=\"col\">{head}</th>");
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        let (head, cells) = row
            .split_first()
            .map_or(("", &[][..]), |(h, c)| (h.as_str(), c));
        out += &format!("<tr><th scope=\"row\">{head}</th>");
        for cell in cells {
            out += &format!("<td>{cell}</td>");
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table>\n</div>\n"
}

/// Heads of a table that are known to be plain words.
fn heads(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_content_and_attributes() {
        let evil = "<script>\"a\" & 'b'\u{1b}\u{202e}";
        let safe = "&lt;script&gt;&quot;a&quot; &amp; &#x27;b&#x27;\u{fffd}\u{fffd}";
        assert_eq!(Text(evil).to_string(), safe);
    }
}
