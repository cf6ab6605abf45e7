//! The HTML page: well-formed, offline and escaped; loaded by a real browser if there is one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use invented::{data, exchanging, quickstart};
use record::RunData;
use report::{html, summarise};

fn page(data: &RunData) -> String {
    html(&summarise(data), data)
}

fn quickstart_page() -> String {
    let data = data(&quickstart(), &["true-metro", "4g-tether"], 10, 1);
    // With exchanges, so that their tables are checked too.
    page(&exchanging(&data))
}

#[test]
fn page_has_no_external_references() {
    let page = quickstart_page();
    for outside in [
        "http://", "https://", "//cdn", "src=", "@import", "url(", "<script", "<link",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn names_from_files_are_escaped() {
    let evil = "<img src=x onerror=alert(1)>\"'&\u{1b}\u{202e}";
    let mut arms = quickstart();
    arms[2].name = evil;
    let invented = data(&arms, &["<b>net</b>"], 10, 1);
    let mut run = invented.run().clone();
    for text in [&mut run.study, &mut run.question, &mut run.host.kernel] {
        *text = format!("{evil} (invented)");
    }
    run.networks[0].toml = "</pre><script>alert(1)</script>\n".into();
    run.networks[0].numbers = evil.into();
    run.self_test[0].name = evil.into();
    let page = page(&RunData::new(run, invented.cells().to_vec()).unwrap());
    assert!(!page.contains("<img") && !page.contains("<script") && !page.contains("<b>"));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;&quot;'&amp;\u{fffd}\u{fffd}"));
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn every_network_and_arm_has_a_figure_over_time() {
    let page = quickstart_page();
    for network in ["true-metro", "4g-tether"] {
        for arm in quickstart() {
            let title = format!("<figcaption>{network}, {}: block 1 over time<", arm.name);
            let measured = usize::from(arm.outcome.is_none());
            assert_eq!(page.matches(&title).count(), measured, "{title}");
        }
    }
    assert!(
        page.contains("A sample took 200 µs of CPU"),
        "the sampler's cost"
    );
}

/// A browser would repair unbalanced tags silently.
#[test]
fn tags_are_balanced() {
    let page = quickstart_page();
    let mut open: Vec<&str> = Vec::new();
    for tag in page
        .split('<')
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap())
    {
        let name = tag.split([' ', '\n']).next().unwrap();
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta", "br"].contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, [] as [&str; 0]);
}

#[test]
fn tables_have_captions_and_headings_and_figures_have_names() {
    let page = quickstart_page();
    let tables = page.matches("<table>").count();
    assert!(tables > 4);
    assert_eq!(page.matches("<caption>").count(), tables);
    assert_eq!(
        page.matches("<thead><tr><th scope=\"col\">").count(),
        tables
    );
    let figures = page.matches("<figure>").count();
    assert_eq!(
        figures, 26,
        "on each network four forest plots, three distributions, one set of bars and five arms over time"
    );
    assert_eq!(page.matches("role=\"img\" aria-label=").count(), figures);
}

#[test]
fn head_says_where_figures_are_from_and_how_to_repeat_them() {
    let invented = data(&quickstart(), &["true-metro"], 10, 1);
    let mut run = invented.run().clone();
    run.host.git = Some("0123456789abcdef".into());
    run.host.rootless = true;
    let known = page(&RunData::new(run.clone(), invented.cells().to_vec()).unwrap());
    for shown in [
        "invented · 1970-01-01 00:00 UTC",
        "commute 0.0.0-invented, commit 0123456789ab</dd>",
        "Linux 0.0.0-invented, Invented, 2 cores, no hypervisor, rootless",
        "<code>commute run studies/invented.toml --blocks 10 --seed 7 --jobs 2</code>",
    ] {
        assert!(known.contains(shown), "{shown}: {known}");
    }
    run.settings = record::Settings::default();
    let imported = page(&RunData::new(run, invented.cells().to_vec()).unwrap());
    assert!(!imported.contains("commute run"), "{imported}");
}

#[test]
fn run_without_cells_makes_a_page() {
    let empty = RunData::new(
        data(&quickstart(), &["true-metro"], 2, 1).run().clone(),
        Vec::new(),
    );
    let page = page(&empty.unwrap());
    assert!(
        page.contains("Cannot tell") && page.contains("12 not run"),
        "{page}"
    );
}

/// Uses `COMMUTE_BROWSER`, or the first of the usual names on PATH.
#[test]
fn browser_shows_every_arm_without_complaints() {
    let Some(browser) = browser() else {
        testing::skip("no Chromium on PATH, and COMMUTE_BROWSER is not set");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    fs::write(&file, quickstart_page()).unwrap();
    let (dom, log) = dump_dom(&browser, dir.path(), &file);
    for arm in quickstart() {
        // At least once in the tables of times and of costs, on both networks.
        let shown = dom.matches(arm.name).count();
        assert!(
            shown >= 4,
            "{} is shown {shown} times; the browser's log:\n{log}",
            arm.name
        );
    }
    let complaints: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    assert!(complaints.is_empty(), "{complaints:?}");

    // A page that violates its own policy must fail this test.
    let broken = quickstart_page().replace("</main>", "<script>1</script></main>");
    fs::write(&file, broken).unwrap();
    let (_, log) = dump_dom(&browser, dir.path(), &file);
    assert!(log.lines().any(|line| line.contains("CONSOLE")), "{log}");
}

fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("COMMUTE_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    std::env::split_paths(&path)
        .flat_map(|dir| names.map(|name| dir.join(name)))
        .find(|file| file.is_file())
}

/// Returns the DOM of a page after loading, and the browser's log.
fn dump_dom(browser: &Path, dir: &Path, page: &Path) -> (String, String) {
    let (out, log) = (dir.join("dom"), dir.join("log"));
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "the browser did not exit: {}",
                fs::read_to_string(&log).unwrap()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let read = |file: &Path| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    (read(&out), read(&log))
}
