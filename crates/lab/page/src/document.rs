//! The document around a page's content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page before it is a file.
pub struct Document<'a> {
    /// The title of the browser's tab.
    pub title: &'a str,
    /// What stands above the content: the heading, and where the figures are from.
    pub head: Markup,
    /// The sections of `main`, by id and title, for the table of contents.
    pub contents: Vec<(String, String)>,
    /// The content.
    pub main: Markup,
}

impl Document<'_> {
    /// Returns the document as one HTML file.
    pub fn into_html(self) -> String {
        let policy = format!(
            "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
            hash(STYLE),
            hash(SCRIPT)
        );
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header { (self.head) }
                    "\n"
                    @if self.contents.len() > 1 {
                        nav aria-label="Contents" {
                            ul {
                                @for (id, title) in &self.contents {
                                    li { a href={ "#" (id) } { (title) } }
                                }
                            }
                        }
                        "\n"
                    }
                    main id="main" tabindex="-1" { (self.main) }
                    "\n"
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        // One pass over the document, so that no name is forgotten.
        neutral::lines(&document.into_string())
    }
}

/// Returns the hash by which a Content-Security-Policy allows inline text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreted_characters_are_replaced_and_names_escaped() {
        let document = Document {
            title: "a\u{202e}b<",
            head: html! { h1 { "\u{1b}[2J" } },
            contents: Vec::new(),
            main: html! { p { "x\ny\u{2067}" } },
        };
        let text = document.into_html();
        assert!(text.contains("<title>a\u{fffd}b&lt;</title>"), "{text}");
        assert!(text.contains("<h1>\u{fffd}[2J</h1>") && text.contains("<p>x\ny\u{fffd}</p>"));
    }

    /// A character that is replaced would change the hash.
    #[test]
    fn style_and_script_have_no_interpreted_characters() {
        assert_eq!(neutral::lines(STYLE), STYLE);
        assert_eq!(neutral::lines(SCRIPT), SCRIPT);
        assert!(!SCRIPT.contains("</"), "would end the script element");
    }
}
