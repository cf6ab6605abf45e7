//! Detects a noisy neighbour on the core.
//!
//! On a virtual machine another guest may share the core: nothing waits, no counter of ours shows
//! it, and everything takes a third longer. So each sample runs between two *reference loops*: the
//! runner's empty loop for a fraction of a millisecond. A reference loop that is slower than the
//! runner's fastest ones reveals the neighbour. It is the same whatever is being timed; only
//! garbage collection that is still going on when the second one starts may slow it.

use std::collections::VecDeque;

/// About how long a reference loop takes: short beside a sample, long beside a clock reading.
const REFERENCE_NS: u64 = 300_000;
/// The loop's length is found in steps of at most this factor, because first calls are slow.
const MAX_GROWTH: u64 = 16;
/// The quantile of the recorded loops that counts as full speed. The very fastest may be a fluke,
/// or from before the runtime optimised the loop.
const FULL_SPEED_QUANTILE: f64 = 0.1;
/// Loops that are kept; older ones no longer describe the machine.
const WINDOW: usize = 2048;
/// The quantile is recomputed after this many loops.
const RECOMPUTE_EVERY: usize = 32;

/// Compares a runner's reference loops with its fastest ones.
pub(super) struct CoreSpeedMonitor {
    iterations: u64,
    latest_ns: VecDeque<u64>,
    since_recompute: usize,
    full_speed_ns: u64,
}

impl Default for CoreSpeedMonitor {
    fn default() -> Self {
        Self {
            iterations: 1,
            latest_ns: VecDeque::with_capacity(WINDOW),
            since_recompute: 0,
            full_speed_ns: 0,
        }
    }
}

impl CoreSpeedMonitor {
    /// Returns the iterations of the empty loop that make a reference loop.
    pub(super) fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Records the reference loops before and after a sample. Returns by which share the slower of
    /// the two is slower than full speed.
    pub(super) fn record(&mut self, loops_ns: [u64; 2]) -> f64 {
        for loop_ns in loops_ns {
            if self.latest_ns.len() == WINDOW {
                self.latest_ns.pop_front();
            }
            self.latest_ns.push_back(loop_ns);
            self.since_recompute += 1;
        }
        if self.since_recompute >= RECOMPUTE_EVERY.min(self.latest_ns.len()) {
            self.recompute();
        }
        let [before, after] = loops_ns;
        (before.max(after) as f64 / self.full_speed_ns.max(1) as f64 - 1.0).max(0.0)
    }

    fn recompute(&mut self) {
        self.since_recompute = 0;
        let mut sorted: Vec<u64> = self.latest_ns.iter().copied().collect();
        let rank = (sorted.len() as f64 * FULL_SPEED_QUANTILE).floor() as usize;
        self.full_speed_ns = *sorted.select_nth_unstable(rank).1;
        // At the start, and whenever the runtime has compiled the empty loop to something faster.
        if self.full_speed_ns < REFERENCE_NS / 2 {
            let growth = REFERENCE_NS
                .div_ceil(self.full_speed_ns.max(1))
                .min(MAX_GROWTH);
            self.iterations = self.iterations.saturating_mul(growth);
            self.latest_ns.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time of a reference loop whose iterations take `ns`, varied by up to 2 %.
    fn reference_loop(monitor: &CoreSpeedMonitor, ns: f64, i: u64) -> u64 {
        (monitor.iterations() as f64 * ns * (1.0 + 0.02 * (i % 7) as f64 / 7.0)) as u64
    }

    fn warmed_up(ns: f64) -> CoreSpeedMonitor {
        let mut monitor = CoreSpeedMonitor::default();
        for i in 0..200 {
            let quiet = reference_loop(&monitor, ns, i);
            monitor.record([quiet, quiet]);
        }
        monitor
    }

    #[test]
    fn length_is_found_whatever_an_iteration_costs() {
        for ns in [0.5, 2.0, 130.0, 1_000_000.0] {
            let length = warmed_up(ns).iterations() as f64 * ns;
            let wanted = (REFERENCE_NS as f64).max(ns);
            assert!(
                (wanted * 0.5..wanted * 16.0).contains(&length),
                "{ns}: {length}"
            );
        }
    }

    #[test]
    fn neighbour_is_detected_before_or_after_a_sample() {
        let mut monitor = warmed_up(2.0);
        for i in 0..500 {
            let quiet = reference_loop(&monitor, 2.0, i);
            assert!(monitor.record([quiet, quiet]) <= 0.03, "{i}");
        }
        // Nine samples in ten have a slow loop before or after them.
        for i in 0..1_000 {
            let quiet = reference_loop(&monitor, 2.0, i);
            let slow = reference_loop(&monitor, 3.0, i);
            let loops = match i % 10 {
                0 => [quiet, quiet],
                1..5 => [quiet, slow],
                _ => [slow, quiet],
            };
            let slowdown = monitor.record(loops);
            assert_eq!(slowdown > 0.4, i % 10 != 0, "{i}: {slowdown}");
        }
    }

    #[test]
    fn old_loops_are_forgotten() {
        let mut monitor = warmed_up(2.0);
        let slow = reference_loop(&monitor, 6.0, 0);
        assert!(monitor.record([slow, slow]) > 1.9);
        for _ in 0..WINDOW {
            monitor.record([slow, slow]);
        }
        assert!(monitor.record([slow, slow]) < f64::EPSILON);
    }
}
