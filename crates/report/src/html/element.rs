//! Elements of the page: escaped text, tables, the line sample of an arm.

use std::fmt;

use crate::text::plain;

/// Number of colours in the style sheet.
const COLORS: usize = 8;
/// Number of dash patterns in the style sheet. Differs from [`COLORS`] so that no two of the first
/// 40 arms look the same.
const DASHES: usize = 5;

/// Untrusted text, escaped for content and for quoted attributes, without control characters.
pub(super) struct Text<'a>(pub(super) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&html_escape::encode_quoted_attribute(&plain(self.0)))
    }
}

/// Returns a table with a caption, in a box that scrolls on narrow screens. The first cell of each
/// row is its heading. Caption, headings and cells are HTML.
pub(super) fn table(caption: &str, headings: &[String], rows: &[Vec<String>]) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n<table>\n\
         <caption>{caption}</caption>\n<thead><tr>"
    );
    for heading in headings {
        out += &format!("<th scope=\"col\">{heading}</th>");
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in rows {
        let (heading, cells) = row
            .split_first()
            .map_or(("", &[][..]), |(h, c)| (h.as_str(), c));
        out += &format!("<tr><th scope=\"row\">{heading}</th>");
        for cell in cells {
            out += &format!("<td>{cell}</td>");
        }
        out += "</tr>\n";
    }
    out + "</tbody>\n</table>\n</div>\n"
}

/// Returns constant headings, which need no escaping.
pub(super) fn headings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns the classes of the arm at `index` in the study: its colour and its dashes.
pub(super) fn line_classes(index: usize) -> String {
    format!("arm-{} dash-{}", index % COLORS, index % DASHES)
}

/// Returns a sample of the line that represents an arm in the figures.
pub(super) fn line_sample(index: usize) -> String {
    format!(
        "<svg class=\"swatch\" width=\"24\" height=\"10\" aria-hidden=\"true\">\
         <line x1=\"0\" y1=\"5\" x2=\"24\" y2=\"5\" class=\"curve {}\"/></svg> ",
        line_classes(index)
    )
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
