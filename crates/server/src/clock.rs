//! The one clock: CLOCK_MONOTONIC, as the drivers and the link have it.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in ns.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Counted from boot: both parts are positive, and 2^64 ns are 584 years.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
