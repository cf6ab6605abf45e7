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
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Runs two transports with these rates in bytes per ms, the other one after a delay. Returns when the advice to
    /// switch or stay came, in ms, the advice, and the byte where the other transport takes over.
    fn run(length: u64, this: u64, other: u64) -> (u64, RateAdvice, u64) {
        let mut pace = RateMonitor::new(length, 0);
        let (mut from, mut began) = (0, None);
        for ms in 0..60_000_u64 {
            let mut advice = pace.received(this, MS);
            if let RateAdvice::Compare { from: at, bytes } = advice {
                (from, began) = (at, Some(ms));
                pace.comparing(at, bytes);
                advice = RateAdvice::Continue;
            }
            // 130 ms to connect, 70 ms for the first byte.
            let first = began.map(|began| began + 200);
            if let Some(since) = first.and_then(|first| ms.checked_sub(first))
                && advice == RateAdvice::Continue
            {
                let took = Duration::from_millis(since.max(70));
                advice = pace.other_received(other, Duration::ZERO, took);
            }
            if advice != RateAdvice::Continue {
                return (ms, advice, from);
            }
            if pace.position >= length {
                break;
            }
        }
        (0, RateAdvice::Continue, from)
    }

    #[test]
    fn a_policed_body_switches_within_two_and_a_half_seconds() {
        // 200 kbit/s against 10 Mbit/s.
        let (ms, advice, from) = run(10_000_000, 25, 1_250);
        assert!(
            matches!(advice, RateAdvice::Switch { ratio } if ratio > 20.0),
            "{advice:?}"
        );
        assert!((1_200..2_500).contains(&ms), "{ms}");
        assert!(from <= 60_000, "the slow way still owes {from} bytes");
    }

    #[test]
    fn ways_that_share_a_bottleneck_stay() {
        for (this, other) in [(600, 600), (500, 700), (900, 300)] {
            let (_, advice, _) = run(10_000_000, this, other);
            assert_eq!(advice, RateAdvice::Stay, "{this} {other}");
        }
    }

    /// Returns a body at this rate in bytes per ms that has just been compared, with the first byte and length of the
    /// compared part.
    fn compared(length: u64, this: u64) -> (RateMonitor, u64, u64) {
        let mut pace = RateMonitor::new(length, 0);
        loop {
            if let RateAdvice::Compare { from, bytes } = pace.received(this, MS) {
                pace.comparing(from, bytes);
                return (pace, from, bytes);
            }
        }
    }

    #[test]
    fn what_was_held_back_by_a_loss_does_not_hide_a_slow_way() {
        let (mut pace, _, bytes) = compared(10_000_000, 25);
        assert_eq!(
            pace.other_received(1_000, MS, 50 * MS),
            RateAdvice::Continue
        );
        assert_eq!(pace.received(100_000, MS), RateAdvice::Continue);
        let advice = pace.other_received(bytes - 1_000, 200 * MS, 200 * MS);
        assert!(matches!(advice, RateAdvice::Switch { .. }), "{advice:?}");
    }

    #[test]
    fn what_came_while_the_app_was_away_is_no_fast_way() {
        let (mut pace, _, bytes) = compared(10_000_000, 300);
        let took = Duration::from_secs(2);
        assert_eq!(
            pace.other_received(bytes, Duration::ZERO, took),
            RateAdvice::Stay
        );
    }

    #[test]
    fn what_connecting_took_says_nothing_of_a_way() {
        let (_, advice, _) = run(20_000_000, 500, 6_000);
        assert!(matches!(advice, RateAdvice::Switch { .. }), "{advice:?}");
    }

    #[test]
    fn two_slow_ways_are_judged_by_what_came_in_time() {
        let (ms, advice, _) = run(10_000_000, 2, 20);
        assert!(matches!(advice, RateAdvice::Switch { .. }), "{advice:?}");
        assert!((5_900..6_100).contains(&ms), "{ms}");
        assert_eq!(
            run(10_000_000, 2, 4).1,
            RateAdvice::Stay,
            "too little to judge by"
        );
        assert_eq!(run(10_000_000, 20, 25).1, RateAdvice::Stay);
    }

    #[test]
    fn a_small_share_of_the_rest_is_asked_for_twice() {
        for (length, sample) in [
            (600_000, MIN_SAMPLE_BYTES),
            (3_225_000, 50_000),
            (20_000_000, MAX_SAMPLE_BYTES),
        ] {
            let (_, from, bytes) = compared(length, 25);
            assert_eq!((from, bytes), (50_000, sample), "{length}");
        }
    }

    #[test]
    fn a_part_that_has_come_this_way_is_not_taken_from_the_other() {
        let (mut pace, from, bytes) = compared(10_000_000, 25);
        let rest_of_part = from + bytes - pace.position;
        assert_eq!(pace.received(rest_of_part, MS), RateAdvice::Continue);
        assert_eq!(pace.received(1, MS), RateAdvice::Stay);
    }

    #[test]
    fn short_rests_and_slow_apps_are_left_alone() {
        assert_eq!(run(1_000_000, 400, 4_000), (0, RateAdvice::Continue, 0));
        assert_eq!(run(500_000, 25, 1_250), (0, RateAdvice::Continue, 0));
        let mut pace = RateMonitor::new(10_000_000, 0);
        for _ in 0..1_000 {
            assert_eq!(pace.received(25, Duration::ZERO), RateAdvice::Continue);
        }
    }

    #[test]
    fn it_is_compared_once_unless_it_slows_down() {
        let mut pace = RateMonitor::new(100_000_000, 0);
        let mut compared = Vec::new();
        for ms in 0..20_000 {
            let rate = if ms < 10_000 { 1_000 } else { 400 };
            match pace.received(rate, MS) {
                RateAdvice::Compare { from, bytes } => {
                    compared.push(ms / 1_000);
                    pace.comparing(from, bytes);
                }
                RateAdvice::Stay => pace.settled(pace.position),
                _ => {}
            }
        }
        assert_eq!(compared, [0, 14]);
    }

    #[test]
    fn what_comes_in_bursts_is_compared_once() {
        let mut pace = RateMonitor::new(2_000_000, 0);
        let mut compared = 0;
        // 32 kB/s, of which nothing comes for two seconds in five.
        for ms in 0..60_000 {
            let rate = match ms % 5_000 {
                2_000..4_000 => 0,
                4_000..5_000 => 96,
                _ => 32,
            };
            match pace.received(rate, MS) {
                RateAdvice::Compare { from, bytes } => {
                    compared += 1;
                    pace.comparing(from, bytes);
                }
                RateAdvice::Stay => pace.settled(pace.position),
                _ => {}
            }
        }
        assert_eq!(compared, 1);
    }

    #[test]
    fn parts_that_are_asked_for_twice_are_a_small_share_of_the_body() {
        for length in [600_000, 2_000_000, 20_000_000] {
            let mut pace = RateMonitor::new(length, 0);
            let mut parts = Vec::new();
            // Slower and slower: each time is worth a look.
            for window in 0_i32.. {
                let advice = pace.received(
                    (length as f64 / 20.0 * 0.8_f64.powi(window)) as u64,
                    RateMonitor::WINDOW,
                );
                match advice {
                    RateAdvice::Compare { from, bytes } => {
                        parts.push(bytes);
                        pace.comparing(from, bytes);
                    }
                    RateAdvice::Stay => pace.settled(pace.position),
                    _ if window > 200 => break,
                    _ => {}
                }
            }
            let sum: u64 = parts.iter().sum();
            let least = if length < 1_000_000 { 1 } else { 2 };
            assert!(parts.len() >= least, "{parts:?}");
            assert!(parts.len() == 1 || sum <= length / 32, "{parts:?}");
        }
    }

    #[test]
    fn a_way_that_brings_nothing_is_given_up() {
        assert_eq!(run(10_000_000, 25, 0).1, RateAdvice::Stay);
    }
}
