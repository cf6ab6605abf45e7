//! The figures of groups that are bound by time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{arm, data};
use record::{Distribution, Group, Load, LoadPlan, Pace, Proof, RunData};
use report::{Bound, LoadFigures, Quantity, summarise};

const MS: u64 = 1_000_000;

/// Returns 200 requests in 2 s, of 1 to 200 ms. The longest `timed_out` of them were given up.
fn load(timed_out: u64) -> Load {
    let mut times = Distribution::new();
    for ms in 1..=200 - timed_out {
        times.add(ms * MS);
    }
    Load {
        group: "ping".into(),
        calls: 200,
        timed_out,
        errors: [].into(),
        retried: 0,
        late: 3,
        warmup_calls: 50,
        measured_ns: 2_000 * MS,
        out_of_steps: false,
        protocols: vec!["h2".into()],
        proof: Some(Proof::Server),
        encodes: false,
        histogram: times.to_text(),
    }
}

/// Returns the figures of an arm with this load in each of ten blocks.
fn figures(pace: Pace, load: &Load) -> LoadFigures {
    let arms = [
        arm("hyper h2", "h2", 383.0, 133.0, 1_800.0),
        arm("quinn h3", "h3", 265.0, 131.0, 1_100.0),
    ];
    let calls_only = data(&arms, &["lan"], 10, 1);
    let mut run = calls_only.run().clone();
    run.groups.push(Group {
        name: "ping".into(),
        about: "invented".into(),
        bulk: false,
        response_bytes: 26,
        load: Some(LoadPlan {
            warmup_ns: 500 * MS,
            measured_ns: 2_000 * MS,
            pace,
        }),
    });
    let mut cells = calls_only.cells().to_vec();
    for cell in &mut cells {
        cell.loads = vec![load.clone()];
    }
    let summary = summarise(&RunData::new(run, cells).unwrap());
    let mut measures = summary.networks[0].arms[1].measures.iter();
    measures.find_map(|m| m.load.clone()).unwrap()
}

fn percentile(figures: &LoadFigures, percent: f64) -> Option<Quantity> {
    let mut known = figures.percentiles.iter();
    Some(known.find(|p| p.percent == percent)?.value.clone())
}

/// Asserts that a value is as expected within 0.1 %, since the histogram keeps three digits.
#[track_caller]
fn assert_near(found: Option<&Quantity>, expected: f64) {
    let found = found.unwrap().value.unwrap();
    assert!(
        (found / expected - 1.0).abs() <= 0.001,
        "{found} instead of {expected}"
    );
}

#[test]
fn rate_and_percentiles_are_those_of_the_requests_after_the_warm_up() {
    let found = figures(Pace::Outstanding(8), &load(0));
    assert_near(found.requests_per_second.as_ref(), 100.0);
    for (percent, ms) in [(50.0, 100.0), (90.0, 180.0), (95.0, 190.0), (99.0, 198.0)] {
        assert_near(percentile(&found, percent).as_ref(), ms * MS as f64);
    }
    assert_near(found.max.as_ref(), 200.0 * MS as f64);
    // In a closed loop no request is late: each waits for another.
    assert_eq!(found.late, None);
}

#[test]
fn percentile_that_so_few_requests_do_not_have_is_not_given() {
    let found = figures(Pace::Outstanding(8), &load(0));
    assert_eq!(percentile(&found, 99.9), None);
}

#[test]
fn late_sends_of_an_open_loop_are_counted_over_all_blocks() {
    assert_eq!(figures(Pace::RatePerS(100), &load(0)).late, Some(30));
}

#[test]
fn requests_that_timed_out_are_at_least_as_long_as_the_timeout() {
    let found = figures(Pace::RatePerS(100), &load(4));
    // Only those that succeeded count to the rate.
    assert_near(found.requests_per_second.as_ref(), 98.0);
    assert_near(percentile(&found, 95.0).as_ref(), 190.0 * MS as f64);
    let timeout_ns = 10_000.0 * MS as f64;
    for censored in [percentile(&found, 99.0), found.max] {
        let censored = censored.unwrap();
        assert_eq!(
            (censored.bound, censored.value),
            (Bound::AtLeast, Some(timeout_ns))
        );
    }
}
