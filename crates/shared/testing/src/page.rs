//! Checks of a page in every view that its readers have.

use std::path::PathBuf;

use crate::{Browser, View, skip};

/// The folder that [`check_page`] writes pictures of every view to, if it is set.
const PICTURES: &str = "COMMUTE_PICTURES";

/// A phone, a tablet, a desktop, and A4 without margins.
const VIEWS: [(&str, View); 6] = [
    ("phone", screen(390, false)),
    ("phone-dark", screen(390, true)),
    ("tablet", screen(768, false)),
    ("desktop", screen(1400, false)),
    ("desktop-dark", screen(1400, true)),
    ("print", View::Print { width: 703 }),
];

const fn screen(width: u32, dark: bool) -> View {
    View::Screen { width, dark }
}

/// Asserts that a browser has no complaint about a page and that it passes axe-core. Also asserts that nothing of the
/// page is cut or too small to read in any view, folded and opened. Skips without a browser or without axe-core.
///
/// With `COMMUTE_PICTURES=FOLDER`, pictures of all views are written there, for people to look at.
#[track_caller]
pub fn check_page(name: &str, html: &str) {
    let Some(mut browser) = Browser::start() else {
        skip("no Chromium on PATH, and COMMUTE_BROWSER is not set");
        return;
    };
    let dir = tempfile::tempdir().expect("a folder for the page");
    let file = dir.path().join("page.html");
    std::fs::write(&file, html).expect("the page can be written");
    browser.open(&file);
    let pictures = std::env::var_os(PICTURES).map(PathBuf::from);
    let mut problems = Vec::new();
    let mut has_axe = true;
    for (view_name, view) in VIEWS {
        problems.extend(browser.layout_problems(view));
        match browser.accessibility_problems() {
            Some(broken) => problems.extend(broken.iter().map(|rule| format!("{view:?}: {rule}"))),
            None => has_axe = false,
        }
        if let Some(folder) = &pictures {
            let picture = folder.join(format!("{name}-{view_name}.png"));
            std::fs::write(picture, browser.picture()).expect("the picture can be written");
        }
    }
    browser.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })");
    for (_, view) in VIEWS {
        let opened = browser.layout_problems(view).into_iter();
        problems.extend(opened.map(|problem| format!("opened: {problem}")));
    }
    problems.extend(browser.complaints().iter().cloned());
    assert!(problems.is_empty(), "{name}: {problems:#?}");
    if !has_axe {
        skip("axe-core is not installed: npm ci --prefix crates/shared/testing/axe");
    }
}
