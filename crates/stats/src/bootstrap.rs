//! Intervals by resampling whole blocks (Efron and Tibshirani, "An Introduction to the
//! Bootstrap", 13.3: percentile intervals).

use crate::ends::Ends;
use crate::interval::{Interval, Level, Method};
use crate::rng;
use crate::span::Span;

/// Interval of the median of `blocks`, whose median is `value`.
pub(crate) fn of_median(blocks: &[Span], value: Span, level: Level, seed: u64) -> Interval {
    let mut ends = Ends::default();
    percentiles(blocks.len(), value, level, seed, |picks| {
        let median = ends.middle(picks.iter().map(|&i| blocks[i]));
        median.expect("as many values as blocks, and there are blocks")
    })
}

/// Interval of any statistic of `blocks` blocks, `statistic` being given the blocks to take,
/// some more than once. `value` is the statistic of the true blocks and always inside.
pub(crate) fn percentiles(
    blocks: usize,
    value: Span,
    level: Level,
    seed: u64,
    mut statistic: impl FnMut(&[usize]) -> Span,
) -> Interval {
    let rounds = rounds(level);
    let mut picks = vec![0; blocks];
    let mut values = Vec::with_capacity(rounds);
    for round in 0..rounds {
        for (i, pick) in picks.iter_mut().enumerate() {
            *pick = rng::below(seed, (round * blocks + i) as u64, blocks);
        }
        values.push(statistic(&picks));
    }
    let ends = Ends::sorted(&values);
    // The same count is cut off at both ends, so that swapping the arms mirrors the interval.
    let cut = (level.alpha() / 2.0 * rounds as f64).floor() as usize;
    Interval {
        lo: ends.lo[cut].min(value.lo),
        hi: ends.hi[rounds - 1 - cut].max(value.hi),
        coverage: level.coverage(),
        method: Method::Bootstrap,
    }
}

/// Enough resamples that ten lie beyond each end of the interval, between bounds that keep
/// the ordinary case steady and the extreme one affordable.
fn rounds(level: Level) -> usize {
    ((20.0 / level.alpha()).ceil() as usize).clamp(2_000, 100_000)
}
