//! Intervals of constant rate, and the delivery opportunities that they give.

use link::Trace;

use crate::error::ImportError;
use crate::words;

/// Longest trace: a day.
pub const MAX_DURATION_US: u64 = 24 * 3600 * 1_000_000;

/// Why intervals are no trace that a network reads.
#[derive(Debug, thiserror::Error)]
pub enum NoTrace {
    /// Nothing is delivered.
    #[error("the rate is 0 throughout, so nothing would ever be delivered")]
    NoRate,
    /// It is longer than a day.
    #[error("the trace takes {}, more than a day", words::duration(*us))]
    TooLong {
        /// Its length.
        us: u64,
    },
    /// It has more opportunities than a network reads.
    #[error(
        "the trace has {count} opportunities of 1500 bytes, and a network reads at most {}",
        Trace::MAX_OPPORTUNITIES
    )]
    TooMany {
        /// How many it has.
        count: u128,
        /// Its length.
        us: u64,
    },
}

impl From<NoTrace> for ImportError {
    fn from(error: NoTrace) -> ImportError {
        let advice = match &error {
            NoTrace::NoRate => "select another part with --from and --for".to_owned(),
            NoTrace::TooLong { .. } => {
                "its times likely have another unit, or select a part with --from and --for"
                    .to_owned()
            }
            NoTrace::TooMany { count, us } => {
                let fits_s = *us as f64 / 1e6 * Trace::MAX_OPPORTUNITIES as f64 / *count as f64;
                format!(
                    "select a part, e.g. with --for {}s, or the rate has another unit",
                    (fits_s * 0.9).floor().max(1.0)
                )
            }
        };
        ImportError::whole(format!("{error}; {advice}"))
    }
}

const US_PER_MS: u64 = 1000;
/// What an opportunity takes, in bit/s times microseconds.
const COST: u128 = Trace::OPPORTUNITY_BYTES as u128 * 8 * 1_000_000;

/// A time during which the rate stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) us: u64,
    pub(crate) bps: u64,
}

/// Returns the part of the intervals that begins at `from_us` and takes `for_us`, or up to their end.
pub(crate) fn cut(intervals: &[Interval], from_us: u64, for_us: Option<u64>) -> Vec<Interval> {
    let until_us = for_us.map_or(u64::MAX, |for_us| from_us.saturating_add(for_us));
    let mut start_us = 0;
    let parts = intervals.iter().map(|interval| {
        let end_us = start_us + interval.us;
        let us = end_us.min(until_us).saturating_sub(start_us.max(from_us));
        start_us = end_us;
        Interval { us, ..*interval }
    });
    parts.filter(|interval| interval.us > 0).collect()
}

/// Returns the opportunities of these intervals: one whenever 1500 bytes have become possible, at the end of its
/// millisecond. The last is at the end even if fewer bytes have, because the last time of a trace is its period: then also returns
/// true.
pub(crate) fn trace(intervals: &[Interval]) -> Result<(Trace, bool), NoTrace> {
    let duration_us: u64 = intervals.iter().map(|interval| interval.us).sum();
    check_duration(duration_us)?;
    let bits: u128 = intervals.iter().map(capacity).sum();
    if bits == 0 {
        return Err(NoTrace::NoRate);
    }
    let whole = bits / COST;
    if whole > Trace::MAX_OPPORTUNITIES as u128 {
        return Err(NoTrace::TooMany {
            count: whole,
            us: duration_us,
        });
    }
    let mut times_ms = Vec::with_capacity(whole as usize + 1);
    let (mut credit, mut start_us) = (0, 0);
    for interval in intervals {
        let total = credit + capacity(interval);
        for number in 1..=total / COST {
            let since_us = (number * COST - credit).div_ceil(u128::from(interval.bps));
            times_ms.push(whole_ms(start_us + since_us as u64));
        }
        credit = total % COST;
        start_us += interval.us;
    }
    let end_ms = whole_ms(duration_us);
    let is_added = times_ms.last() != Some(&end_ms);
    if is_added {
        times_ms.push(end_ms);
    }
    let count = times_ms.len() as u128;
    // In order and above 0, so only their number can be wrong.
    let trace = Trace::new(times_ms).map_err(|_| NoTrace::TooMany {
        count,
        us: duration_us,
    })?;
    Ok((trace, is_added))
}

