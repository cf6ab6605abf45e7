//! Names as strangers may choose them, and what a browser makes of pages with them.

use pulldown_cmark::{Options, Parser, html};

use crate::{Browser, skip};

/// A name that tries everything: a formula of a spreadsheet, markup and links that run a script, a reference to a
/// character, a code span, escape sequences, marks of direction, and a character without a width.
pub const HOSTILE_NAME: &str = "=1+1<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>\
    [a](javascript:document.title='ran')![b][c]&#8238;|`*d*`\u{1b}[8m\u{9b}31m\u{202e}\u{2066}\u{200b}";
/// The characters of it that a page must not have.
pub const INTERPRETED: [char; 5] = ['\u{1b}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200b}'];

/// Returns what a site such as GitHub makes of Markdown, without the cleaning that it adds.
pub fn rendered(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut body = String::new();
    html::push_html(&mut body, Parser::new_ext(markdown, options));
    format!("<!DOCTYPE html><meta charset=\"utf-8\"><title>page</title><body>{body}</body>")
}

/// Asserts that a page shows [`HOSTILE_NAME`], and that the name did nothing: no script ran, there is no picture and no
/// link of its own, and no text runs backwards. Skips without a browser.
///
/// The page must have no pictures or foreign links itself.
#[track_caller]
pub fn check_harmless(page_name: &str, page: &str) {
    let Some(mut browser) = Browser::start() else {
        skip("no Chromium on PATH, and COMMUTE_BROWSER is not set");
        return;
    };
    let dir = tempfile::tempdir().expect("a folder for the page");
    let end = if page.starts_with("<svg") {
        "svg"
    } else {
        "html"
    };
    let file = dir.path().join("page").with_extension(end);
    std::fs::write(&file, page).expect("the page can be written");
    browser.open(&file);
    let shown = browser.evaluate("document.documentElement.textContent");
    let shown = shown.as_str().expect("a page has text");
    assert!(shown.contains("=1+1<img"), "{page_name}: {shown}");
    assert!(!shown.contains(INTERPRETED), "{page_name}: {shown}");
    for (what, none) in [
        ("a script ran", "document.title === 'ran'"),
        (
            "there is a picture",
            "document.querySelector('img, image') !== null",
        ),
        (
            "there is a link to a script",
            "[...document.querySelectorAll('a')].some(a => (a.href.baseVal ?? a.href).startsWith('javascript:'))",
        ),
        (
            "an element handles events",
            "[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))",
        ),
    ] {
        assert_eq!(browser.evaluate(none), false, "{page_name}: {what}");
    }
}
