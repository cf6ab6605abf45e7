//! Thresholds on the figures of invented runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use ThresholdOutcome::{CannotTell, Fail, Pass};
use invented::{data, quickstart};
use report::{Threshold, ThresholdOutcome, ThresholdResult, Unit, apply_thresholds};

fn results(threshold: &str) -> Vec<ThresholdResult> {
    let data = data(&quickstart(), &["true-metro", "4g-tether"], 10, 1);
    let mut summary = report::summarise(&data);
    let threshold: Threshold = threshold.parse().unwrap();
    apply_thresholds(&mut summary, &[threshold]).unwrap();
    summary.thresholds
}

fn outcomes(threshold: &str) -> Vec<ThresholdOutcome> {
    results(threshold).iter().map(|r| r.outcome).collect()
}

#[test]
fn every_arm_on_every_network_is_checked_but_copies_of_the_baseline() {
    // In ms: 383, 265, 510, 390 with much noise, and one that was not measured.
    let one = [Fail, Pass, Fail, Fail, CannotTell];
    assert_eq!(outcomes("first > 300ms"), [one, one].concat());
    assert_eq!(outcomes("first > 300ms on 4g-tether"), one);
    assert_eq!(outcomes("quinn h3/first > 300ms"), [Pass, Pass]);
    assert_eq!(outcomes("quinn h3/echo.first < 300ms"), [Fail, Fail]);
    assert_eq!(outcomes("hyper h2 again/first > 300ms"), [Fail, Fail]);
}

#[test]
fn figures_are_those_of_the_report() {
    let result = &results("quinn h3/image.whole > 1s on 4g-tether")[0];
    assert_eq!(result.outcome, Fail);
    assert_eq!(result.label, "image");
    assert!((1.0e9..1.2e9).contains(&result.figure.as_ref().unwrap().value.unwrap()));
    // 163,763 bytes in 1.1 s.
    assert_eq!(outcomes("quinn h3/goodput < 1Mbit/s"), [Pass, Pass]);
    assert_eq!(outcomes("hyper h2/goodput < 1Mbit/s"), [Fail, Fail]);
    // Of 120 warm requests, 12 are beyond the 90th percentile and 6 beyond the 95th.
    assert_eq!(outcomes("hyper h2/echo.warm.p90 > 100ms"), [Fail, Fail]);
    let result = &results("hyper h2/echo.warm.p95 > 100ms")[0];
    assert_eq!((result.outcome, &result.figure), (CannotTell, &None));
    let reason = result.reason.as_ref().unwrap();
    assert!(reason.starts_with("not enough requests: it takes 20 in every block"));
    let result = &results("hyper h2/load > 1s")[0];
    assert_eq!(
        result.reason.as_deref(),
        Some("the study has no such requests")
    );
}

#[test]
fn each_known_group_is_named_once() {
    let mut summary = report::summarise(&data(&quickstart(), &["true-metro"], 10, 1));
    let threshold: Threshold = "bar.first > 1s".parse().unwrap();
    let error = apply_thresholds(&mut summary, &[threshold]).unwrap_err();
    assert!(
        error.ends_with("no group is named `bar`; known: echo, image"),
        "{error}"
    );
}

#[test]
fn errors_are_a_share_of_all_requests() {
    let mut arms = quickstart();
    arms[0].time_out_every = 4;
    let mut summary = report::summarise(&data(&arms, &["true-metro"], 10, 1));
    let thresholds = [
        "hyper h2/errors > 24%",
        "hyper h2/echo.errors >= 25%",
        "quinn h3/errors > 0%",
    ];
    let thresholds = thresholds.map(|t| t.parse().unwrap());
    apply_thresholds(&mut summary, &thresholds).unwrap();
    let values: Vec<_> = (summary.thresholds.iter())
        .map(|r| (r.figure.as_ref().unwrap().value.unwrap(), r.outcome))
        .collect();
    // 4 of 16 requests; 3 of the 15 that are not the image.
    assert_eq!(values, [(25.0, Fail), (20.0, Pass), (0.0, Pass)]);
    assert_eq!(
        summary.thresholds[0].figure.as_ref().unwrap().unit,
        Unit::Percent
    );
    let lines: Vec<String> = summary
        .thresholds
        .iter()
        .map(report::threshold_line)
        .collect();
    assert_eq!(
        lines[0],
        "FAIL: hyper h2/errors > 24%: true-metro, hyper h2, errors: 25 %"
    );
    let text = report::human(&summary, 100, false);
    assert!(
        text.contains("\nThresholds:\n  FAIL: hyper h2/errors > 24%: "),
        "{text}"
    );
}