/// Refuses a trace that is longer than a day.
pub(crate) fn check_duration(us: u64) -> Result<(), NoTrace> {
    match us <= MAX_DURATION_US {
        true => Ok(()),
        false => Err(NoTrace::TooLong { us }),
    }
}

/// Returns what an interval delivers, in bit/s times microseconds.
pub(crate) fn capacity(interval: &Interval) -> u128 {
    u128::from(interval.bps) * u128::from(interval.us)
}

/// Rounds up, because an opportunity is a moment at which all 1500 bytes can pass.
fn whole_ms(us: u64) -> u32 {
    // At most a day.
    us.div_ceil(US_PER_MS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1000;

    fn times(intervals: &[(u64, u64)]) -> Result<Vec<u32>, String> {
        let intervals = intervals.iter();
        let intervals: Vec<Interval> = intervals.map(|&(us, bps)| Interval { us, bps }).collect();
        let (made, _) = trace(&intervals).map_err(|e| ImportError::from(e).to_string())?;
        Ok(made.times_ms().to_vec())
    }

    #[test]
    fn an_opportunity_comes_when_its_bytes_have_become_possible() {
        // 12 Mbit/s are 1500 bytes per ms.
        assert_eq!(times(&[(3 * MS, 12_000_000)]), Ok(vec![1, 2, 3]));
        assert_eq!(times(&[(2 * MS, 24_000_000)]), Ok(vec![1, 1, 2, 2]));
        // Half of the first one is of the first interval.
        assert_eq!(
            times(&[(5 * MS, 1_200_000), (4 * MS, 3_000_000)]),
            Ok(vec![7, 9])
        );
        // Within a millisecond it counts at its end.
        assert_eq!(times(&[(1500, 12_000_000), (500, 0)]), Ok(vec![1, 2]));
    }

    #[test]
    fn the_last_time_is_the_period() {
        assert_eq!(
            times(&[(2 * MS, 12_000_000), (98 * MS, 0)]),
            Ok(vec![1, 2, 100])
        );
        assert_eq!(times(&[(500, 1)]), Ok(vec![1]));
    }

    #[test]
    fn traces_that_no_network_reads_are_refused() {
        let wrong = |intervals: &[(u64, u64)]| times(intervals).unwrap_err();
        assert!(wrong(&[]).starts_with("the rate is 0 throughout"));
        assert!(wrong(&[(MS, 0)]).starts_with("the rate is 0 throughout"));
        assert!(wrong(&[(MAX_DURATION_US + 1, 1)]).contains("more than a day"));
        assert!(times(&[(MAX_DURATION_US, 1000)]).is_ok());
        // 1 Gbit/s for 60 s are exactly as many as a network reads.
        let most = (60_000 * MS, 1_000_000_000);
        assert_eq!(times(&[most]).unwrap().len(), Trace::MAX_OPPORTUNITIES);
        let one_more = wrong(&[most, (MS, 0)]);
        assert!(one_more.starts_with("the trace has 5000001 "), "{one_more}");
        let error = wrong(&[(120_000 * MS, 1_000_000_000)]);
        assert!(error.starts_with("the trace has 10000000 "), "{error}");
        assert!(
            error.contains("--for 54s, or the rate has another unit"),
            "{error}"
        );
    }

    #[test]
    fn a_part_is_cut_out() {
        let all = [(10, 1), (20, 2), (30, 3)].map(|(us, bps)| Interval { us, bps });
        let cut = |from_us, for_us| -> Vec<(u64, u64)> {
            let parts = cut(&all, from_us, for_us);
            parts.iter().map(|part| (part.us, part.bps)).collect()
        };
        assert_eq!(cut(0, None), [(10, 1), (20, 2), (30, 3)]);
        assert_eq!(cut(5, Some(10)), [(5, 1), (5, 2)]);
        assert_eq!(cut(12, Some(3)), [(3, 2)]);
        assert_eq!(cut(30, None), [(30, 3)]);
        assert_eq!(cut(60, None), []);
        assert_eq!(cut(50, Some(u64::MAX)), [(10, 3)]);
    }
}
