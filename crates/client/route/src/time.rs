//! Time as an argument: monotonic and wall-clock.

use std::ops::Add;
use std::time::Duration;

/// A time of the caller's monotonic clock, in ns since the engine began. Tests pass simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonotonicTime(u64);

/// Seconds since 1970 by the wall clock, for data that outlives the process. The clock may be wrong and may jump, so
/// nothing that it dates is trusted beyond a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallSeconds(pub u64);

impl MonotonicTime {
    /// Returns the time `ns` nanoseconds after the engine began.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns the nanoseconds since the engine began.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for MonotonicTime {
    type Output = Self;

    fn add(self, wait: Duration) -> Self {
        let ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(ns))
    }
}
