//! Waiting for a deadline: sleep until shortly before it, then spin, as long as spinning is
//! cheap.
//!
//! A sleep ends 13 us (median) to 33 us (p99) late even under SCHED_FIFO with a timer slack of
//! 1 ns; spinning from there on hits the deadline within 0.2 us. A spinning thread takes the
//! core from the programs under test, so it has a budget.

use std::time::Duration;

/// How to wait for a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It is due.
    Now,
    /// Sleep this long, then look again.
    Sleep(Duration),
    /// Look again at once, and again, until the deadline.
    Spin,
}

/// Decides how to wait, and keeps account of what spinning cost.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// Spinning allowed, in ns per 1000 ns.
    share_permille: u64,
    budget_ns: u64,
    filled_ns: u64,
    /// How late sleeps end: a moving average.
    overshoot_ns: u64,
}

impl Waiter {
    /// A waiter that may spin `share_permille` of the time.
    pub(crate) fn new(now_ns: u64, share_permille: u64) -> Waiter {
        Waiter {
            share_permille,
            budget_ns: BUDGET_CAP_NS,
            filled_ns: now_ns,
            overshoot_ns: 15_000,
        }
    }

    /// How to wait for something that is `left_ns` ahead.
    pub(crate) fn wait(&mut self, now_ns: u64, left_ns: u64) -> Wait {
        let earned_ns = (now_ns - self.filled_ns) * self.share_permille / 1000;
        if earned_ns > 0 {
            self.budget_ns = (self.budget_ns + earned_ns).min(BUDGET_CAP_NS);
            self.filled_ns = now_ns;
        }
        let guard_ns = self.guard_ns();
        if left_ns == 0 {
            Wait::Now
        } else if left_ns > guard_ns {
            Wait::Sleep(Duration::from_nanos(left_ns - guard_ns))
        } else if guard_ns == 0 {
            Wait::Sleep(Duration::from_nanos(left_ns))
        } else {
            Wait::Spin
        }
    }

    /// A sleep of this length took that long.
    pub(crate) fn slept(&mut self, meant: Duration, took_ns: u64) {
        let over_ns = took_ns
            .saturating_sub(meant.as_nanos() as u64)
            .min(GUARD_MAX_NS);
        self.overshoot_ns = (self.overshoot_ns * 15 + over_ns) / 16;
    }

    /// Spun so long.
    pub(crate) fn spun(&mut self, ns: u64) {
        self.budget_ns = self.budget_ns.saturating_sub(ns);
    }

    /// How long before a deadline to wake up. With the budget full twice what a sleep is usually
    /// late, so that most sleeps end in time; as it empties down to just that, where half end
    /// in time and spinning costs next to nothing; without any budget, not before at all.
    fn guard_ns(&self) -> u64 {
        if self.budget_ns < GUARD_MAX_NS {
            return 0;
        }
        let spare_ns = self.overshoot_ns * self.budget_ns / BUDGET_CAP_NS;
        (self.overshoot_ns + spare_ns).clamp(GUARD_MIN_NS, GUARD_MAX_NS)
    }
}

/// A sleep's 99th percentile of lateness under load (33 us) and half as much again.
const GUARD_MAX_NS: u64 = 50_000;
const GUARD_MIN_NS: u64 = 10_000;
/// A budget saved up while nothing is sent lets a burst be exact from its start.
const BUDGET_CAP_NS: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_first_and_spins_last() {
        let mut waiter = Waiter::new(0, 25);
        let Wait::Sleep(first) = waiter.wait(0, 1_000_000) else {
            panic!("too early to spin")
        };
        let left_ns = 1_000_000 - first.as_nanos() as u64;
        assert!(
            (GUARD_MIN_NS..=GUARD_MAX_NS).contains(&left_ns),
            "{left_ns}"
        );
        assert_eq!(waiter.wait(first.as_nanos() as u64, left_ns), Wait::Spin);
    }

    #[test]
    fn without_budget_it_only_sleeps_and_time_earns_new() {
        let mut waiter = Waiter::new(0, 25);
        waiter.spun(BUDGET_CAP_NS);
        assert_eq!(
            waiter.wait(0, 5_000),
            Wait::Sleep(Duration::from_nanos(5_000))
        );
        // 50 us at 25 permille take 2 ms to earn.
        assert!(matches!(waiter.wait(1_900_000, 5_000), Wait::Sleep(_)));
        assert_eq!(waiter.wait(2_100_000, 5_000), Wait::Spin);
    }

    #[test]
    fn spinning_never_exceeds_its_share_for_long() {
        let mut waiter = Waiter::new(0, 25);
        let (mut now_ns, mut spun_ns) = (0u64, 0u64);
        while now_ns < 10_000_000_000 {
            // The worst case: always something due in 40 us.
            if waiter.wait(now_ns, 40_000) == Wait::Spin {
                waiter.spun(40_000);
                spun_ns += 40_000;
            }
            now_ns += 40_000;
        }
        assert!(spun_ns <= 10_000_000_000 / 40 + BUDGET_CAP_NS, "{spun_ns}");
    }
}
