//! Traces of a link's delivery opportunities, in the Mahimahi format.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::NS_PER_MS;

/// Delivery opportunities of a link, in milliseconds, in order, repeated forever. The time of the
/// last is also the period. A time may occur several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
pub struct Trace {
    times_ms: Vec<u32>,
}

/// Why a list of times or a file is not a trace. The message has nothing of the file, which may be any that a stranger's
/// network names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// There is no opportunity at all.
    #[error("the trace is empty: it needs one time in milliseconds for each 1500 bytes")]
    Empty,
    /// All opportunities are at time 0.
    #[error("the trace has no length: its last time must be above 0")]
    NoLength,
    /// A time is less than the one before it.
    #[error("{place} of the trace is less than the one before it: put the times in order")]
    OutOfOrder {
        /// The time to blame.
        place: TracePlace,
    },
    /// Nothing is delivered for longer than any outage lasts.
    #[error(
        "{place} of the trace comes more than 10 minutes after the one before, or after the start: is it in \
         milliseconds from the start?"
    )]
    Gap {
        /// The time to blame.
        place: TracePlace,
    },
    /// The last time is later than that of any recording.
    #[error("the trace is longer than a day: are its times in milliseconds?")]
    LongerThanADay,
    /// A line is not a number.
    #[error("line {line} of the trace is not a whole number of milliseconds, e.g. 12")]
    NotANumber {
        /// Line of the file, from 1.
        line: usize,
    },
    /// There are more opportunities than a trace may have.
    #[error(
        "the trace has more than {} opportunities: shorten it",
        Trace::MAX_OPPORTUNITIES
    )]
    TooLong,
}

/// Where a time of a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePlace {
    /// Position in a list, from 1.
    Entry(usize),
    /// Line of a file, from 1.
    Line(usize),
}

impl fmt::Display for TracePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TracePlace::Entry(entry) => write!(f, "entry {entry}"),
            TracePlace::Line(line) => write!(f, "line {line}"),
        }
    }
}

impl Trace {
    /// IP bytes that one opportunity carries: the convention of the trace format, without Mahimahi's
    /// four bytes of TUN header (Netravali et al., Mahimahi, USENIX ATC 2015, section 4).
    pub const OPPORTUNITY_BYTES: u32 = 1500;
    /// Most opportunities in a trace: a minute at 1 Gbit/s.
    pub const MAX_OPPORTUNITIES: usize = 5_000_000;
    /// Longest time between two opportunities, in milliseconds. A longer one is a mistake: times of day, or another unit.
    const MAX_GAP_MS: u32 = 600_000;
    const DAY_MS: u32 = 86_400_000;

    /// Returns a trace of these times.
    pub fn new(times_ms: Vec<u32>) -> Result<Trace, TraceError> {
        Trace::of_places(times_ms, |i| TracePlace::Entry(i + 1))
    }

    /// Returns a trace of these times, whose places `place` returns by their indices.
    fn of_places(
        times_ms: Vec<u32>,
        place: impl Fn(usize) -> TracePlace,
    ) -> Result<Trace, TraceError> {
        if times_ms.len() > Trace::MAX_OPPORTUNITIES {
            return Err(TraceError::TooLong);
        }
        if let Some(i) = (1..times_ms.len()).find(|&i| times_ms[i] < times_ms[i - 1]) {
            return Err(TraceError::OutOfOrder { place: place(i) });
        }
        match times_ms.last() {
            None => return Err(TraceError::Empty),
            Some(0) => return Err(TraceError::NoLength),
            Some(_) => {}
        }
        let before = std::iter::once(&0).chain(&times_ms);
        let mut gaps_ms = times_ms
            .iter()
            .zip(before)
            .map(|(at_ms, before)| at_ms - before);
        if let Some(i) = gaps_ms.position(|gap_ms| gap_ms > Trace::MAX_GAP_MS) {
            return Err(TraceError::Gap { place: place(i) });
        }
        match times_ms.last() {
            Some(last_ms) if *last_ms > Trace::DAY_MS => Err(TraceError::LongerThanADay),
            _ => Ok(Trace { times_ms }),
        }
    }

