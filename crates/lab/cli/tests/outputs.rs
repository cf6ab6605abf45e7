//! What `commute report` and `commute compare` write, and their exit codes, on imported requests: no bench
//! is needed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fmt::Write as _;
use std::fs;

use common::Sandbox;

/// Returns the rows of two arms in ten blocks, h2's requests with these times. Block by block they vary by
/// up to 9 %.
fn rows(h2_ms: u64) -> String {
    let mut csv = "network,arm,protocol,block,end_ns,first\n".to_owned();
    for block in 0..10_u64 {
        for (arm, ms) in [("h1", 200), ("h2", h2_ms)] {
            for first in [true, false] {
                let ns = ms * 1_000_000 * (100 + block * 7 % 10) / 100;
                writeln!(csv, "field,{arm},{arm},{block},{ns},{first}").unwrap();
            }
        }
    }
    csv
}

/// Imports two runs. The second has slower requests over h2.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (run, h2_ms) in [("old", 100), ("new", 150)] {
        sandbox.write("rows.csv", &rows(h2_ms));
        sandbox
            .run(&["import", "rows.csv", "-o", run])
            .exits_with(0);
    }
    sandbox
}

#[test]
fn only_a_verbose_report_has_every_figure() {
    let sandbox = sandbox();
    let brief = sandbox.run(&["report", "old"]).exits_with(0);
    let brief = brief
        .stdout_contains("  field   use h2: faster in 2 of 2, ")
        .stdout;
    let full = sandbox.run(&["report", "old", "--verbose"]).exits_with(0);
    let full = full.stdout_contains("Use h2 on field.").stdout;
    for figure in ["209 ms [203, 215]", "protocol reported by the client only"] {
        assert!(
            full.contains(figure) && !brief.contains(figure),
            "{figure}: {full}"
        );
    }
}

#[test]
fn thresholds_decide_the_exit_code() {
    let sandbox = sandbox();
    let report = |conditions: &[&str]| {
        let options = conditions.iter().flat_map(|c| ["--fail-if", *c]);
        let args: Vec<&str> = ["report", "old"].into_iter().chain(options).collect();
        sandbox.run(&args)
    };
    report(&["first > 1s", "h2/warm > 120ms on field"])
        .exits_with(0)
        .stdout_contains("\nThresholds:\n  pass: first > 1s: field, h1, first request: 209 ms")
        .stdout_contains("  pass: h2/warm > 120ms on field: field, h2, warm requests: 104");
    report(&["first > 1s", "h1/warm > 120ms"])
        .exits_with(3)
        .stdout_contains("  FAIL: h1/warm > 120ms: field, h1, warm requests: 209 ms");
    // Two requests of a block are not enough: a gate that cannot tell must not look as if it had passed.
    let cannot_tell = "cannot tell: first.p95 > 1ms: field, h1, first request, p95: not enough";
    report(&["first.p95 > 1ms"])
        .exits_with(3)
        .stdout_contains(cannot_tell);
    let args = ["report", "old", "--fail-if", "first.p95 > 1ms"];
    sandbox
        .run(&[&args[..], &["--allow-undecided"]].concat())
        .exits_with(0)
        .stdout_contains(cannot_tell);
    sandbox
        .run(&["report", "old", "--allow-undecided"])
        .exits_with(2);
    report(&["h3/first > 1s"])
        .exits_with(2)
        .stderr_contains("--fail-if `h3/first > 1s`: no arm is named `h3`; known: h1, h2");
    let csv = [
        "report",
        "old",
        "--format",
        "csv",
        "--fail-if",
        "h1/warm > 120ms",
    ];
    sandbox
        .run(&csv)
        .exits_with(3)
        .stderr_contains("FAIL: h1/warm > 120ms");
    let page = [
        "report",
        "old",
        "--html",
        "-",
        "--fail-if",
        "h1/warm > 120ms",
    ];
    sandbox
        .run(&page)
        .exits_with(3)
        .stderr_contains("FAIL: h1/warm > 120ms");
}

#[test]
fn every_format_is_written_where_it_is_asked_for() {
    let sandbox = sandbox();
    let files = ["--html", "a.html", "--card", "a.svg", "--hdr", "times"];
    let args = [&["report", "old", "--format", "markdown"], &files[..]].concat();
    sandbox
        .run(&args)
        .exits_with(0)
        .stdout_contains("| h2 | 104");
    let page = fs::read_to_string(sandbox.work().join("a.html")).unwrap();
    let card = fs::read_to_string(sandbox.work().join("a.svg")).unwrap();
    assert_eq!(
        common::file_names(&sandbox.work().join("times")),
        ["field.h1.requests.hlog", "field.h2.requests.hlog"]
    );
    // - is standard output, which then has nothing else.
    for (option, file) in [("--html", page), ("--card", card)] {
        let output = sandbox.run(&["report", "old", option, "-"]).exits_with(0);
        assert_eq!(output.stdout, file, "{option}");
    }
    assert!(!sandbox.work().join("-").exists());
}

#[test]
fn runs_are_compared() {
    let sandbox = sandbox();
    sandbox
        .run(&["compare", "old", "new"])
        .exits_with(0)
        .stdout_contains("imported: of 4 comparisons, 0 faster, 2 slower, 2 without a difference.");
    let fail = [
        "compare",
        "old",
        "new",
        "--fail-if-slower",
        "--format",
        "json",
    ];
    let output = sandbox.run(&fail).exits_with(3);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let h2 = &json["changes"][1];
    assert_eq!(
        (&h2["arm"], &h2["verdict"]),
        (&"h2".into(), &"slower".into())
    );
    sandbox
        .run(&["compare", "new", "old", "--fail-if-slower"])
        .exits_with(0)
        .stdout_contains("2 faster, 0 slower");
}

#[test]
fn colour_is_as_asked_for() {
    let sandbox = sandbox();
    // `Sandbox::run` fails for every escape code.
    sandbox.run(&["report", "old"]).exits_with(0);
    sandbox
        .run(&["report", "old", "--color", "never"])
        .exits_with(0);
    let mut command = sandbox.commute(&["report", "old", "--color", "always"]);
    let output = command.env("NO_COLOR", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\u{1b}[32m"), "{text}");
}
