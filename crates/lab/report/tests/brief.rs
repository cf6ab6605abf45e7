//! The brief report: what fits into 60 lines, what it says, and what it leaves to the full one. All figures are
//! invented.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::path::Path;

use invented::{Invented, arm};
use record::{Call, Cell, Group, Outcome, PlannedCall, Position, Run, RunData};

const NETWORKS: [&str; 3] = ["4g-tether", "lighthouse-slow4g", "true-metro"];
const GROUPS: u32 = 20;
/// A terminal's lines that three networks fit into.
const LINES: usize = 60;

fn golden(file: &str, actual: &str) {
    testing::golden(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), actual);
}

/// Returns arms as `commute init` writes them, with one that needs installing.
fn arms() -> Vec<Invented> {
    let baseline = arm("okhttp h2", "h2", 200.0, 60.0, 400.0);
    vec![
        baseline.clone(),
        Invented {
            name: "okhttp h2 again",
            repeat: true,
            ..baseline
        },
        arm("cronet h3", "h3", 110.0, 59.0, 430.0),
        arm("libcurl h3", "h3", 112.0, 59.5, 405.0),
    ]
}

/// Returns the calls of a group: one request, several in sequence, or several at once.
fn calls_of(group: u32) -> Vec<PlannedCall> {
    let call = |n: u32| PlannedCall {
        id: group * 10 + n + 1,
        group: format!("group-{group}"),
        position: match n {
            0 if group == 0 => Position::ColdProcess,
            0 => Position::First,
            _ => Position::Warm,
        },
        parallel: group % 3 == 2,
        batch: group * 10 + if group % 3 == 2 { 0 } else { n },
    };
    let count = if group.is_multiple_of(3) { 1 } else { 4 };
    (0..count).map(call).collect()
}

/// Returns a run of an app with 20 endpoints, as `commute init` makes it from a recording.
fn app(arms: &[Invented], blocks: u32) -> RunData {
    app_of(GROUPS, arms, blocks)
}

fn app_of(groups: u32, arms: &[Invented], blocks: u32) -> RunData {
    let mut run = invented::run(arms, &NETWORKS, blocks);
    let group = |n: u32| Group {
        name: format!("group-{n}"),
        about: format!("GET /api/v2/shop/section-{n}/items?page=x, answered with {n}000 B"),
        bulk: false,
        response_bytes: 0,
        load: None,
    };
    run.groups = (0..groups).map(group).collect();
    run.calls = (0..groups).flat_map(calls_of).collect();
    let cells = invented::cells(&run, arms, 1);
    let cells = cells
        .into_iter()
        .map(|cell| with_calls(&run, cell))
        .collect();
    RunData::new(run, cells).unwrap()
}

/// Gives each planned call of a cell the time of one of its invented calls.
fn with_calls(run: &Run, mut cell: Cell) -> Cell {
    let slower = if cell.network == "true-metro" { 2 } else { 1 };
    let invented = std::mem::take(&mut cell.calls);
    let made = |(n, planned): (usize, &PlannedCall)| {
        let is_first = planned.position != Position::Warm;
        let large = planned.parallel && planned.id > 150;
        let of_kind = |call: &&Call| match large {
            true => call.group == "image",
            false => call.group == "echo" && call.first == is_first,
        };
        let like = invented.iter().filter(of_kind);
        let like: Vec<&Call> = like.collect();
        let mut call = like[n % like.len()].clone();
        call.id = planned.id;
        call.group.clone_from(&planned.group);
        call.end_ns *= slower;
        call.start_ns = u64::from(planned.batch) * 1_000_000_000;
        call
    };
    if !invented.is_empty() {
        cell.calls = run.calls.iter().enumerate().map(made).collect();
    }
    cell
}

#[test]
fn three_networks_fit_into_60_lines() {
    let summary = report::summarise(&app(&arms(), 10));
    assert!(summary.networks.iter().all(|n| n.needs.len() > 24));
    let text = report::brief(&summary, 110, false);
    golden("tests/golden/brief-110.txt", &text);
    for width in [100, 110, 160] {
        let text = report::brief(&summary, width, false);
        assert!(text.lines().count() <= LINES, "{width}: {text}");
    }
}

/// More rows than fit are counted, not printed.
#[test]
fn more_kinds_than_fit_are_counted() {
    let summary = report::summarise(&app_of(60, &arms(), 8));
    let text = report::brief(&summary, 110, false);
    assert!(text.lines().count() <= LINES, "{text}");
    assert!(
        text.contains("  and 32 more kinds of requests: -v\n"),
        "{text}"
    );
}

/// Whatever goes wrong at once, a line each says so.
#[test]
fn reasons_fit_too() {
    let summary = report::summarise(&invented::explained(&app(&arms(), 10)));
    let text = report::brief(&summary, 110, false);
    assert!(text.lines().count() <= LINES, "{text}");
    let reason = "GET /api/v2/shop/section-0/items on 4g-tether: libcurl h3 is ";
    assert!(text.contains(reason), "{text}");
    assert!(text.contains(" more reasons: -v\n"), "{text}");
    let lines = text.lines().filter(|line| line.contains("because"));
    assert_eq!(lines.count(), 6, "{text}");
}

