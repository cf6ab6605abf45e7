//! Runs blocks in parallel, and the cells of each block one after another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use driver::clock::monotonic_ns;
use record::{Audit, Cell, Cost, Outcome, Stack, Store, Wire};
use study::plan::{Block, Done, PlannedCell, RemainingBlock};

use crate::error::LabError;
use crate::run::giving_up::GivingUp;

/// How often a cell is tried that the lab itself fails to run.
const LAB_TRIES: u32 = 3;

/// What happens during a run, for progress displays.
#[derive(Debug)]
pub enum Event<'a> {
    /// Every planned cell has been run, and blocks that were noisy or interrupted are run again.
    Again {
        /// How many cells that takes.
        cells: usize,
    },
    /// A cell begins.
    Started {
        /// The cell's id in the plan.
        id: &'a str,
        /// The attempt, from 1.
        attempt: u32,
    },
    /// The lab itself failed, e.g. its server ended; the cell is tried again on a new bench.
    LabFailed {
        /// The cell's id in the plan.
        id: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A cell was recorded.
    Ended {
        /// The cell as recorded.
        cell: &'a Cell,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every planned cell has its record, and no block is to be run again.
    Complete,
    /// It was asked to stop, and finished the cells in flight.
    Stopped,
}

/// One attempt at one cell.
pub(crate) struct Attempt<'p> {
    pub(crate) block: &'p Block,
    pub(crate) cell: &'p PlannedCell,
    pub(crate) invocation: u32,
    /// From 1.
    pub(crate) number: u32,
}

impl Attempt<'_> {
    /// Returns the record of a cell in which nothing was measured; it began at `started_ns`.
    pub(crate) fn unmeasured(&self, outcome: Outcome, started_ns: u64) -> Cell {
        let planned = &self.cell.planned;
        Cell {
            format: record::FORMAT,
            id: planned.id.clone(),
            network: planned.network.clone(),
            block: planned.block,
            arm: planned.arm.clone(),
            attempt: self.number,
            invocation: self.invocation,
            outcome,
            calls: Vec::new(),
            loads: Vec::new(),
            wire: Wire::default(),
            cost: Cost::default(),
            audit: Audit::default(),
            connections: Vec::new(),
            stack: Stack::default(),
            machine: None,
            moves: Vec::new(),
            radio: Vec::new(),
            relay: None,
            started_ns,
            took_ns: monotonic_ns().saturating_sub(started_ns),
        }
    }
}

/// What was recorded so far.
#[derive(Default)]
pub(crate) struct Progress {
    pub(crate) done: Vec<Done>,
    pub(crate) given_up: GivingUp,
}

/// Runs cells one at a time.
pub(crate) trait CellRunner {
    /// Announces that cells will follow.
    fn join(&mut self) {}

    /// Announces that no more cells will follow.
    fn leave(&mut self) {}

    /// Runs one cell. A failure of the driver is the cell's outcome; the error is the lab's own
    /// failure, which says nothing about the arm. After it the runner can try again.
    fn run(&mut self, attempt: &Attempt<'_>) -> Result<Cell, String>;
}

/// Runs blocks until `next`, which is given what was done, returns none, or `stop` is set.
pub(crate) fn run<'p, R: CellRunner + Send>(
    Progress { mut done, given_up }: Progress,
    next: impl Fn(&[Done]) -> Vec<RemainingBlock<'p>>,
    mut runners: Vec<R>,
    store: &Store,
    stop: &AtomicBool,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Ended, LabError> {
    let given_up = Mutex::new(given_up);
    let mut rounds = 0;
    loop {
        let blocks = next(&done);
        if blocks.is_empty() {
            return Ok(Ended::Complete);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Ended::Stopped);
        }
        if rounds > 0 {
            let cells = blocks.iter().map(|b| b.cells.len()).sum();
            observer(Event::Again { cells });
        }
        rounds += 1;
        let (rested, ran) = run_all(&blocks, runners, &given_up, store, stop, observer)?;
        runners = rested;
        done.extend(ran);
    }
}

