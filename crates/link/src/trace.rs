use serde::{Deserialize, Serialize};

use crate::NS_PER_MS;

/// IP bytes one opportunity carries: the trace format's own convention, without Mahimahi's four
/// bytes of TUN header (Netravali et al., Mahimahi, USENIX ATC 2015, section 4).
pub(crate) const OPPORTUNITY_BYTES: u32 = 1500;

/// Opportunities in one trace at most: 1 Gbit/s for a minute.
const MAX_OPPORTUNITIES: usize = 5_000_000;

/// Delivery opportunities of a link in milliseconds, in order, repeated for ever: the time of the
/// last is also the length of a turn. A time may stand several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u32>", into = "Vec<u32>")]
pub struct Trace {
    times_ms: Vec<u32>,
}

/// Why a list of times or a file is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// No opportunity at all.
    #[error("the trace is empty: it needs one time in milliseconds for each 1500 bytes")]
    Empty,
    /// All opportunities lie at time 0.
    #[error("the trace has no length: its last time must be above 0")]
    NoLength,
    /// A time is before the one above it.
    #[error("time {at_ms} ms (entry {entry}) comes after {before_ms} ms: put the times in order")]
    OutOfOrder {
        /// Place in the list, from 1.
        entry: usize,
        /// The time.
        at_ms: u32,
        /// The time above it.
        before_ms: u32,
    },
    /// A line is no number.
    #[error("line {line} is no whole number of milliseconds: {text:?}")]
    NoNumber {
        /// Line of the file, from 1.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// More opportunities than a trace may have.
    #[error("the trace is longer than {MAX_OPPORTUNITIES} opportunities: cut it")]
    TooLong,
}

impl Trace {
    /// A trace of these times.
    pub fn new(times_ms: Vec<u32>) -> Result<Trace, TraceError> {
        if times_ms.len() > MAX_OPPORTUNITIES {
            return Err(TraceError::TooLong);
        }
        if let Some(i) = (1..times_ms.len()).find(|&i| times_ms[i] < times_ms[i - 1]) {
            let (at_ms, before_ms) = (times_ms[i], times_ms[i - 1]);
            return Err(TraceError::OutOfOrder {
                entry: i + 1,
                at_ms,
                before_ms,
            });
        }
        match times_ms.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoLength),
            Some(_) => Ok(Trace { times_ms }),
        }
    }

    /// Reads the Mahimahi format: one time a line. Empty lines are passed over.
    pub fn parse(text: &str) -> Result<Trace, TraceError> {
        let mut times_ms = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let at_ms = line.parse().map_err(|_| TraceError::NoNumber {
                line: i + 1,
                text: line.chars().take(40).collect(),
            })?;
            if times_ms.len() == MAX_OPPORTUNITIES {
                return Err(TraceError::TooLong);
            }
            times_ms.push(at_ms);
        }
        Trace::new(times_ms)
    }

    /// Mean rate over a turn.
    pub fn mean_bps(&self) -> u64 {
        let bits = self.times_ms.len() as u64 * u64::from(OPPORTUNITY_BYTES) * 8;
        bits * 1000 / self.period_ms()
    }

    /// Time of opportunity `number`, counted over the turns, since the origin.
    pub(crate) fn at_ns(&self, number: u64) -> u64 {
        let len = self.times_ms.len() as u64;
        let in_turn_ms = u64::from(self.times_ms[(number % len) as usize]);
        (number / len)
            .saturating_mul(self.period_ms())
            .saturating_add(in_turn_ms)
            .saturating_mul(NS_PER_MS)
    }

    /// Number of the first opportunity at `since_ns` or later.
    pub(crate) fn first_from(&self, since_ns: u64) -> u64 {
        let since_ms = since_ns.div_ceil(NS_PER_MS);
        // Counted from 1, so that a turn holds the opportunities of its last moment.
        let turn = since_ms.saturating_sub(1) / self.period_ms();
        let in_turn_ms = since_ms - turn * self.period_ms();
        let before = self
            .times_ms
            .partition_point(|&at_ms| u64::from(at_ms) < in_turn_ms);
        turn.saturating_mul(self.times_ms.len() as u64)
            .saturating_add(before as u64)
    }

    fn period_ms(&self) -> u64 {
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
    fn it_reads_one_time_a_line() {
        assert_eq!(
            Trace::parse("0\n1\r\n\n1\n8\n"),
            Trace::new(vec![0, 1, 1, 8])
        );
    }

    #[test]
    fn it_refuses_what_is_no_trace() {
        assert_eq!(Trace::parse("\n \n"), Err(TraceError::Empty));
        assert_eq!(Trace::parse("0\n0\n"), Err(TraceError::NoLength));
        let out_of_order = TraceError::OutOfOrder {
            entry: 3,
            at_ms: 4,
            before_ms: 5,
        };
        assert_eq!(Trace::parse("1\n5\n4\n"), Err(out_of_order));
        let no_number = |line, text: &str| TraceError::NoNumber {
            line,
            text: text.to_owned(),
        };
        assert_eq!(Trace::parse("1\n\n-5\n"), Err(no_number(3, "-5")));
        assert_eq!(Trace::parse("1.5"), Err(no_number(1, "1.5")));
        assert_eq!(
            Trace::parse("99999999999"),
            Err(no_number(1, "99999999999"))
        );
        assert_eq!(
            Trace::new(vec![1; MAX_OPPORTUNITIES + 1]),
            Err(TraceError::TooLong)
        );
    }

    #[test]
    fn the_first_opportunity_agrees_with_looking_at_each() {
        for times_ms in [vec![5, 10, 20], vec![0, 0, 3, 3, 7], vec![1], vec![0, 4]] {
            let trace = Trace::new(times_ms).unwrap();
            for since_ns in (0..60 * NS_PER_MS).step_by(NS_PER_MS as usize / 4) {
                let slow = (0..).find(|&n| trace.at_ns(n) >= since_ns).unwrap();
                assert_eq!(
                    trace.first_from(since_ns),
                    slow,
                    "{trace:?} from {since_ns}"
                );
            }
        }
    }

    #[test]
    fn the_mean_counts_whole_opportunities() {
        assert_eq!(Trace::new(vec![1]).unwrap().mean_bps(), 12_000_000);
        assert_eq!(Trace::new(vec![0, 500, 1000]).unwrap().mean_bps(), 36_000);
    }
}
