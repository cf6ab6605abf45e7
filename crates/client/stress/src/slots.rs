//! Ids that all threads use.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

const COUNT: usize = 16;

/// Ids that all threads use. The order of accesses is relaxed: otherwise the slots would order what the threads do, and
/// ThreadSanitizer would miss races in the library.
pub(crate) struct Slots([AtomicU64; COUNT]);

impl Slots {
    /// Creates slots with ids that nobody has, or that are given later.
    pub(crate) fn new() -> Self {
        Self(array::from_fn(|slot| AtomicU64::new(slot as u64)))
    }

    /// Returns the id in a slot. Only the low bits of `slot` count.
    pub(crate) fn get(&self, slot: u8) -> u64 {
        self.0[usize::from(slot) % COUNT].load(Ordering::Relaxed)
    }

    /// Stores an id and returns the one before.
    pub(crate) fn put(&self, slot: u8, id: u64) -> u64 {
        self.0[usize::from(slot) % COUNT].swap(id, Ordering::Relaxed)
    }

    /// Returns all ids.
    pub(crate) fn all(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|slot| slot.load(Ordering::Relaxed))
    }
}
