//! Verdicts on the tail, for studies that ask for them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{Invented, arm, cells, run};
use record::{Call, CallResult, RunData};
use report::{Bound, Comparison, Measure, Part, Summary, human, summarise};
use stats::Verdict;

/// Returns two arms with equal times, of 12 warm requests per block. Each second and third of them in the other arm is
/// changed.
fn two_arms(tail_percent: Option<f64>, change: impl Fn(&mut Call)) -> RunData {
    let same = |name| arm(name, "h2", 383.0, 133.0, 1_800.0);
    let arms: [Invented; 2] = [same("base"), same("other")];
    let mut run = run(&arms, &["true-metro"], 10);
    run.tail_percent = tail_percent;
    let mut cells = cells(&run, &arms, 1);
    for cell in cells.iter_mut().filter(|cell| cell.arm == "other") {
        cell.calls[1..3].iter_mut().for_each(&change);
    }
    RunData::new(run, cells).unwrap()
}

fn slower(call: &mut Call) {
    call.end_ns *= 3;
}

fn measure<'a>(summary: &'a Summary, label: &str) -> &'a Measure {
    let other = &summary.networks[0].arms[1];
    other.measures.iter().find(|m| m.label == label).unwrap()
}

fn comparison<'a>(summary: &'a Summary, label: &str) -> &'a Comparison {
    measure(summary, label).comparison.as_ref().unwrap()
}

#[test]
fn tail_may_be_slower_where_the_median_is_not() {
    let data = two_arms(Some(90.0), slower);
    let summary = summarise(&data);
    let median = comparison(&summary, "warm requests");
    assert_eq!(median.verdict, Verdict::NoDifference);
    let tail = comparison(&summary, "p90 of warm requests");
    assert_eq!(tail.verdict, Verdict::Slower);
    let difference = tail.difference.value.unwrap();
    assert!((250e6..280e6).contains(&difference), "{difference}");
    let text = human(&summary, 400, false);
    assert!(text.contains("p90 of warm requests"), "{text}");
    assert!(
        text.contains("other is slower") || text.contains("other: p90 of warm requests"),
        "{text}"
    );
    assert!(report::html(&summary, &data).contains("p90 of warm requests"));
}

#[test]
fn tails_are_compared_only_where_the_study_asks_and_blocks_have_enough_requests() {
    let labels = |percent| {
        let summary = summarise(&two_arms(percent, slower));
        let measures = &summary.networks[0].arms[1].measures;
        let tails = measures.iter().filter(|m| m.part == Part::Tail);
        tails.map(|m| m.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(labels(None), [] as [&str; 0]);
    assert_eq!(labels(Some(90.0)), ["p90 of warm requests"]);
    // One request of twelve is not beyond the 95th percentile.
    assert_eq!(labels(Some(95.0)), [] as [&str; 0]);
}

#[test]
fn timeouts_in_the_tail_stay_censored() {
    let summary = summarise(&two_arms(Some(90.0), |call| {
        call.result = CallResult::TimedOut;
        call.end_ns = 10_000_000_000;
    }));
    let tail = comparison(&summary, "p90 of warm requests");
    assert_eq!(tail.verdict, Verdict::Slower);
    assert_eq!(tail.difference.bound, Bound::AtLeast);
    assert_eq!(tail.difference.high, None);
    let time = measure(&summary, "p90 of warm requests").time.as_ref();
    assert_eq!(time.unwrap().bound, Bound::AtLeast);
}

/// The requests of the tail are those of the warm requests, and count once.
#[test]
fn requests_of_the_tail_are_not_counted_twice() {
    let lost = |call: &mut Call| call.result = CallResult::TimedOut;
    let of = |percent| {
        let summary = summarise(&two_arms(percent, lost));
        let arm = &summary.networks[0].arms[1];
        let text = human(&summary, 400, false);
        (arm.calls_and_losses(), text.matches("timed out").count())
    };
    assert_eq!(of(Some(90.0)), of(None));
    assert_eq!(of(None).0, (160, 20));
}
