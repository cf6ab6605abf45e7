//! Intervals during which a direction is closed. Gates and handovers give them to the bottleneck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happens to the queue while a direction is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnClose {
    /// The queue is kept and goes on filling up to its limits, as in a handover that forwards data.
    Keep,
    /// Packets not yet through are lost, and so are new arrivals, as when a radio link fails.
    Flush,
}

/// One interval. It includes its first nanosecond and excludes its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closing {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) on_close: OnClose,
}

/// Intervals in virtual time from the origin, in order. Between any two the direction is open, so that waiting packets
/// get through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closings {
    intervals: Vec<Closing>,
    every_ns: Option<u64>,
    /// Whether any interval flushes the queue, since every arrival asks for the next one.
    has_flush: bool,
}

/// What is wrong with a list of intervals, and with which, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disorder {
    /// The list is empty.
    Empty,
    /// The interval does not end after it starts.
    Backwards(usize),
    /// The interval does not start after the previous one has ended.
    Overlap(usize),
    /// The last interval reaches the end of the period.
    Period,
}

impl Closings {
    /// Returns these intervals, repeated with the period `every_ns` if there is one.
    pub(crate) fn new(
        intervals: Vec<Closing>,
        every_ns: Option<u64>,
    ) -> Result<Closings, Disorder> {
        let last_ns = intervals.last().ok_or(Disorder::Empty)?.to_ns;
        let mut open_from_ns = None;
        for (i, closing) in intervals.iter().enumerate() {
            if closing.from_ns >= closing.to_ns {
                return Err(Disorder::Backwards(i));
            }
            if open_from_ns.is_some_and(|open_ns| closing.from_ns <= open_ns) {
                return Err(Disorder::Overlap(i));
            }
            open_from_ns = Some(closing.to_ns);
        }
        if every_ns.is_some_and(|every_ns| every_ns <= last_ns) {
            return Err(Disorder::Period);
        }
        Ok(Closings {
            has_flush: intervals.iter().any(|c| c.on_close == OnClose::Flush),
            intervals,
            every_ns,
        })
    }

    /// Returns the intervals, of one period if they repeat.
    pub(crate) fn intervals(&self) -> &[Closing] {
        &self.intervals
    }

    /// Returns the period, if the intervals repeat.
    pub(crate) fn every_ns(&self) -> Option<u64> {
        self.every_ns
    }

    /// Returns the total closed time; of one period if the intervals repeat.
    pub(crate) fn closed_ns(&self) -> u64 {
        let lengths = self.intervals.iter().map(|c| c.to_ns - c.from_ns);
        lengths.sum()
    }

    /// Returns whether any interval does this to the queue.
    pub(crate) fn any(&self, on_close: OnClose) -> bool {
        self.intervals.iter().any(|c| c.on_close == on_close)
    }

    /// Returns the first open moment from `at_ns` on.
    pub(crate) fn open_from(&self, at_ns: u64) -> u64 {
        let (start_ns, _) = self.period(at_ns);
        self.closing_at(at_ns)
            .map_or(at_ns, |closing| start_ns.saturating_add(closing.to_ns))
    }

    /// Returns whether a packet that arrives at `at_ns` is lost because the direction is closed.
    pub(crate) fn flushes_at(&self, at_ns: u64) -> bool {
        self.closing_at(at_ns)
            .is_some_and(|closing| closing.on_close == OnClose::Flush)
    }

    /// Returns the first moment from `at_ns` on at which the direction closes.
    pub(crate) fn next_closing(&self, at_ns: u64) -> Option<u64> {
        self.next(at_ns, |_| true)
    }

    /// Returns the first moment from `at_ns` on at which the direction closes and the queue is lost.
    pub(crate) fn next_flush(&self, at_ns: u64) -> Option<u64> {
        match self.has_flush {
            true => self.next(at_ns, |closing| closing.on_close == OnClose::Flush),
            false => None,
        }
    }

    /// Returns the moment when `need_ns` of open time have passed since `at_ns`; `u64::MAX` if the clock ends before.
    pub(crate) fn after_open(&self, at_ns: u64, need_ns: u64) -> u64 {
        let (mut at_ns, mut need_ns) = self.skip_periods(at_ns, need_ns);
        while need_ns > 0 {
            at_ns = self.open_from(at_ns);
            let Some(closing_ns) = self.next_closing(at_ns) else {
                return at_ns.saturating_add(need_ns);
            };
            let open_ns = need_ns.min(closing_ns - at_ns);
            if open_ns == 0 {
                return u64::MAX;
            }
            at_ns += open_ns;
            need_ns -= open_ns;
        }
        at_ns
    }

    /// Skips whole periods in one step. Each has the same open time, wherever in it one starts.
    fn skip_periods(&self, at_ns: u64, need_ns: u64) -> (u64, u64) {
        let Some(every_ns) = self.every_ns else {
            return (at_ns, need_ns);
        };
        let open_ns = every_ns - self.closed_ns();
        let periods = need_ns.saturating_sub(1) / open_ns;
        (
            at_ns.saturating_add(periods.saturating_mul(every_ns)),
            need_ns - periods * open_ns,
        )
    }