#[test]
fn a_bad_run_fits_too() {
    let mut arms = arms();
    arms[1].first_ms = 260.0;
    arms[2].time_out_every = 3;
    arms[3].noise = 0.5;
    arms.push(Invented {
        outcome: Some(Outcome::Unsupported {
            reason: "libquiche is missing (invented)".into(),
        }),
        ..arm("quiche h3", "h3", 1.0, 1.0, 1.0)
    });
    let summary = report::summarise(&app(&arms, 8));
    let text = report::brief(&summary, 100, false);
    assert!(text.lines().count() <= LINES, "{text}");
    for said in [
        "THE A/A CHECK FAILED. ",
        "Do not use the results of this network",
        "Not measured: quiche h3: libquiche is missing (invented)",
        "Requests that failed or timed out: cronet h3 ",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("use cronet h3"), "{text}");
}

#[test]
fn a_noisy_run_says_first_what_to_do() {
    let noisy = |arm: Invented| Invented {
        outcome: Some(Outcome::Noisy {
            reasons: vec!["steal 3 % (invented)".into()],
        }),
        ..arm
    };
    let arms: Vec<Invented> = arms().into_iter().map(noisy).collect();
    let text = report::brief(&report::summarise(&app(&arms, 6)), 100, false);
    let first = "72 of 72 cells were noisy, e.g. because steal 3 % (invented)\n\
                 Close what else runs here, or use a quieter machine.\n\n";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn the_full_report_has_what_the_brief_one_leaves_out() {
    let summary = report::summarise(&app(&arms(), 10));
    let (brief, full) = (
        report::brief(&summary, 2_000, false),
        report::human(&summary, 2_000, false),
    );
    for network in &summary.networks {
        assert!(!brief.contains(&network.sentence) && full.contains(&network.sentence));
        assert!(!brief.contains(&network.numbers) && full.contains(&network.numbers));
        for measure in network.arms.iter().flat_map(|arm| &arm.measures) {
            let time = report::with_interval(measure.time.as_ref().unwrap());
            assert!(!brief.contains(&time), "{time}");
            assert!(full.contains(&measure.label), "{}", measure.label);
        }
    }
    assert!(full.contains(&summary.answer));
}

#[test]
fn every_kind_of_request_is_listed_by_its_path() {
    let summary = report::summarise(&app(&arms(), 10));
    let text = report::brief(&summary, 400, false);
    for group in 0..GROUPS {
        let path = format!("GET /api/v2/shop/section-{group}/items");
        assert!(text.contains(&path), "{path}: {text}");
    }
}

/// Where the recommended arm is as good as the fastest, it is named.
#[test]
fn rows_name_the_arm_that_the_network_recommends() {
    let summary = report::summarise(&app(&arms(), 10));
    assert_eq!(summary.answer, "Use libcurl h3 on all 3 networks.");
    let text = report::brief(&summary, 110, false);
    let mut rows = text.lines().filter(|line| line.contains("section-1/items"));
    let row = rows.next().unwrap();
    assert_eq!(row.matches("libcurl h3 ").count(), NETWORKS.len(), "{row}");
    let need = &summary.networks[0].needs[1];
    assert_eq!(need.best, ["cronet h3", "libcurl h3"]);
}

/// The largest gain of many would have an interval that is too narrow, so the first one is named.
#[test]
fn headlines_name_the_first_gain_and_not_the_largest() {
    let data = app(&arms(), 10);
    let mut cells = data.cells().to_vec();
    let largest = |call: &&mut Call| call.group == "group-3";
    for cell in cells.iter_mut().filter(|cell| cell.arm == "libcurl h3") {
        for call in cell.calls.iter_mut().filter(largest) {
            call.end_ns /= 2;
        }
    }
    let summary = report::summarise(&RunData::new(data.run().clone(), cells).unwrap());
    let text = report::brief(&summary, 160, false);
    assert!(text.contains("libcurl h3 140–"), "{text}");
    let line = |label: &str| {
        format!("use libcurl h3: faster in 19 of 27, e.g. by 88 ms [83, 90] for {label}\n")
    };
    assert!(
        text.contains(&line("GET /api/v2/shop/section-0/items")),
        "{text}"
    );
    let text = report::brief(&summary, 110, false);
    assert!(text.contains(&line("GET …/section-0/items")), "{text}");
}

#[test]
fn colour_and_width_change_no_words() {
    let summary = report::summarise(&app(&arms(), 10));
    let mut colored = report::brief(&summary, 110, true);
    for code in ["\u{1b}[32m", "\u{1b}[2m", "\u{1b}[0m"] {
        colored = colored.replace(code, "");
    }
    assert_eq!(colored, report::brief(&summary, 110, false));
    for width in [60, 80, 100, 200] {
        let text = report::brief(&summary, width, false);
        let command = summary.replicate.as_deref().unwrap();
        let widest = text.lines().filter(|line| line.trim() != command);
        let widest = widest.max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= width, "{width}: {widest}");
    }
}

#[test]
fn no_name_controls_the_terminal() {
    let mut arms = arms();
    arms[2].name = "cronet\u{1b}[2J h3";
    let mut run = app(&arms, 8).run().clone();
    let cells = app(&arms, 8).cells().to_vec();
    for group in &mut run.groups {
        // Paths that look alike when they are cut, so that names stand for them.
        group.about = format!("GET /\u{1b}[2J{}, answered with 1 B", "x".repeat(90));
    }
    let summary = report::summarise(&RunData::new(run, cells).unwrap());
    let text = report::brief(&summary, 100, false);
    assert!(
        !text.contains('\u{1b}') && text.contains("(group-1)"),
        "{text}"
    );
}
