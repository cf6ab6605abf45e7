//! The reasons of decided differences in every format. All figures are invented.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, explained, quickstart};
use record::RunData;
use report::{Reason, ReasonOutcome, Summary, summarise};

fn run() -> RunData {
    explained(&data(&quickstart(), &["true-metro"], 10, 1))
}

/// Returns every format of a report.
fn formats(data: &RunData) -> [String; 4] {
    let summary = summarise(data);
    [
        report::brief(&summary, 1_000, false),
        report::human(&summary, 1_000, false),
        report::markdown(&summary, data),
        report::html(&summary, data),
    ]
}

fn reason<'a>(summary: &'a Summary, arm: &str, label: &str) -> Option<&'a Reason> {
    let mut arms = summary.networks[0].arms.iter();
    let arm = arms.find(|of| of.name == arm).unwrap();
    let measure = arm.measures.iter().find(|m| m.label == label).unwrap();
    measure.comparison.as_ref().unwrap().reason.as_ref()
}

#[test]
fn every_format_has_the_reason_of_a_decided_difference() {
    let data = run();
    let summary = summarise(&data);
    let words = &reason(&summary, "quinn h3", "first request").unwrap().words;
    assert_eq!(words, "because no TCP handshake: -123.0 ms, one round trip");
    for text in formats(&data) {
        assert!(text.contains(words), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&report::json(&summary)).unwrap();
    let of_quinn = &json["networks"][0]["arms"][2]["measures"][0]["comparison"]["reason"];
    assert_eq!(of_quinn["outcome"], "explained");
    assert_eq!(of_quinn["parts"][0]["part"], "tcp_handshake");
}

#[test]
fn parts_that_do_not_sum_are_no_reason() {
    let data = run();
    let mut cells = data.cells().to_vec();
    for cell in cells.iter_mut().filter(|cell| cell.arm == "quinn h3") {
        for call in &mut cell.calls {
            call.parts.remove("quic_handshake");
        }
    }
    let data = RunData::new(data.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    let found = reason(&summary, "quinn h3", "first request").unwrap();
    assert_eq!(found.outcome, ReasonOutcome::SumDiffers);
    assert!(
        found.words.starts_with("no reason: the parts sum to -2"),
        "{}",
        found.words
    );
    for text in formats(&data) {
        assert!(text.contains(&found.words), "{text}");
        assert!(!text.contains("because no TCP"), "{text}");
    }
}

/// What is not decided has no reason, and neither has a record without parts.
#[test]
fn nothing_else_has_a_reason() {
    let summary = summarise(&run());
    let rest = [
        ("hyper h2 again", "first request"),
        ("libcurl h2", "first request"),
        ("quinn h3", "warm requests"),
        ("libcurl h1", "image"),
    ];
    for (arm, label) in rest {
        assert_eq!(reason(&summary, arm, label), None, "{arm}, {label}");
    }
    let old = data(&quickstart(), &["true-metro"], 10, 1);
    for text in formats(&old)
        .iter()
        .chain([&report::json(&summarise(&old))])
    {
        assert!(
            !text.contains("because no") && !text.contains("reason: "),
            "{text}"
        );
    }
    let one_block = explained(&data(&quickstart(), &["true-metro"], 1, 1));
    for text in formats(&one_block) {
        assert!(!text.contains("because no"), "{text}");
    }
}
