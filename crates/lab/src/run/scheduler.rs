//! Runs blocks in parallel, and the cells of each block one after another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use record::{Cell, Store};

use crate::plan::remaining::{MAX_RERUNS, RemainingBlock, wants_rerun};
use crate::plan::{Block, PlannedCell};

/// What happens during a run, for progress displays.
#[derive(Debug)]
pub enum Event<'a> {
    /// A cell begins.
    Started {
        /// The cell's id in the plan.
        id: &'a str,
        /// The attempt, from 1.
        attempt: u32,
    },
    /// A cell was recorded.
    Ended {
        /// The cell as recorded.
        cell: &'a Cell,
        /// Whether it will be run again at once.
        again: bool,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every cell has its record.
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

/// Runs cells one at a time.
pub(crate) trait CellRunner {
    /// Announces that cells will follow.
    fn join(&mut self) {}

    /// Announces that no more cells will follow.
    fn leave(&mut self) {}

    /// Runs one cell. A failure inside the cell is its outcome, not an error.
    fn run(&mut self, attempt: &Attempt<'_>) -> Cell;
}

/// Runs the remaining blocks on one thread per runner, until they are done or `stop` is set.
pub(crate) fn run<R: CellRunner + Send>(
    blocks: &[RemainingBlock<'_>],
    mut runners: Vec<R>,
    store: &Store,
    stop: &AtomicBool,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Ended, record::StoreError> {
    // All join before the first begins, so that none runs ahead.
    runners.iter_mut().for_each(CellRunner::join);
    let next = AtomicUsize::new(0);
    let error = Mutex::new(None);
    std::thread::scope(|scope| {
        for mut runner in runners {
            let (next, error) = (&next, &error);
            scope.spawn(move || {
                while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(e) = run_block(block, &mut runner, store, stop, observer) {
                        stop.store(true, Ordering::Relaxed);
                        error
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .replace(e);
                    }
                }
                runner.leave();
            });
        }
    });
    match error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(e) => Err(e),
        None if stop.load(Ordering::Relaxed) => Ok(Ended::Stopped),
        None => Ok(Ended::Complete),
    }
}

fn run_block<R: CellRunner>(
    remaining: &RemainingBlock<'_>,
    runner: &mut R,
    store: &Store,
    stop: &AtomicBool,
    observer: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), record::StoreError> {
    for &(cell, first_attempt) in &remaining.cells {
        for number in first_attempt..=MAX_RERUNS + 1 {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            observer(Event::Started {
                id: &cell.planned.id,
                attempt: number,
            });
            let done = runner.run(&Attempt {
                block: remaining.block,
                cell,
                invocation: remaining.invocation,
                number,
            });
            store.write_cell(&done)?;
            let again = wants_rerun(&done);
            observer(Event::Ended { cell: &done, again });
            if !again {
                break;
            }
        }
    }
    Ok(())
}
