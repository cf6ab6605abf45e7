//! Whether a direction carries more packets than one core has room for.
//!
//! Both directions and the kernel threads that receive for the endpoints share the last core, so that programs do not
//! wait behind them. That core is full at 60,000 to 160,000 packets/s (docs/explanation/link-accuracy.md). Above 30,000
//! in a direction, its thread may run anywhere.

use rustix::thread::CpuSet;

use crate::sys;

/// A direction with more packets per second is spread over all cores.
const HIGH_PPS: u64 = 30_000;
/// A direction with fewer returns to the last core; half of the other, so that it does not change all the time.
const LOW_PPS: u64 = 15_000;
/// Long enough for 150 packets at the limit, and short against any transfer at such a rate.
const PERIOD_NS: u64 = 5_000_000;

/// Moves the calling thread between the last core and all.
pub(crate) struct Spread {
    allowed: CpuSet,
    load: Load,
}

impl Spread {
    /// Starts with a thread that is pinned to the last of the cores `allowed`.
    pub(crate) fn new(allowed: CpuSet, now_ns: u64) -> Spread {
        let load = Load::new(now_ns);
        Spread { allowed, load }
    }

    /// Counts packets, and moves the calling thread when it begins or stops to need more than a core.
    pub(crate) fn count(&mut self, now_ns: u64, packets: usize) {
        let moved = match self.load.count(now_ns, packets as u64) {
            None => return,
            Some(Change::Rose) => sys::run_on(&self.allowed),
            Some(Change::Fell) => sys::pin_to_last_core(0),
        };
        // Only the speed depends on it, which the audit of each window judges.
        let _slower = moved;
    }
}

/// How a load changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Rose,
    Fell,
}

/// Packets per second, from period to period.
#[derive(Debug)]
struct Load {
    since_ns: u64,
    packets: u64,
    is_high: bool,
}

impl Load {
    fn new(now_ns: u64) -> Load {
        Load {
            since_ns: now_ns,
            packets: 0,
            is_high: false,
        }
    }

    fn count(&mut self, now_ns: u64, packets: u64) -> Option<Change> {
        self.packets += packets;
        let took_ns = now_ns.saturating_sub(self.since_ns);
        if took_ns < PERIOD_NS {
            return None;
        }
        let pps = self.packets * 1_000_000_000 / took_ns;
        self.since_ns = now_ns;
        self.packets = 0;
        let change = match self.is_high {
            false if pps > HIGH_PPS => Change::Rose,
            true if pps < LOW_PPS => Change::Fell,
            _ => return None,
        };
        self.is_high = change == Change::Rose;
        Some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the changes of a load, with their periods, when so many packets come in each period of 5 ms.
    fn changes(packets: &[u64]) -> Vec<(usize, Change)> {
        let mut load = Load::new(7);
        let periods = packets.iter().enumerate();
        let counted = periods.filter_map(|(i, &packets)| {
            let middle_ns = 7 + i as u64 * PERIOD_NS + PERIOD_NS / 2;
            assert_eq!(load.count(middle_ns, packets / 2), None);
            let end_ns = 7 + (i as u64 + 1) * PERIOD_NS;
            Some((i, load.count(end_ns, packets - packets / 2)?))
        });
        counted.collect()
    }

    #[test]
    fn rises_above_thirty_thousand_and_falls_below_fifteen() {
        let packets = [150, 151, 151, 75, 74, 74, 150, 151];
        let expected = [(1, Change::Rose), (4, Change::Fell), (7, Change::Rose)];
        assert_eq!(changes(&packets), expected);
    }

    #[test]
    fn falls_after_a_sleep() {
        let mut load = Load::new(0);
        assert_eq!(load.count(PERIOD_NS, 1000), Some(Change::Rose));
        assert_eq!(load.count(100 * PERIOD_NS, 1000), Some(Change::Fell));
    }
}
