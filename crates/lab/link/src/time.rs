//! Units of time.

/// Nanoseconds in a millisecond.
pub const NS_PER_MS: u64 = 1_000_000;
