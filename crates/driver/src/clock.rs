//! `CLOCK_MONOTONIC`: the clock of the lab and of every driver on the same host.

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// Returns the time of `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Returns the resolution of `CLOCK_MONOTONIC` in nanoseconds, at least 1.
pub fn monotonic_resolution_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::Monotonic)).max(1)
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
