//! Is the core as fast as it can be?
//!
//! On a virtual machine a neighbour may share the core: nothing waits, no clock of ours tells,
//! and everything takes a third longer. So each sample stands between two *beats*, the runner's
//! empty loop for a fraction of a millisecond, and a beat that is slower than that runner's best
//! ones gives the neighbour away. A beat is the same whatever is timed; only garbage that is still
//! being collected when the second one begins may slow it.

use std::collections::VecDeque;

/// The beats of one runner.
pub(super) struct Pulse {
    iterations: u64,
    latest: VecDeque<u64>,
    since_look: usize,
    best_ns: u64,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            iterations: 1,
            latest: VecDeque::with_capacity(REMEMBERED),
            since_look: 0,
            best_ns: 0,
        }
    }
}

impl Pulse {
    /// Iterations of the empty loop in a beat.
    pub(super) fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Hears the beats before and after a sample; by which share the slower one is slower than
    /// the best ones.
    pub(super) fn hear(&mut self, beats_ns: [u64; 2]) -> f64 {
        for beat_ns in beats_ns {
            if self.latest.len() == REMEMBERED {
                self.latest.pop_front();
            }
            self.latest.push_back(beat_ns);
            self.since_look += 1;
        }
        if self.since_look >= LOOK.min(self.latest.len()) {
            self.look();
        }
        let [before, after] = beats_ns;
        (before.max(after) as f64 / self.best_ns.max(1) as f64 - 1.0).max(0.0)
    }

    fn look(&mut self) {
        self.since_look = 0;
        let mut sorted: Vec<u64> = self.latest.iter().copied().collect();
        let rank = (sorted.len() as f64 * BEST).floor() as usize;
        self.best_ns = *sorted.select_nth_unstable(rank).1;
        // At first, and whenever the runtime has learnt to do nothing faster.
        if self.best_ns < BEAT_NS / 2 {
            let longer = BEAT_NS.div_ceil(self.best_ns.max(1)).min(MOST_LONGER);
            self.iterations = self.iterations.saturating_mul(longer);
            self.latest.clear();
        }
    }
}

/// About as long as a beat takes: short beside a sample, long beside a clock.
const BEAT_NS: u64 = 300_000;
/// Its length is found step by step: a first call says little of those that follow.
const MOST_LONGER: u64 = 16;
/// Where among the remembered ones, from the fastest, the best is read: the very fastest may be
/// luck, or the loop before its runtime knew better.
const BEST: f64 = 0.1;
/// So many are forgotten together with how the machine was back then.
const REMEMBERED: usize = 2048;
/// The best is looked for again after so many.
const LOOK: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Beats of an operation that takes `ns`, off by up to 2 %.
    fn beat(pulse: &Pulse, ns: f64, i: u64) -> u64 {
        (pulse.iterations() as f64 * ns * (1.0 + 0.02 * (i % 7) as f64 / 7.0)) as u64
    }

    fn warmed(ns: f64) -> Pulse {
        let mut pulse = Pulse::default();
        for i in 0..200 {
            let beat = beat(&pulse, ns, i);
            pulse.hear([beat, beat]);
        }
        pulse
    }

    #[test]
    fn a_beat_is_as_long_as_it_should_be_whatever_nothing_costs() {
        for ns in [0.5, 2.0, 130.0, 1_000_000.0] {
            let long = warmed(ns).iterations() as f64 * ns;
            let wanted = (BEAT_NS as f64).max(ns);
            assert!(
                (wanted * 0.5..wanted * 16.0).contains(&long),
                "{ns}: {long}"
            );
        }
    }

    #[test]
    fn a_neighbour_is_heard_and_quiet_is_quiet() {
        let mut pulse = warmed(2.0);
        for i in 0..500 {
            let beat = beat(&pulse, 2.0, i);
            assert!(pulse.hear([beat, beat]) <= 0.03, "{i}");
        }
        // Nine of ten are slow before or after, and none of them is taken for quiet.
        for i in 0..1_000 {
            let (quiet, slow) = (beat(&pulse, 2.0, i), beat(&pulse, 3.0, i));
            let beats = match i % 10 {
                0 => [quiet, quiet],
                1..5 => [quiet, slow],
                _ => [slow, quiet],
            };
            let heard = pulse.hear(beats);
            assert_eq!(heard > 0.4, i % 10 != 0, "{i}: {heard}");
        }
    }

    #[test]
    fn what_was_faster_long_ago_is_forgotten() {
        let mut pulse = warmed(2.0);
        let slow = beat(&pulse, 6.0, 0);
        assert!(pulse.hear([slow, slow]) > 1.9);
        for _ in 0..REMEMBERED {
            pulse.hear([slow, slow]);
        }
        assert!(pulse.hear([slow, slow]) < f64::EPSILON);
    }
}
