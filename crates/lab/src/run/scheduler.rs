//! Runs what is left of a plan: blocks side by side, cells one after another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use record::{Cell, Store};

use crate::plan::remaining::{MAX_RERUNS, Todo, wants_rerun};
use crate::plan::{Block, PlannedCell};

/// Something people watching a run want to know.
#[derive(Debug)]
pub enum Event<'a> {
    /// A cell begins.
    Started {
        /// Its id.
        id: &'a str,
        /// From 1.
        attempt: u32,
    },
    /// A cell was recorded.
    Ended {
        /// As recorded.
        cell: &'a Cell,
        /// It will be run again at once.
        again: bool,
    },
}

/// What runs one cell on one bench. One a worker.
pub(crate) trait Runner {
    /// Runs one cell. What goes wrong inside the cell is its outcome, not an error.
    fn run(&mut self, todo: &Ticket<'_>) -> Cell;
}

/// One cell to run.
pub(crate) struct Ticket<'p> {
    pub(crate) block: &'p Block,
    pub(crate) cell: &'p PlannedCell,
    pub(crate) invocation: u32,
    pub(crate) attempt: u32,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every cell has its record.
    Complete,
    /// Asked to stop; the cell in flight was finished.
    Stopped,
}

/// Runs `todo` with one worker a runner; stops between cells when `stop` is set.
pub(crate) fn run<R: Runner + Send>(
    todo: &[Todo<'_>],
    runners: Vec<R>,
    store: &Store,
    stop: &AtomicBool,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Ended, record::StoreError> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for mut runner in runners {
            let (next, failed) = (&next, &failed);
            scope.spawn(move || {
                while let Some(block) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(e) = run_block(block, &mut runner, store, stop, watch) {
                        stop.store(true, Ordering::Relaxed);
                        failed
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .replace(e);
                    }
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(e) => Err(e),
        None if stop.load(Ordering::Relaxed) => Ok(Ended::Stopped),
        None => Ok(Ended::Complete),
    }
}

fn run_block<R: Runner>(
    todo: &Todo<'_>,
    runner: &mut R,
    store: &Store,
    stop: &AtomicBool,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), record::StoreError> {
    for &(cell, first_attempt) in &todo.cells {
        for attempt in first_attempt..=MAX_RERUNS + 1 {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let (block, invocation) = (todo.block, todo.invocation);
            watch(Event::Started {
                id: &cell.planned.id,
                attempt,
            });
            let done = runner.run(&Ticket {
                block,
                cell,
                invocation,
                attempt,
            });
            store.write_cell(&done)?;
            let again = wants_rerun(&done);
            watch(Event::Ended { cell: &done, again });
            if !again {
                break;
            }
        }
    }
    Ok(())
}
