//! The HTML page: well-formed, offline and escaped; loaded by a real browser if there is one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a browser opens files")]

mod invented;

use std::fs;

use invented::{data, exchanging, explained, quickstart};
use record::RunData;
use report::{html, html_beside_records, summarise};
use testing::{Browser, HOSTILE_NAME, INTERPRETED, View};

fn page(data: &RunData) -> String {
    html(&summarise(data), data)
}

fn quickstart_page() -> String {
    let data = data(&quickstart(), &["true-metro", "4g-tether"], 10, 1);
    // With exchanges, so that their tables are checked too.
    page(&exchanging(&data))
}

/// Returns the page of a run whose requests have parts.
fn page_with_parts() -> String {
    let data = data(&quickstart(), &["true-metro", "4g-tether"], 10, 1);
    page(&explained(&data))
}

#[test]
fn page_has_no_external_references() {
    let page = quickstart_page() + &page_with_parts();
    for outside in [
        "http://", "https://", "//cdn", "src=", "@import", "url(", "<link", " style=",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<script").count(), 2, "each page's own");
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
    assert!(
        !page.contains("<img") && page.matches("<script").count() == 1 && !page.contains("<b>")
    );
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;&quot;'&amp;\u{fffd}\u{fffd}"));
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
}

#[test]
fn names_do_nothing_in_a_browser() {
    let mut arms = quickstart();
    arms[2].name = HOSTILE_NAME;
    let invented = data(&arms, &[HOSTILE_NAME], 10, 1);
    let mut run = invented.run().clone();
    for text in [&mut run.study, &mut run.question, &mut run.host.kernel] {
        *text = format!("{HOSTILE_NAME} (invented)");
    }
    run.networks[0].numbers = HOSTILE_NAME.into();
    let data = RunData::new(run, invented.cells().to_vec()).unwrap();
    let summary = summarise(&data);
    testing::check_harmless("report", &html(&summary, &data));
    let markdown = report::markdown(&summary, &data);
    assert!(!markdown.contains(INTERPRETED), "{markdown}");
    testing::check_harmless("report's Markdown", &testing::rendered(&markdown));
    testing::check_harmless("card", &report::card(&summary));
}

#[test]
fn every_network_and_arm_has_a_figure_over_time() {
    let page = quickstart_page();
    for network in ["true-metro", "4g-tether"] {
        for arm in quickstart() {
            let title = format!("<figcaption>{network}: {}, block 1 over time<", arm.name);
            let measured = usize::from(arm.outcome.is_none());
            assert_eq!(page.matches(&title).count(), measured, "{title}");
        }
    }
    assert!(
        page.contains("Each sample cost 200 µs of CPU"),
        "the sampler's cost"
    );
}

/// A browser would repair unbalanced tags silently.
#[test]
fn tags_are_balanced() {
    for page in [quickstart_page(), page_with_parts()] {
        check_balance(&page);
    }
}

fn check_balance(page: &str) {
    let (before, script) = page.split_once("<script>").unwrap();
    let page = format!("{before}{}", script.split_once("</script>").unwrap().1);
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
    assert_eq!(page.matches("<thead><tr><th scope=\"col\"").count(), tables);
    let figures = page.matches("<figure").count();
    assert_eq!(
        figures, 36,
        "on each network four forest plots, three waterfalls, three distributions, three courses of \
         blocks and five arms over time"
    );
    assert_eq!(page.matches("role=\"img\" aria-label=").count(), figures);
}

#[test]
fn parts_have_a_bar_per_arm_and_a_table() {
    let page = page_with_parts();
    let before = quickstart_page();
    let figures = |page: &str| page.matches("<figure").count();
    assert_eq!(
        figures(&page),
        figures(&before) + 6,
        "three measures on each of two networks"
    );
    assert_eq!(
        page.matches("<figure").count(),
        page.matches("role=\"img\" aria-label=").count()
    );
    for shown in [
        "<details class=\"fold\" open><summary><h3>Where the time went</h3></summary>",
        "aria-label=\"4g-tether: first request, mean time by part\"",
        "<title>quinn h3, QUIC handshake: 123.0 ms, one round trip</title>",
        ">2.0 round trips + 18 ms</text>",
        "<caption><span>true-metro: first request, where the time went</span></caption>",
        "<th scope=\"row\">QUIC handshake</th><td>-</td><td>-</td><td>123.0<br><small>one round trip</small></td>",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    // The number in a bar is that in the key.
    assert!(page.contains("</svg> 3 QUIC handshake</li>"), "{page}");
    let bar = "QUIC handshake: 123.0 ms, one round trip</title></rect><text";
    let (_, after) = page.split_once(bar).unwrap();
    assert_eq!(after.split(['>', '<']).nth(1), Some("3"));
    assert!(!before.contains("Where the time went"));
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

#[test]
fn phases_lie_between_their_medians_and_failures_are_named() {
    let invented = data(&quickstart(), &["true-metro"], 6, 1);
    let mut cells = invented.cells().to_vec();
    for call in cells.iter_mut().flat_map(|cell| &mut cell.calls) {
        call.dns_ns = Some(5_000_000);
        call.tls_ns = Some(20_000_000);
        // Before the handshake's end, as a faulty driver may report it.
        call.request_sent_ns = Some(1);
        call.first_byte_ns = Some(60_000_000);
        if call.id == 16 {
            call.result = record::CallResult::Error {
                kind: "reset".into(),
                detail: "gone (invented)".into(),
            };
        }
    }
    let page = page(&RunData::new(invented.run().clone(), cells).unwrap());
    for shown in [
        "hyper h2, DNS: 5 ms",
        "hyper h2, TLS or QUIC: 15 ms",
        "hyper h2, first byte: 40 ms",
        "6 × reset: gone (invented)",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("hyper h2, TCP") && !page.contains("hyper h2, request:"));
}

#[test]
fn heat_map_colours_what_is_decided() {
    let page = quickstart_page();
    assert!(page.contains("<span class=\"better-3\">-31 % <small>faster"));
    assert!(page.contains("<span class=\"worse-3\">+33 % <small>slower"));
    assert!(page.contains("<span class=\"open\">-2 % <small>no difference"));
    let one = data(&quickstart(), &["true-metro"], 10, 1);
    assert!(!html(&summarise(&one), &one).contains("Networks and sizes"));
}

/// The study of a recording has many groups and few arms.
#[test]
fn many_measures_are_rows() {
    let invented = data(&quickstart()[..3], &["true-metro"], 6, 1);
    let (mut run, mut cells) = (invented.run().clone(), invented.cells().to_vec());
    let group = |id: u32| format!("group {}", id % 5);
    run.groups = (0..5)
        .map(|id| record::Group {
            name: group(id),
            ..run.groups[0].clone()
        })
        .collect();
    run.calls
        .iter_mut()
        .for_each(|call| call.group = group(call.id));
    let calls = cells.iter_mut().flat_map(|cell| &mut cell.calls);
    calls.for_each(|call| call.group = group(call.id));
    let page = page(&RunData::new(run, cells).unwrap());
    assert!(page.contains("<th scope=\"col\">Measure</th>"), "{page}");
    assert!(
        page.contains("<th scope=\"row\">warm group 3 requests, ms (margin "),
        "{page}"
    );
    testing::check_page("many-measures", &page);
}

#[test]
fn only_a_page_beside_the_records_links_to_them() {
    let data = data(&quickstart(), &["true-metro"], 6, 1);
    let summary = summarise(&data);
    let link = "href=\"run.json\"";
    assert!(html_beside_records(&summary, &data).contains(link));
    let elsewhere = html(&summary, &data);
    assert!(!elsewhere.contains(link) && elsewhere.contains("--format csv"));
}

#[test]
fn browser_shows_the_page_in_every_view() {
    testing::check_page("report", &quickstart_page());
    testing::check_page("report-parts", &page_with_parts());
}

#[test]
fn browser_shows_every_arm_and_keeps_the_policy() {
    let Some(mut browser) = Browser::start() else {
        testing::skip("no Chromium on PATH, and COMMUTE_BROWSER is not set");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    fs::write(&file, quickstart_page()).unwrap();
    browser.open(&file);
    let text = browser.evaluate("document.body.innerText");
    for arm in quickstart() {
        // At least once in the tables of times and of costs, on both networks.
        let shown = text.as_str().unwrap().matches(arm.name).count();
        assert!(shown >= 4, "{} is shown {shown} times", arm.name);
    }
    assert_eq!(browser.complaints(), [] as [&str; 0]);

    // A page that breaks its own policy, or that is too wide, is complained about.
    let broken = "<script>1</script><svg width=\"2000\" height=\"9\"></svg></main>";
    fs::write(&file, quickstart_page().replace("</main>", broken)).unwrap();
    browser.open(&file);
    let phone = View::Screen {
        width: 390,
        dark: false,
    };
    assert!(!browser.layout_problems(phone).is_empty());
    assert!(!browser.complaints().is_empty());
}

#[test]
fn script_sorts_hides_and_tells_values() {
    let Some(mut browser) = Browser::start() else {
        testing::skip("no Chromium on PATH, and COMMUTE_BROWSER is not set");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    fs::write(&file, quickstart_page()).unwrap();
    browser.open(&file);
    let first_after_sorting = browser.evaluate(
        "const table = [...document.querySelectorAll('#network-0 table')][0];
         table.tHead.rows[0].cells[1].firstChild.click();
         table.tBodies[0].rows[0].cells[0].textContent.trim()",
    );
    assert_eq!(first_after_sorting, "quinn h3");
    browser.evaluate("document.querySelector('.folds').click()");
    let shown = "[...document.querySelectorAll('main [data-arm=\"2\"]')]
        .filter(mark => mark.getBoundingClientRect().width > 0).length";
    assert!(browser.evaluate(shown).as_i64().unwrap() > 10);
    browser.evaluate("document.querySelectorAll('.arms input')[2].click()");
    assert_eq!(browser.evaluate(shown), 0);
    let value = browser.evaluate(
        "const svg = document.querySelector('figure > svg');
         svg.nextElementSibling.querySelector('[aria-label=\"next value\"]').click();
         svg.nextElementSibling.querySelector('output').textContent",
    );
    let value = value.as_str().unwrap();
    assert!(
        value.starts_with("hyper h2 again: no difference ("),
        "{value}"
    );
}