/// Runs blocks on one thread per runner, until they are done or `stop` is set. Returns the runners
/// and what was done.
fn run_all<R: CellRunner + Send>(
    blocks: &[RemainingBlock<'_>],
    mut runners: Vec<R>,
    given_up: &Mutex<GivingUp>,
    store: &Store,
    stop: &AtomicBool,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(Vec<R>, Vec<Done>), LabError> {
    // All join before the first begins, so that none runs ahead.
    runners.iter_mut().for_each(CellRunner::join);
    let next = AtomicUsize::new(0);
    let ran = Mutex::new(Ok(Vec::new()));
    let rested = std::thread::scope(|scope| {
        let threads: Vec<_> = runners
            .into_iter()
            .map(|mut runner| {
                let (next, ran) = (&next, &ran);
                scope.spawn(move || {
                    while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let done = run_block(block, &mut runner, given_up, store, stop, observer);
                        let mut ran = ran.lock().unwrap_or_else(PoisonError::into_inner);
                        match (done, &mut *ran) {
                            (Ok(done), Ok(ran)) => ran.extend(done),
                            (Ok(_), Err(_)) => {}
                            (Err(e), ran) => {
                                stop.store(true, Ordering::Relaxed);
                                *ran = Err(e);
                            }
                        }
                    }
                    runner.leave();
                    runner
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(runner) => runner,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    let ran = ran.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    Ok((rested, ran))
}

fn run_block<R: CellRunner>(
    remaining: &RemainingBlock<'_>,
    runner: &mut R,
    given_up: &Mutex<GivingUp>,
    store: &Store,
    stop: &AtomicBool,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Vec<Done>, LabError> {
    let known = || given_up.lock().unwrap_or_else(PoisonError::into_inner);
    let mut ran = Vec::new();
    for &cell in &remaining.cells {
        // A record may take long to store. The block is then begun again.
        let is_interrupted =
            (ran.last()).is_some_and(|last| remaining.is_interrupted(last, monotonic_ns()));
        if is_interrupted || stop.load(Ordering::Relaxed) {
            break;
        }
        let attempt = Attempt {
            block: remaining.block,
            cell,
            invocation: remaining.invocation,
            number: remaining.attempt,
        };
        let reason = known().reason(&cell.planned);
        let done = match reason {
            Some(reason) => attempt.unmeasured(Outcome::GivenUp { reason }, monotonic_ns()),
            None => {
                observer(Event::Started {
                    id: &cell.planned.id,
                    attempt: remaining.attempt,
                });
                match run_cell(&attempt, runner, stop, observer)? {
                    Some(done) => done,
                    None => break,
                }
            }
        };
        store.write_cell(&done)?;
        known().add(&done);
        observer(Event::Ended { cell: &done });
        ran.push(Done::new(&done));
    }
    Ok(ran)
}

/// Runs a cell, again if the lab fails. A cell that the lab cannot run is left without a record, so
/// that resuming the run tries it again.
///
/// Returns none if the cell failed while `stop` was set. A scheduler such as Slurm signals all processes of a job, so the
/// driver or the server may have ended for that reason, which says nothing about the arm.
fn run_cell<R: CellRunner>(
    attempt: &Attempt<'_>,
    runner: &mut R,
    stop: &AtomicBool,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Option<Cell>, LabError> {
    let id = &attempt.cell.planned.id;
    let mut tries = 1;
    loop {
        let ran = runner.run(attempt);
        let failed = !matches!(&ran, Ok(cell) if !matches!(cell.outcome, Outcome::Failed { .. }));
        if failed && stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let reason = match ran {
            Ok(cell) => return Ok(Some(cell)),
            Err(reason) => reason,
        };
        if tries == LAB_TRIES {
            return Err(LabError::CellNotRun {
                id: id.clone(),
                tries,
                reason,
            });
        }
        observer(Event::LabFailed {
            id,
            reason: &reason,
        });
        tries += 1;
    }
}

#[cfg(test)]
mod tests;
