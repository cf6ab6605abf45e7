//! An allocator that counts what is asked of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted. A count of the thread's own costs a load, an addition and
/// a store, where an atomic one would lock the bus in every timed loop.
pub(crate) struct Counting;

/// In words, for `hello`.
pub(crate) const MEANING: &str = "bytes asked of the allocator; a block that grows counts anew in \
    its whole size; what zstd's C code asks for itself is not seen";

/// What this thread has asked for since it began.
pub(crate) fn asked() -> u64 {
    ASKED.get()
}

thread_local! {
    /// Neither made lazily nor dropped, so the allocator may use it at any time.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    ASKED.set(ASKED.get().wrapping_add(bytes as u64));
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the promises that `System` asks for, as they are the same.
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
