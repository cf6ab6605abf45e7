//! The rate of a long body, and whether its rest comes faster over the other transport.
//!
//! Networks that police UDP let handshakes through and small responses, too; only a long body shows them. So a small
//! part of a body that comes slowly is fetched over the other transport as well. If that part comes twice as fast, the
//! rest is fetched there, too. Where both share one bottleneck they come about equally fast, and the body has cost a
//! few percent more bytes.
//!
//! Only time spent waiting for the body counts: an app that reads slowly makes no network slow.

use std::time::Duration;

/// Bodies that will be there sooner, or whose rest is smaller, are left alone.
const MIN_REST: Duration = Duration::from_secs(3);
const MIN_REST_BYTES: u64 = 512 << 10;
/// The part of the rest that is fetched over the other transport, too, within the bounds below.
const SAMPLE_SHARE: u64 = 64;
/// As much as two flights of a new connection (RFC 6928).
const MIN_SAMPLE_BYTES: u64 = 24 << 10;
const MAX_SAMPLE_BYTES: u64 = 128 << 10;
/// Parts after the first one are fetched only while all are at most this share of the body.
const MAX_SHARE: u64 = 32;
/// At most so much of the other transport's body is held in memory.
pub const MAX_AHEAD_BYTES: u64 = 256 << 10;
/// A comparison that is undecided for so long is given up.
const MAX_COMPARISON: Duration = Duration::from_secs(5);
/// How much faster the other transport must be.
const MIN_RATIO: f64 = 2.0;
/// A rate below this share of the best one is looked at again. Both are means of so many windows: after a loss nothing
/// comes for some round trips, and then much at once.
const SLOWDOWN: f64 = 0.5;
const SMOOTHED: usize = 4;

/// Which transport should deliver the rest of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateAdvice {
    /// Go on.
    Continue,
    /// Ask for this part over the other transport, too. Answer with [`RateMonitor::comparing`] when that has begun.
    Compare {
        /// Its first byte.
        from: u64,
        /// Its length.
        bytes: u64,
    },
    /// Take everything from that part's first byte on from the other transport, which is faster by this ratio.
    Switch {
        /// Its rate over this one's.
        ratio: f64,
    },
    /// Give up the other transport.
    Stay,
}

/// Monitors the rate of one body.
#[derive(Clone, Debug)]
pub struct RateMonitor {
    length: u64,
    position: u64,
    window: Rate,
    /// The windows before, the last one first.
    recent: [Rate; SMOOTHED],
    best_per_s: f64,
    /// In parts that were fetched twice.
    compared_bytes: u64,
    comparison: Option<Comparison>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    bytes: u64,
    time: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Comparison {
    /// The part that is fetched over both transports.
    from: u64,
    bytes: u64,
    /// The rate over this transport since the beginning of the window that gave rise to the comparison. After a loss
    /// much comes at once, and a shorter time would not show that.
    this: Rate,
    other: Rate,
    /// Time since the comparison began.
    waited: Duration,
}

impl RateMonitor {
    /// A rate is measured over this time; [`received`](Self::received) wants to know at least as
    /// often that nothing came.
    pub const WINDOW: Duration = Duration::from_secs(1);

    /// Monitors a body of this length from this byte on.
    pub fn new(length: u64, position: u64) -> Self {
        Self {
            length,
            position,
            window: Rate::default(),
            recent: Default::default(),
            best_per_s: 0.0,
            compared_bytes: 0,
            comparison: None,
        }
    }

    /// Reports whether enough of the body is missing to be worth another request.
    pub fn is_watching(&self) -> bool {
        self.length.saturating_sub(self.position) >= MIN_REST_BYTES
    }

    /// Counts `bytes` of the body. The app waited `waited` for them.
    pub fn received(&mut self, bytes: u64, waited: Duration) -> RateAdvice {
        self.position += bytes;
        if let Some(comparison) = &mut self.comparison {
            comparison.this.time += waited;
            comparison.waited += waited;
            comparison.this.bytes += bytes;
            return self.judge();
        }
        self.window.bytes += bytes;
        self.window.time += waited;
        if self.window.time < Self::WINDOW {
            return RateAdvice::Continue;
        }
        self.recent.rotate_right(1);
        self.recent[0] = std::mem::take(&mut self.window);
        let rate = self.recent[0].per_s();
        let rest = self.length.saturating_sub(self.position);
        let bytes = (rest / SAMPLE_SHARE).clamp(MIN_SAMPLE_BYTES, MAX_SAMPLE_BYTES);
        let is_first = self.compared_bytes == 0;
        let slow = self.slows_down() && self.compared_bytes + bytes <= self.length / MAX_SHARE;
        // What comes within a window is not asked for twice.
        let from = self.position + (rate * Self::WINDOW.as_secs_f64()) as u64;
        let worthwhile = rest as f64 > rate * MIN_REST.as_secs_f64()
            && self.length.saturating_sub(from) >= MIN_REST_BYTES;
        if (is_first || slow) && worthwhile {
            RateAdvice::Compare { from, bytes }
        } else {
            RateAdvice::Continue
        }
    }

    /// Reports whether the last windows together were much slower than others since the body was last compared.
    fn slows_down(&mut self) -> bool {
        if self.recent.iter().any(|window| window.time.is_zero()) {
            return false;
        }
        let sum = |sum: Rate, window: &Rate| Rate {
            bytes: sum.bytes + window.bytes,
            time: sum.time + window.time,
        };
        let rate = self.recent.iter().fold(Rate::default(), sum).per_s();
        self.best_per_s = self.best_per_s.max(rate);
        rate < SLOWDOWN * self.best_per_s
    }

    /// Records that this part is now fetched over the other transport, too.
    pub fn comparing(&mut self, from: u64, bytes: u64) {
        self.compared_bytes += bytes;
        self.comparison = Some(Comparison {
            from,
            bytes,
            this: self.recent[0],
            ..Comparison::default()
        });
    }

    /// Counts `bytes` of the compared part that came over the other transport. The app waited `waited` for them. `took`
    /// is the least time that all of them together took by the clock: they also come while the app does other things.
    pub fn other_received(&mut self, bytes: u64, waited: Duration, took: Duration) -> RateAdvice {
        let Some(comparison) = &mut self.comparison else {
            return RateAdvice::Continue;
        };
        comparison.this.time += waited;
        comparison.waited += waited;
        comparison.other.bytes += bytes;
        comparison.other.time = took;
        self.judge()
    }

    /// Ends a comparison: the other transport failed, or the body is now taken from there.
    pub fn settled(&mut self, position: u64) {
        (self.comparison, self.position) = (None, position);
        (self.window, self.recent, self.best_per_s) = Default::default();
    }

    fn judge(&self) -> RateAdvice {
        let Some(comparison) = self.comparison else {
            return RateAdvice::Continue;
        };
        let came = comparison.other.bytes;
        let is_whole = came >= comparison.bytes;
        if self.position > comparison.from + comparison.bytes {
            return RateAdvice::Stay;
        }
        if !is_whole && comparison.waited < MAX_COMPARISON {
            return RateAdvice::Continue;
        }
        // What this way has passed is not taken from the other.
        let is_ahead = self.position <= comparison.from + came;
        let ratio = comparison.other.per_s() / comparison.this.per_s().max(1.0);
        if is_ahead && came >= MIN_SAMPLE_BYTES && ratio >= MIN_RATIO {
            RateAdvice::Switch { ratio }
        } else {
            RateAdvice::Stay
        }
    }
}

impl Rate {
    fn per_s(self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64().max(1e-3)
    }
}

#[cfg(test)]
mod tests;
