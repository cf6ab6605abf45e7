//! Determines which cells of a plan remain to be run. Fresh runs, resumed runs and shards are
//! handled alike.

use std::collections::BTreeMap;

use record::{Cell, Outcome};

use crate::plan::{Block, PlannedCell};

/// A block is run at most this often.
pub(crate) const MAX_ATTEMPTS: u32 = 3;
/// Where more of the blocks are noisy the machine is, and running them again would only take longer.
/// They are wanted for a second opinion: a verdict uses the first attempts.
const MAX_RERUN_SHARE: f64 = 0.2;
/// So that small runs repeat something, too.
const MIN_RERUN_BLOCKS: usize = 2;

/// A block with cells still to be run.
#[derive(Debug, PartialEq)]
pub struct RemainingBlock<'p> {
    /// The block.
    pub block: &'p Block,
    /// Number of the `commute run` that runs it, from 0.
    pub invocation: u32,
    /// Number of the attempt at the block, from 1.
    pub attempt: u32,
    /// Its cells that remain, in the order of running.
    pub cells: Vec<&'p PlannedCell>,
    /// The longest pause between two of its cells.
    pub limit_ns: u64,
}

impl RemainingBlock<'_> {
    /// Reports whether a cell ended too long ago for the next one to be back to back with it.
    pub fn is_interrupted(&self, last: &Done, monotonic_ns: u64) -> bool {
        monotonic_ns.saturating_sub(last.end_ns) > self.limit_ns
    }
}

/// Where and when a run goes on.
#[derive(Debug)]
pub struct ResumedAt<'a> {
    /// The kernel's id of this boot. The times of cells from another boot, or another machine, are not comparable.
    pub boot: &'a str,
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
}

/// What a recorded cell means for its block.
#[derive(Clone, Debug)]
pub struct Done {
    network: String,
    block: u32,
    id: String,
    invocation: u32,
    attempt: u32,
    noisy: bool,
    given_up: bool,
    /// None where it is unknown.
    boot: Option<String>,
    end_ns: u64,
}

impl Done {
    /// Takes from a record what decides whether its block is run again.
    pub fn new(cell: &Cell) -> Done {
        Done {
            network: cell.network.clone(),
            block: cell.block,
            id: cell.id.clone(),
            invocation: cell.invocation,
            attempt: cell.attempt,
            noisy: matches!(cell.outcome, Outcome::Noisy { .. }),
            given_up: matches!(cell.outcome, Outcome::GivenUp { .. }),
            boot: cell.machine.as_ref().map(|machine| machine.boot.clone()),
            end_ns: cell.started_ns + cell.took_ns,
        }
    }
}

/// Returns the blocks to be run next: those with cells that were never run, or, when there are none,
/// those to be run again. Running what is returned and asking again ends in nothing.
///
/// Blocks are run again because of a noisy cell if not too many are noisy. A failure of the driver is
/// a result; what the lab itself failed at has no record.
///
/// A block that was interrupted for longer than its `limit_ns`, or that another machine began, is run from its first
/// cell. Its cells would no longer be back to back otherwise.
pub fn remaining<'p>(
    blocks: impl Iterator<Item = &'p Block>,
    done: &[Done],
    now: &ResumedAt<'_>,
    limit_ns: impl Fn(&Block) -> u64,
) -> Vec<RemainingBlock<'p>> {
    let mut of_block: BTreeMap<(&str, u32), Vec<&Done>> = BTreeMap::new();
    for cell in done {
        of_block
            .entry((&cell.network, cell.block))
            .or_default()
            .push(cell);
    }
    let found: Vec<(&Block, &[&Done])> = blocks
        .filter_map(|block| {
            let network = &block.cells.first()?.planned.network;
            let found = of_block.get(&(network.as_str(), block.number));
            Some((block, found.map_or(&[][..], Vec::as_slice)))
        })
        .collect();
    let repeats_noisy = !too_noisy(&found);
    let (reruns, planned): (Vec<_>, Vec<_>) = found
        .into_iter()
        .filter_map(|(block, found)| {
            remaining_of(block, found, now, limit_ns(block), repeats_noisy)
        })
        .partition(|remaining| {
            remaining.attempt > 1 && remaining.cells.len() == remaining.block.cells.len()
        });
    if planned.is_empty() { reruns } else { planned }
}

