//! Reads the cells of a run on several threads.

use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::cell::{CallList, Cell};
use crate::collect::Collector;
use crate::store::StoreError;

/// The most threads that read cells.
const MAX_READERS: usize = 8;

impl<C: CallList + PartialEq> Collector<C> {
    /// Adds so many cells of a run in `place`, which `read` returns by number, in any order. Reads on as many threads as
    /// there are cores, so that each has one record in memory as it is. Returns the error with the least number.
    pub fn add_cells(
        &mut self,
        place: &Path,
        cells: usize,
        read: impl Fn(usize) -> Result<Cell<C>, StoreError> + Sync,
    ) -> Result<(), StoreError>
    where
        C: Send,
    {
        self.reserve(cells);
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let next = AtomicUsize::new(0);
        let next_number = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < cells);
        let mut failed: Option<(usize, StoreError)> = None;
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(0);
            for _ in 0..threads.min(MAX_READERS).min(cells) {
                let (sender, next_number, read) = (sender.clone(), &next_number, &read);
                scope.spawn(move || {
                    while let Some(number) = next_number() {
                        // The receiver stays until all senders are gone.
                        sender.send((number, read(number))).ok();
                    }
                });
            }
            drop(sender);
            for (number, read) in receiver {
                let added = read.and_then(|cell| {
                    let added = self.add_cell(cell);
                    added.map_err(|source| StoreError::inconsistent(place, source.into()))
                });
                if let Err(error) = added {
                    next.store(cells, Ordering::Relaxed);
                    if failed.as_ref().is_none_or(|(first, _)| number < *first) {
                        failed = Some((number, error));
                    }
                }
            }
        });
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }
}
