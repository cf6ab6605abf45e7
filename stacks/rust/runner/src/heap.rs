//! An allocator that counts the bytes requested of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What the count means, for `hello`.
pub(crate) const MEANING: &str = "bytes requested of the allocator; a block that grows counts again in its whole size; \
     allocations in zstd's C code are not counted";

/// The system's allocator with a counter per thread. That costs a load, an addition and a store,
/// where an atomic counter would lock the bus in every timed loop.
#[derive(Debug)]
pub struct Counting;

/// Returns the bytes that this thread has requested since it started.
pub(crate) fn requested() -> u64 {
    REQUESTED.get()
}

thread_local! {
    /// Neither initialised lazily nor dropped, so the allocator may use it at any time.
    static REQUESTED: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    REQUESTED.set(REQUESTED.get().wrapping_add(bytes as u64));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, which is that of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}
