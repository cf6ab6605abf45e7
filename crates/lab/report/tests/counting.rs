//! Tests that requests and cells are counted, or not, as what they are.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Outcome, RunData};
use report::{human, summarise};
use stats::Verdict;

/// A cell whose driver died is a result: its calls count as at least the timeout.
#[test]
fn failed_cells_are_censored_and_not_dropped() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|c| c.arm == "quinn h3") {
        cell.calls.clear();
        cell.outcome = Outcome::Failed {
            reason: "the driver died (invented)".into(),
        };
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let arm = &summarise(&data).networks[0].arms[2];
    let time = arm.measures[0].time.as_ref().unwrap();
    assert_eq!((time.blocks, time.bound), (10, report::Bound::AtLeast));
    assert_eq!(
        arm.measures[0].comparison.as_ref().unwrap().verdict,
        Verdict::Slower
    );
}

/// Pairing request by request removes what the requests have in common, e.g. the same losses at the
/// same request of every block.
#[test]
fn blocks_are_paired_request_by_request() {
    let mut arms = quickstart();
    arms.truncate(3);
    arms[2].warm_ms = arms[0].warm_ms;
    let unsplit = data(&arms, &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in &mut cells {
        for call in &mut cell.calls {
            let shared = 1_000_000 * u64::from((call.id * 7 + cell.block * 13) % 40) * 10;
            let own = if cell.arm == "quinn h3" {
                10_000_000
            } else {
                0
            };
            call.end_ns = 133_000_000 + shared + own;
        }
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let arm = &summarise(&data).networks[0].arms[2];
    let warm = arm
        .measures
        .iter()
        .find(|m| m.label == "warm requests")
        .unwrap();
    let difference = &warm.comparison.as_ref().unwrap().difference;
    assert_eq!((difference.low, difference.high), (Some(10e6), Some(10e6)));
}

#[test]
fn median_of_timeouts_is_a_lower_bound() {
    let mut arms = quickstart();
    arms[2].time_out_every = 1;
    let text = human(&summarise(&data(&arms, &["true-metro"], 10, 1)), 160, false);
    assert!(text.contains("≥ 10 s"), "{text}");
    assert!(
        text.contains("first request: 30 of 30 requests timed out"),
        "{text}"
    );
}

#[test]
fn early_failures_are_not_fast() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for call in cells
        .iter_mut()
        .filter(|c| c.arm == "quinn h3")
        .flat_map(|c| &mut c.calls)
    {
        call.end_ns = 1_000_000;
        call.result = record::CallResult::Error {
            kind: "refused".into(),
            detail: "invented".into(),
        };
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    let text = human(&summary, 160, false);
    assert_eq!(
        summary.invalid,
        ["true-metro: 160 of 160 requests of quinn h3 failed (refused: invented)"]
    );
    assert!(
        text.starts_with("INVALID: true-metro: 160 of 160"),
        "{text}"
    );
    let quinn = &summary.networks[0].arms[2];
    assert!(
        quinn
            .comparisons()
            .all(|(_, c)| c.verdict != Verdict::Faster)
    );
    assert!(
        text.contains("first request: 30 of 30 requests failed"),
        "{text}"
    );
}

/// An arm whose slow cells were all noisy must not gain from repeating them: the first attempts
/// count, and the report says what clean cells alone would.
#[test]
fn first_attempts_count_and_clean_cells_are_shown_beside_them() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = Vec::new();
    for cell in unsplit.cells() {
        if cell.arm == "quinn h3" && cell.block < 6 {
            let mut first = cell.clone();
            first.outcome = Outcome::Noisy {
                reasons: vec!["invented".into()],
            };
            first.calls.iter_mut().for_each(|call| call.end_ns *= 4);
            cells.push(first);
        } else {
            cells.push(cell.clone());
        }
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    let comparison = summary.networks[0].arms[2].measures[0]
        .comparison
        .as_ref()
        .unwrap();
    assert_eq!(comparison.difference.blocks, 10);
    assert_ne!(comparison.verdict, Verdict::Faster);
    // Four blocks are clean.
    assert!(matches!(
        comparison.clean_only,
        Some(Verdict::CannotTell { blocks: 4, .. })
    ));
}

/// Noise outside a cell is no reason to lose it.
#[test]
fn noisy_cells_give_verdicts_without_a_clean_one() {
    let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = unsplit.cells().to_vec();
    for cell in cells.iter_mut().filter(|cell| cell.is_measured()) {
        cell.outcome = Outcome::Noisy {
            reasons: vec!["steal 9 % (invented)".into()],
        };
    }
    let data = RunData::new(unsplit.run().clone(), cells).unwrap();
    let text = human(&summarise(&data), 120, false);
    assert!(text.starts_with("Use quinn h3 on true-metro."), "{text}");
    let noisy = "10 noisy, e.g.: steal 9 % (invented)";
    assert!(text.contains(noisy), "{text}");
}