    /// Returns the interval that contains `at_ns`.
    fn closing_at(&self, at_ns: u64) -> Option<&Closing> {
        let (_, since_ns) = self.period(at_ns);
        let next = self.intervals.partition_point(|c| c.to_ns <= since_ns);
        self.intervals.get(next).filter(|c| c.from_ns <= since_ns)
    }

    /// Returns the first moment from `at_ns` on at which an interval that `is_wanted` begins.
    fn next(&self, at_ns: u64, is_wanted: fn(&Closing) -> bool) -> Option<u64> {
        let (start_ns, since_ns) = self.period(at_ns);
        let first = |intervals: &[Closing]| {
            let mut wanted = intervals.iter().filter(|c| is_wanted(c));
            wanted.next().map(|c| c.from_ns)
        };
        let next = self.intervals.partition_point(|c| c.from_ns < since_ns);
        match first(&self.intervals[next..]) {
            Some(from_ns) => Some(start_ns.saturating_add(from_ns)),
            None => Some(
                start_ns
                    .saturating_add(self.every_ns?)
                    .saturating_add(first(&self.intervals)?),
            ),
        }
    }

    /// Returns the start of the period that contains `at_ns`, and the time since then.
    fn period(&self, at_ns: u64) -> (u64, u64) {
        let since_ns = self.every_ns.map_or(at_ns, |every_ns| at_ns % every_ns);
        (at_ns - since_ns, since_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closings(closed_ns: &[(u64, u64)], every_ns: Option<u64>) -> Closings {
        let closing = |&(from_ns, to_ns): &(u64, u64)| Closing {
            from_ns,
            to_ns,
            on_close: OnClose::Keep,
        };
        Closings::new(closed_ns.iter().map(closing).collect(), every_ns).unwrap()
    }

    #[test]
    fn intervals_include_their_start_and_exclude_their_end() {
        let closings = closings(&[(10, 20), (30, 40)], None);
        let opens: Vec<u64> = [9, 10, 19, 20, 35, 40, 1000]
            .map(|t| closings.open_from(t))
            .to_vec();
        assert_eq!(opens, [9, 20, 20, 20, 40, 40, 1000]);
        assert_eq!(closings.next_closing(10), Some(10));
        assert_eq!(closings.next_closing(11), Some(30));
        assert_eq!(closings.next_closing(31), None);
    }

    #[test]
    fn intervals_repeat_with_the_period() {
        let closings = closings(&[(0, 5), (50, 60)], Some(100));
        assert_eq!(closings.open_from(255), 260);
        assert_eq!(closings.open_from(300), 305);
        assert_eq!(closings.next_closing(261), Some(300));
    }

    #[test]
    fn only_intervals_that_flush_lose_packets() {
        let mut intervals = closings(&[(10, 20), (30, 40), (50, 60)], None).intervals;
        intervals[1].on_close = OnClose::Flush;
        let once = Closings::new(intervals.clone(), None).unwrap();
        let flushed: Vec<u64> = (0..70).filter(|&t| once.flushes_at(t)).collect();
        assert_eq!(flushed, (30..40).collect::<Vec<u64>>());
        assert_eq!(
            [0, 30, 31].map(|t| once.next_flush(t)),
            [Some(30), Some(30), None]
        );
        let repeated = Closings::new(intervals, Some(100)).unwrap();
        assert_eq!(
            [31, 130, 131].map(|t| repeated.next_flush(t)),
            [130, 130, 230].map(Some)
        );
        assert!(repeated.flushes_at(239) && !repeated.flushes_at(219));
    }

    #[test]
    fn after_open_agrees_with_counting_every_nanosecond() {
        let closings = closings(&[(3, 5), (7, 8)], Some(11));
        for at_ns in 0..25 {
            let mut clock_ns = at_ns;
            for need_ns in 1..60 {
                clock_ns = closings.open_from(clock_ns) + 1;
                assert_eq!(
                    closings.after_open(at_ns, need_ns),
                    clock_ns,
                    "{at_ns} + {need_ns}"
                );
            }
        }
    }

    #[test]
    fn long_services_skip_short_periods_at_once() {
        let closings = closings(&[(0, 1)], Some(2));
        assert_eq!(closings.after_open(0, 1 << 60), 1 << 61);
    }

    /// Open for 1 µs in an hour, so that 12 s of service take more than the 584 years of the clock.
    #[test]
    fn a_service_that_outlasts_the_clock_never_ends() {
        let hour_ns = 3_600_000_000_000;
        let closings = closings(&[(0, hour_ns - 1_000)], Some(hour_ns));
        for at_ns in [0, u64::MAX - hour_ns, u64::MAX - 1, u64::MAX] {
            assert_eq!(closings.after_open(at_ns, 12_000_000_000), u64::MAX);
        }
        let open_ns = hour_ns - 1_000;
        assert_eq!(closings.after_open(0, 1_000), open_ns + 1_000);
        assert_eq!(closings.after_open(u64::MAX, 1), u64::MAX);
    }
}
