//! Converts kernel arrival stamps (CLOCK_REALTIME) to the model's clock (CLOCK_MONOTONIC).

use crate::sys;

const REFRESH_NS: u64 = 1_000_000_000;
/// No frame waits longer than this for the link's thread unless the machine stood still.
const MAX_AGE_NS: u64 = 1_000_000_000;

/// Converts arrival stamps. Reads the offset between the clocks every second, since the wall clock
/// is slewed and may step.
#[derive(Debug)]
pub(crate) struct StampClock {
    /// Wall clock minus monotonic clock.
    offset_ns: i64,
    refreshed_ns: u64,
    last_ns: u64,
}

impl StampClock {
    pub(crate) fn new(now_ns: u64) -> StampClock {
        StampClock {
            offset_ns: wall_offset_ns(),
            refreshed_ns: now_ns,
            last_ns: 0,
        }
    }

    /// Reads the offset again when it is older than a second.
    pub(crate) fn refresh(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.refreshed_ns) >= REFRESH_NS {
            self.offset_ns = wall_offset_ns();
            self.refreshed_ns = now_ns;
        }
    }

    /// Returns when a frame arrived: never after `now_ns`, read since then, and never before the previous frame,
    /// whatever the wall clock did.
    pub(crate) fn arrival_ns(&mut self, stamp_real_ns: u64, now_ns: u64) -> u64 {
        let arrival_ns = stamp_real_ns.saturating_add_signed(-self.offset_ns);
        // A stamp far in the past means that the wall clock stepped, not that the frame waited.
        let plausible = arrival_ns + MAX_AGE_NS >= now_ns;
        let arrival_ns = if plausible {
            arrival_ns.min(now_ns)
        } else {
            now_ns
        };
        self.last_ns = self.last_ns.max(arrival_ns);
        self.last_ns
    }
}

/// Returns CLOCK_REALTIME minus CLOCK_MONOTONIC, from the closest of three pairs of readings.
pub(crate) fn wall_offset_ns() -> i64 {
    let mut best = (u64::MAX, 0);
    for _ in 0..3 {
        let before = sys::monotonic_ns();
        let wall = sys::realtime_ns();
        let after = sys::monotonic_ns();
        let middle = before + (after - before) / 2;
        best = best.min((after - before, wall as i64 - middle as i64));
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> StampClock {
        StampClock {
            offset_ns: 5_000_000_000,
            refreshed_ns: 0,
            last_ns: 0,
        }
    }

    #[test]
    fn stamp_is_shifted_by_the_offset() {
        let now_ns = 10_000_000_000;
        assert_eq!(clock().arrival_ns(14_999_990_000, now_ns), 9_999_990_000);
    }

    #[test]
    fn stamps_are_monotonic_and_never_in_the_future() {
        let now_ns = 10_000_000_000;
        let mut clock = clock();
        assert_eq!(clock.arrival_ns(15_000_000_001, now_ns), now_ns);
        assert_eq!(clock.arrival_ns(14_999_999_000, now_ns), now_ns);
    }

    #[test]
    fn wall_clock_step_does_not_age_a_frame() {
        let now_ns = 10_000_000_000;
        assert_eq!(clock().arrival_ns(1_000_000_000, now_ns), now_ns);
    }
}
