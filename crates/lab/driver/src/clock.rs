//! `CLOCK_MONOTONIC`: the clock of the lab and of every driver on the same host.

use std::time::Instant;

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

/// Returns the time of `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Returns when an instant of the standard library was, by `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_of(at: Instant) -> u64 {
    // Both clocks are read one after the other. Where the thread waited for a core in between, the readings
    // are far apart; the closest of a few are not.
    let readings = (0..5).map(|_| {
        let (before, now) = (monotonic_ns(), Instant::now());
        (monotonic_ns() - before, before, now)
    });
    let (apart, before, now) = readings
        .min_by_key(|(apart, ..)| *apart)
        .expect("five readings");
    let now_ns = before + apart / 2;
    match now.checked_duration_since(at) {
        Some(ago) => now_ns.saturating_sub(ago.as_nanos() as u64),
        None => now_ns + (at - now).as_nanos() as u64,
    }
}

/// Returns the resolution of `CLOCK_MONOTONIC` in nanoseconds, at least 1.
pub fn monotonic_resolution_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::Monotonic)).max(1)
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_their_places_on_the_clock() {
        let (now_ns, now) = (monotonic_ns(), Instant::now());
        let minute = std::time::Duration::from_secs(60);
        for (at, expected_ns) in [
            (now, now_ns),
            (now + minute, now_ns + 60_000_000_000),
            (now - minute, now_ns - 60_000_000_000),
        ] {
            // However busy the machine is, this thread gets a core within a second.
            let apart_ns = monotonic_of(at).abs_diff(expected_ns);
            assert!(apart_ns < 1_000_000_000, "{apart_ns} ns apart");
        }
    }
}
