//! The clock of every stamp.

use rustix::time::{ClockId, clock_getres, clock_gettime};

/// `CLOCK_MONOTONIC` now.
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// The smallest difference it can show.
pub fn resolution_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::Monotonic)).max(1)
}

fn nanoseconds(time: rustix::time::Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
