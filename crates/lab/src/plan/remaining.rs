//! Determines which cells of a plan remain to be run. Fresh runs, resumed runs and shards are
//! handled alike.

use std::collections::BTreeMap;

use record::{Cell, Outcome};

use crate::plan::{Block, PlannedCell};

/// A noisy cell is run again at most this many times.
pub(crate) const MAX_RERUNS: u32 = 3;

/// A block with cells still to be run.
#[derive(Debug, PartialEq)]
pub(crate) struct RemainingBlock<'p> {
    pub(crate) block: &'p Block,
    pub(crate) invocation: u32,
    /// The cells to run, each with the number of its next attempt.
    pub(crate) cells: Vec<(&'p PlannedCell, u32)>,
}

/// When a run is resumed.
pub(crate) struct ResumedAt {
    /// Whether the records were made since the last boot; only then are their times comparable.
    pub(crate) same_boot: bool,
    pub(crate) monotonic_ns: u64,
}

/// Returns the blocks with cells still to be run.
///
/// A block that was interrupted for longer than its `limit_ns` is run again from its first cell,
/// since its cells would no longer be back to back.
pub(crate) fn remaining<'p>(
    blocks: impl Iterator<Item = &'p Block>,
    done: &[Cell],
    now: &ResumedAt,
    limit_ns: impl Fn(&Block) -> u64,
) -> Vec<RemainingBlock<'p>> {
    let mut of_block: BTreeMap<(&str, u32), Vec<&Cell>> = BTreeMap::new();
    for cell in done {
        of_block
            .entry((&cell.network, cell.block))
            .or_default()
            .push(cell);
    }
    blocks
        .filter_map(|block| {
            let key = block
                .cells
                .first()
                .map(|c| (c.planned.network.as_str(), block.number))?;
            let found = of_block.get(&key).map_or(&[][..], Vec::as_slice);
            remaining_of(block, found, now, limit_ns(block))
        })
        .collect()
}

fn remaining_of<'p>(
    block: &'p Block,
    found: &[&Cell],
    now: &ResumedAt,
    limit_ns: u64,
) -> Option<RemainingBlock<'p>> {
    let invocation = found.iter().map(|c| c.invocation).max().unwrap_or(1);
    let current: Vec<&&Cell> = found
        .iter()
        .filter(|c| c.invocation == invocation)
        .collect();
    let cells: Vec<_> = block
        .cells
        .iter()
        .filter_map(|cell| Some((cell, next_attempt(&cell.planned.id, &current)?)))
        .collect();
    if cells.is_empty() {
        return None;
    }
    let last_end_ns = current.iter().map(|c| c.started_ns + c.took_ns).max();
    let uninterrupted = match last_end_ns {
        None => true,
        Some(end) => now.same_boot && now.monotonic_ns.saturating_sub(end) <= limit_ns,
    };
    if uninterrupted {
        return Some(RemainingBlock {
            block,
            invocation,
            cells,
        });
    }
    let all = block.cells.iter().map(|c| (c, 1)).collect();
    Some(RemainingBlock {
        block,
        invocation: invocation + 1,
        cells: all,
    })
}

/// Returns the number of the cell's next attempt, or none when it has its final record.
fn next_attempt(id: &str, current: &[&&Cell]) -> Option<u32> {
    let last = current
        .iter()
        .filter(|c| c.id == id)
        .max_by_key(|c| c.attempt);
    match last {
        None => Some(1),
        Some(cell) if wants_rerun(cell) => Some(cell.attempt + 1),
        Some(_) => None,
    }
}

/// Returns whether the cell was noisy and has attempts left.
pub(crate) fn wants_rerun(cell: &Cell) -> bool {
    matches!(cell.outcome, Outcome::Noisy { .. }) && cell.attempt <= MAX_RERUNS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::small_plan;
    use crate::plan::{Plan, Shard};

    fn cell(plan: &Plan, block: usize, index: usize, outcome: Outcome) -> Cell {
        let planned = &plan.blocks[block].cells[index].planned;
        Cell {
            format: record::FORMAT,
            id: planned.id.clone(),
            network: planned.network.clone(),
            block: planned.block,
            arm: planned.arm.clone(),
            attempt: 1,
            invocation: 1,
            outcome,
            calls: vec![],
            wire: record::Wire::default(),
            cost: record::Cost::default(),
            audit: record::Audit::default(),
            connections: vec![],
            stack: record::Stack::default(),
            started_ns: 1000,
            took_ns: 10,
        }
    }

    fn noisy() -> Outcome {
        Outcome::Noisy {
            reasons: vec!["busy".into()],
        }
    }

    fn remaining_at<'p>(
        plan: &'p Plan,
        done: &[Cell],
        monotonic_ns: u64,
    ) -> Vec<RemainingBlock<'p>> {
        let now = ResumedAt {
            same_boot: true,
            monotonic_ns,
        };
        remaining(plan.blocks.iter(), done, &now, |_| 500)
    }

    #[test]
    fn a_fresh_run_has_every_cell_to_run() {
        let plan = small_plan();
        let blocks = remaining_at(&plan, &[], 0);
        let cells: usize = blocks.iter().map(|t| t.cells.len()).sum();
        assert_eq!(cells, plan.cells().count());
    }

    #[test]
    fn a_block_interrupted_for_long_restarts_from_its_first_cell() {
        let plan = small_plan();
        let done = [cell(&plan, 0, 0, Outcome::Clean)];
        let soon = remaining_at(&plan, &done, 1010 + 500);
        assert_eq!(
            (soon[0].invocation, soon[0].cells.len()),
            (1, plan.blocks[0].cells.len() - 1)
        );
        let late = remaining_at(&plan, &done, 1010 + 501);
        assert_eq!(
            (late[0].invocation, late[0].cells.len()),
            (2, plan.blocks[0].cells.len())
        );
        let now = ResumedAt {
            same_boot: false,
            monotonic_ns: 1010,
        };
        let rebooted = remaining(plan.blocks.iter(), &done, &now, |_| 500);
        assert_eq!(rebooted[0].invocation, 2);
    }

    #[test]
    fn a_finished_block_is_never_run_again() {
        let plan = small_plan();
        let done: Vec<Cell> = (0..plan.blocks[0].cells.len())
            .map(|i| cell(&plan, 0, i, Outcome::Clean))
            .collect();
        let blocks = remaining_at(&plan, &done, u64::MAX);
        assert!(blocks.iter().all(|t| t.block != &plan.blocks[0]));
    }

    #[test]
    fn a_noisy_cell_gets_four_attempts() {
        let plan = small_plan();
        let mut c = cell(&plan, 0, 0, noisy());
        let blocks = remaining_at(&plan, std::slice::from_ref(&c), 1010);
        assert_eq!(blocks[0].cells[0].1, 2);
        c.attempt = MAX_RERUNS + 1;
        let blocks = remaining_at(&plan, &[c], 1010);
        assert_eq!(blocks[0].cells.len(), plan.blocks[0].cells.len() - 1);
    }

    #[test]
    fn shards_partition_the_plan() {
        let plan = small_plan();
        let mut ids: Vec<&str> = (1..=2)
            .flat_map(|index| plan.shard(Shard { index, of: 2 }))
            .flat_map(|b| b.cells.iter().map(|c| c.planned.id.as_str()))
            .collect();
        let mut all: Vec<&str> = plan.cells().map(|c| c.id.as_str()).collect();
        ids.sort_unstable();
        all.sort_unstable();
        assert_eq!(ids, all);
    }
}
