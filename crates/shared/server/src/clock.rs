//! CLOCK_MONOTONIC, the clock that drivers and link use too.

use rustix::time::{ClockId, clock_gettime};

/// Returns CLOCK_MONOTONIC in ns.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Both parts count from boot and are not negative, and 2^64 ns are 584 years.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