    /// Reads the Mahimahi format: one time per line. Empty lines are skipped.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut times_ms = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let at_ms = line
                .parse()
                .map_err(|_| TraceError::NotANumber { line: i + 1 })?;
            if times_ms.len() == Trace::MAX_OPPORTUNITIES {
                return Err(TraceError::TooLong);
            }
            times_ms.push(at_ms);
        }
        let is_time = |line: &(usize, &str)| !line.1.trim().is_empty();
        Trace::of_places(times_ms, |i| {
            let line = text.lines().enumerate().filter(is_time).nth(i);
            TracePlace::Line(line.map_or(0, |(line, _)| line + 1))
        })
    }

    /// Returns the times, in milliseconds, in order.
    pub fn times_ms(&self) -> &[u32] {
        &self.times_ms
    }

    /// Returns the mean rate over a period, in bits per second.
    pub fn mean_bps(&self) -> u64 {
        let bits = self.times_ms.len() as u64 * u64::from(Trace::OPPORTUNITY_BYTES) * 8;
        bits * 1000 / self.period_ms()
    }

    /// Returns the time of opportunity `number`, counted across periods, since the origin.
    pub(crate) fn at_ns(&self, number: u64) -> u64 {
        let len = self.times_ms.len() as u64;
        let since_ms = u64::from(self.times_ms[(number % len) as usize]);
        (number / len)
            .saturating_mul(self.period_ms())
            .saturating_add(since_ms)
            .saturating_mul(NS_PER_MS)
    }

    /// Returns the number of the first opportunity at `since_ns` or later.
    pub(crate) fn first_from(&self, since_ns: u64) -> u64 {
        let since_ms = since_ns.div_ceil(NS_PER_MS);
        // Less 1, so that a period includes the opportunities of its last moment.
        let period = since_ms.saturating_sub(1) / self.period_ms();
        let in_period_ms = since_ms - period * self.period_ms();
        let before = self
            .times_ms
            .partition_point(|&at_ms| u64::from(at_ms) < in_period_ms);
        period
            .saturating_mul(self.times_ms.len() as u64)
            .saturating_add(before as u64)
    }

    /// Returns the time after which the trace repeats, in milliseconds: that of its last opportunity.
    pub fn period_ms(&self) -> u64 {
        let last_ms = self.times_ms.last().expect("a trace is never empty");
        u64::from(*last_ms)
    }
}

impl TryFrom<Vec<u32>> for Trace {
    type Error = TraceError;

    fn try_from(times_ms: Vec<u32>) -> Result<Trace, TraceError> {
        Trace::new(times_ms)
    }
}

impl From<Trace> for Vec<u32> {
    fn from(trace: Trace) -> Vec<u32> {
        trace.times_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_per_line_is_read() {
        assert_eq!(
            Trace::parse("0\n1\r\n\n1\n8\n"),
            Trace::new(vec![0, 1, 1, 8])
        );
    }

    #[test]
    fn invalid_traces_are_refused() {
        let line = TracePlace::Line;
        assert_eq!(Trace::parse("\n \n"), Err(TraceError::Empty));
        assert_eq!(Trace::parse("0\n0\n"), Err(TraceError::NoLength));
        assert_eq!(
            Trace::parse("1\n5\n4\n"),
            Err(TraceError::OutOfOrder { place: line(3) })
        );
        assert_eq!(
            Trace::parse("\n1\n \n5\n\n4\n"),
            Err(TraceError::OutOfOrder { place: line(6) })
        );
        assert_eq!(
            Trace::parse("600001\n"),
            Err(TraceError::Gap { place: line(1) })
        );
        assert_eq!(
            Trace::parse("5\n\n600005\n1200006\n"),
            Err(TraceError::Gap { place: line(4) })
        );
        assert_eq!(
            Trace::new(vec![5, 600_005, 1_200_006]),
            Err(TraceError::Gap {
                place: TracePlace::Entry(3)
            })
        );
        assert!(Trace::parse("600000\n1200000\n").is_ok());
        // A packet every 12 ms in microseconds.
        let micros = (1..=7201).map(|i| i * 12_000).collect();
        assert_eq!(Trace::new(micros), Err(TraceError::LongerThanADay));
        for (text, line) in [("1\n\n-5\n", 3), ("1.5", 1), ("99999999999", 1)] {
            assert_eq!(Trace::parse(text), Err(TraceError::NotANumber { line }));
        }
        assert_eq!(
            Trace::new(vec![1; Trace::MAX_OPPORTUNITIES + 1]),
            Err(TraceError::TooLong)
        );
    }

    /// The file may be any: of /etc/shadow, the first line would be printed.
    #[test]
    fn messages_have_nothing_of_the_file() {
        for text in [
            "root:SECRET:1\n",
            "777\n5\n",
            "777.5\n",
            "1\n7777777777777\n",
        ] {
            let error = Trace::parse(text).unwrap_err().to_string();
            assert!(
                !error.contains("SECRET") && !error.contains("777"),
                "{error}"
            );
        }
    }

    #[test]
    fn first_from_agrees_with_a_linear_search() {
        for times_ms in [vec![5, 10, 20], vec![0, 0, 3, 3, 7], vec![1], vec![0, 4]] {
            let trace = Trace::new(times_ms).unwrap();
            for since_ns in (0..60 * NS_PER_MS).step_by(NS_PER_MS as usize / 4) {
                let searched = (0..).find(|&n| trace.at_ns(n) >= since_ns).unwrap();
                assert_eq!(
                    trace.first_from(since_ns),
                    searched,
                    "{trace:?} from {since_ns}"
                );
            }
        }
    }

    #[test]
    fn mean_counts_whole_opportunities() {
        assert_eq!(Trace::new(vec![1]).unwrap().mean_bps(), 12_000_000);
        assert_eq!(Trace::new(vec![0, 500, 1000]).unwrap().mean_bps(), 36_000);
    }
}