/// Reports whether too many blocks were noisy in their first attempt for any to be run again.
fn too_noisy(blocks: &[(&Block, &[&Done])]) -> bool {
    let was_noisy =
        |(_, cells): &&(&Block, &[&Done])| cells.iter().any(|cell| cell.attempt == 1 && cell.noisy);
    let noisy = blocks.iter().filter(was_noisy).count();
    noisy > MIN_RERUN_BLOCKS && noisy as f64 > blocks.len() as f64 * MAX_RERUN_SHARE
}

fn remaining_of<'p>(
    block: &'p Block,
    found: &[&Done],
    now: &ResumedAt<'_>,
    limit_ns: u64,
    repeats_noisy: bool,
) -> Option<RemainingBlock<'p>> {
    let invocation = found.iter().map(|c| c.invocation).max().unwrap_or(1);
    let of_invocation = found.iter().filter(|c| c.invocation == invocation);
    let attempt = of_invocation.clone().map(|c| c.attempt).max().unwrap_or(1);
    let current: Vec<_> = of_invocation.filter(|c| c.attempt == attempt).collect();
    let missing: Vec<_> = block
        .cells
        .iter()
        .filter(|cell| current.iter().all(|c| c.id != cell.planned.id))
        .collect();
    let run = |invocation, attempt, cells| RemainingBlock {
        block,
        invocation,
        attempt,
        cells,
        limit_ns,
    };
    let whole = || block.cells.iter().collect();
    let rerun = || (attempt < MAX_ATTEMPTS).then(|| run(invocation, attempt + 1, whole()));
    if missing.is_empty() {
        return match repeats_noisy && current.iter().any(|c| c.noisy) {
            true => rerun(),
            false => None,
        };
    }
    // Of a cell that was given up, nothing was measured on any machine.
    let is_here = |c: &Done| c.given_up || c.boot.as_deref() == Some(now.boot);
    let same_boot = || current.iter().all(|c| is_here(c));
    let uninterrupted = match current.iter().map(|c| c.end_ns).max() {
        None => true,
        Some(end) => same_boot() && now.monotonic_ns.saturating_sub(end) <= limit_ns,
    };
    match (uninterrupted, attempt) {
        (true, _) => Some(run(invocation, attempt, missing)),
        (false, 1) => Some(run(invocation + 1, 1, whole())),
        // The block has a complete attempt already, which a new invocation would supersede.
        (false, _) => rerun(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::small_plan::small_plan;
    use crate::plan::{Plan, Shard};

    /// The boot of the machine that measured all cells.
    const BOOT: &str = "invented";

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
            loads: vec![],
            wire: record::Wire::default(),
            cost: record::Cost::default(),
            audit: record::Audit::default(),
            connections: vec![],
            stack: record::Stack::default(),
            machine: Some(machine(BOOT)),
            relay: None,
            moves: Vec::new(),
            radio: Vec::new(),
            started_ns: 1000,
            took_ns: 10,
        }
    }

    fn machine(boot: &str) -> record::Machine {
        record::Machine {
            boot: boot.into(),
            ..record::Machine::default()
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
            boot: BOOT,
            monotonic_ns,
        };
        let done: Vec<Done> = done.iter().map(Done::new).collect();
        remaining(plan.blocks.iter(), &done, &now, |_| 500)
    }

    /// Returns a record of every cell of the plan: with this outcome in block 0 and clean elsewhere.
    fn complete(plan: &Plan, outcome: &Outcome) -> Vec<Cell> {
        let of = |block: usize| {
            let outcome = if block == 0 { outcome } else { &Outcome::Clean };
            (0..plan.blocks[block].cells.len()).map(move |i| cell(plan, block, i, outcome.clone()))
        };
        (0..plan.blocks.len()).flat_map(of).collect()
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
            (soon[0].invocation, soon[0].attempt, soon[0].cells.len()),
            (1, 1, plan.blocks[0].cells.len() - 1)
        );
        let late = remaining_at(&plan, &done, 1010 + 501);
        assert_eq!(
            (late[0].invocation, late[0].attempt, late[0].cells.len()),
            (2, 1, plan.blocks[0].cells.len())
        );
    }

    #[test]
    fn a_block_of_another_machine_restarts_from_its_first_cell() {
        let plan = small_plan();
        let of = |index: usize, machine: Option<record::Machine>| Cell {
            machine,
            ..cell(&plan, 0, index, Outcome::Clean)
        };
        let other = || of(0, Some(machine("other")));
        let unknown = of(0, None);
        // The last one: this machine continued a block that another one began.
        let mixed = vec![other(), of(1, Some(machine(BOOT)))];
        for done in [vec![other()], vec![unknown], mixed] {
            let blocks = remaining_at(&plan, &done, 1010);
            assert_eq!(
                (blocks[0].invocation, blocks[0].cells.len()),
                (2, plan.blocks[0].cells.len())
            );
        }
    }

    #[test]
    fn a_finished_block_is_never_run_again() {
        let plan = small_plan();
        let done = complete(&plan, &Outcome::Clean);
        assert!(remaining_at(&plan, &done, u64::MAX).is_empty());
        let without_last = &done[..done.len() - 1];
        let blocks = remaining_at(&plan, without_last, u64::MAX);
        assert_eq!(blocks.len(), 1);
        assert_eq!(Some(blocks[0].block), plan.blocks.last());
    }

    #[test]
    fn a_block_with_a_noisy_cell_is_run_again_as_a_whole() {
        let plan = small_plan();
        let mut done = complete(&plan, &Outcome::Clean);
        done[1].outcome = noisy();
        for attempt in 2..=MAX_ATTEMPTS {
            let blocks = remaining_at(&plan, &done, u64::MAX);
            assert_eq!(blocks.len(), 1);
            let again = &blocks[0];
            assert_eq!(
                (again.block, again.invocation, again.attempt),
                (&plan.blocks[0], 1, attempt)
            );
            assert_eq!(again.cells.len(), plan.blocks[0].cells.len());
            for i in 0..again.cells.len() {
                done.push(Cell {
                    attempt,
                    ..cell(&plan, 0, i, noisy())
                });
            }
        }
        assert!(remaining_at(&plan, &done, u64::MAX).is_empty());
    }

    #[test]
    fn no_block_is_run_again_where_too_many_are_noisy() {
        let plan = small_plan();
        let with_noisy_blocks = |count: usize| {
            let mut done = complete(&plan, &Outcome::Clean);
            for cell in &mut done {
                let block = plan.blocks.iter().position(|b| {
                    b.number == cell.block && b.cells[0].planned.network == cell.network
                });
                if block.unwrap() < count {
                    cell.outcome = noisy();
                }
            }
            remaining_at(&plan, &done, u64::MAX).len()
        };
        assert_eq!(with_noisy_blocks(MIN_RERUN_BLOCKS), MIN_RERUN_BLOCKS);
        assert_eq!(with_noisy_blocks(MIN_RERUN_BLOCKS + 1), 0);
    }

    #[test]
    fn blocks_are_run_again_after_all_others() {
        let plan = small_plan();
        let mut done = complete(&plan, &noisy());
        done.pop();
        let blocks = remaining_at(&plan, &done, 1010);
        assert_eq!((blocks.len(), blocks[0].attempt), (1, 1));
        assert_ne!(blocks[0].block, &plan.blocks[0]);
    }

    #[test]
    fn a_failed_driver_is_a_result() {
        let plan = small_plan();
        let failed = Outcome::Failed {
            reason: "invented".into(),
        };
        let done = complete(&plan, &failed);
        assert!(remaining_at(&plan, &done, u64::MAX).is_empty());
    }

    #[test]
    fn an_interrupted_rerun_never_supersedes_the_first_attempt() {
        let plan = small_plan();
        let mut done = complete(&plan, &noisy());
        done.push(Cell {
            attempt: 2,
            ..cell(&plan, 0, 0, Outcome::Clean)
        });
        let soon = remaining_at(&plan, &done, 1010);
        assert_eq!((soon[0].invocation, soon[0].attempt), (1, 2));
        assert_eq!(soon[0].cells.len(), plan.blocks[0].cells.len() - 1);
        let late = remaining_at(&plan, &done, u64::MAX);
        assert_eq!((late[0].invocation, late[0].attempt), (1, 3));
        assert_eq!(late[0].cells.len(), plan.blocks[0].cells.len());
        done.push(Cell {
            attempt: 3,
            ..cell(&plan, 0, 0, Outcome::Clean)
        });
        assert!(remaining_at(&plan, &done, u64::MAX).is_empty());
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
