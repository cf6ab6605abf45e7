//! Merging shards gives the same run however they were split, ordered or repeated.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{cell, run};
use proptest::prelude::*;
use record::*;

/// Returns the cells of a run of four blocks: some have a second attempt, one block a second
/// invocation.
fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for planned in &run(4).plan {
        cells.push(cell(
            planned,
            1,
            1,
            Outcome::Noisy {
                reasons: vec!["invented".into()],
            },
        ));
        if planned.block % 2 == 0 {
            cells.push(cell(planned, 1, 2, Outcome::Clean));
        }
        if planned.block == 3 {
            cells.push(cell(planned, 2, 1, Outcome::Clean));
        }
    }
    cells
}

fn unsplit() -> RunData {
    RunData::new(run(4), cells()).unwrap()
}

proptest! {
    #[test]
    fn any_split_in_any_order_gives_the_same_run(
        shard_of in prop::collection::vec(0usize..4, cells().len()),
        order in Just((0..4).collect::<Vec<usize>>()).prop_shuffle(),
        repeated in 0usize..4,
    ) {
        let shard = |k| {
            let mine = cells().into_iter().zip(&shard_of).filter(|(_, s)| **s == k);
            RunData::new(run(4), mine.map(|(cell, _)| cell).collect()).unwrap()
        };
        let mut shards: Vec<_> = order.into_iter().map(shard).collect();
        shards.push(shard(repeated));
        prop_assert_eq!(merge(shards).unwrap(), unsplit());
    }

    /// Headers differ between machines.
    #[test]
    fn merging_is_associative(starts in prop::collection::vec(0u64..3, 3)) {
        let shard = |k: usize| {
            let mut run = run(4);
            run.started_unix_ns = starts[k];
            run.host.boot = format!("boot {k}");
            RunData::new(run, cells().into_iter().skip(k).step_by(3).collect()).unwrap()
        };
        let (a, b, c) = (shard(0), shard(1), shard(2));
        let left = merge(vec![merge(vec![a.clone(), b.clone()]).unwrap(), c.clone()]).unwrap();
        let right = merge(vec![merge(vec![c, b]).unwrap(), a]).unwrap();
        prop_assert_eq!(left.headers().len(), 3);
        prop_assert_eq!(left, right);
    }
}

#[test]
fn planned_calls_must_agree_and_have_a_group() {
    let mut other = run(4);
    other.calls[1].position = Position::First;
    let shards = vec![unsplit(), RunData::new(other, Vec::new()).unwrap()];
    let error = merge(shards).unwrap_err().to_string();
    assert!(error.contains("their planned calls differ"), "{error}");
    let mut wrong = run(1);
    wrong.calls[0].group = "nobody".into();
    let error = RunData::new(wrong, Vec::new()).unwrap_err().to_string();
    assert!(error.contains("planned call 1"), "{error}");
    let mut unordered = run(1);
    unordered.calls.reverse();
    let error = RunData::new(unordered, Vec::new()).unwrap_err().to_string();
    assert!(error.contains("not in order of id"), "{error}");
}

#[test]
fn merging_is_idempotent() {
    assert_eq!(merge(vec![unsplit(), unsplit()]).unwrap(), unsplit());
}

#[test]
fn the_first_attempt_of_the_last_invocation_counts() {
    let data = unsplit();
    let status = |block, invocation, attempt| {
        let found = data.with_status().into_iter().find(|(c, _)| {
            (c.block, c.invocation, c.attempt, c.arm.as_str())
                == (block, invocation, attempt, "one")
        });
        found.unwrap().1
    };
    assert_eq!(status(0, 1, 1), CellStatus::Counted);
    assert_eq!(status(0, 1, 2), CellStatus::Repeated);
    assert_eq!(status(1, 1, 1), CellStatus::Counted);
    assert_eq!(status(3, 1, 1), CellStatus::Superseded);
    assert_eq!(status(3, 2, 1), CellStatus::Counted);
}

/// A driver that died counts, whatever its next attempt measured.
#[test]
fn the_first_attempt_counts() {
    let run = run(1);
    let failed = Outcome::Failed {
        reason: "invented".into(),
    };
    let cells = [
        cell(&run.plan[0], 1, 1, failed),
        cell(&run.plan[0], 1, 2, Outcome::Clean),
    ];
    let data = RunData::new(run, cells.to_vec()).unwrap();
    let counted = |(_, status): &(&Cell, CellStatus)| *status == CellStatus::Counted;
    let found: Vec<u32> = (data.with_status().into_iter())
        .filter(counted)
        .map(|(cell, _)| cell.attempt)
        .collect();
    assert_eq!(found, [1]);
}

#[test]
fn restarting_a_block_supersedes_cells_not_yet_run_again() {
    let run = run(1);
    let old = run.plan.iter().map(|p| cell(p, 1, 1, Outcome::Clean));
    let new = cell(&run.plan[0], 2, 1, Outcome::Clean);
    let data = RunData::new(run.clone(), old.chain([new]).collect()).unwrap();
    let statuses: Vec<CellStatus> = data.with_status().into_iter().map(|(_, s)| s).collect();
    assert_eq!(
        statuses,
        [
            CellStatus::Superseded,
            CellStatus::Counted,
            CellStatus::Superseded
        ]
    );
}

#[test]
fn merging_different_runs_names_the_difference() {
    type Change = fn(&mut Run);
    let changes: [(&str, Change); 5] = [
        ("the seed is 7 in one and 8 in another", |r| r.seed = 8),
        ("the study", |r| r.study = "other".into()),
        ("planned cells differ (8 in one, 1 in another)", |r| {
            r.plan.truncate(1);
        }),
        ("the margin is not set in one and 5 ns in another", |r| {
            r.margin_ns = Some(5);
        }),
        ("networks differ (1 in one, 1 in another)", |r| {
            r.networks[0].rtt_ns += 1;
        }),
    ];
    for (difference, change) in changes {
        let mut other = run(4);
        change(&mut other);
        let other = RunData::new(other, Vec::new()).unwrap();
        let error = merge(vec![unsplit(), other]).unwrap_err().to_string();
        assert!(error.contains(difference), "{error}");
    }
    assert_eq!(merge(Vec::new()), Err(MergeError::NoRuns));
}

#[test]
fn conflicting_records_are_refused() {
    let run = run(1);
    let one = cell(&run.plan[0], 1, 1, Outcome::Clean);
    let mut other = one.clone();
    other.took_ns += 1;
    let shard = |cell| RunData::new(run.clone(), vec![cell]).unwrap();
    let error = merge(vec![shard(one), shard(other)])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("nowhere-0-two.1.1.json exists twice"),
        "{error}"
    );
}
