//! Intervals from resampled blocks (Efron and Tibshirani, "An Introduction to the Bootstrap", 13.3:
//! percentile intervals).

use crate::ends::Ends;
use crate::interval::{Interval, Level, Method};
use crate::rng;
use crate::span::Span;

/// Returns the interval of any statistic of `blocks` blocks. `statistic` gets the indices of the
/// blocks to use, some more than once. `value` is the statistic of the blocks themselves; the
/// interval always contains it.
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
    // Cut off equally many at both ends, so that swapping the arms mirrors the interval.
    let cut = (level.alpha() / 2.0 * rounds as f64).floor() as usize;
    Interval {
        lo: ends.lo[cut].min(value.lo),
        hi: ends.hi[rounds - 1 - cut].max(value.hi),
        coverage: level.coverage(),
        method: Method::Bootstrap,
    }
}

/// Returns the number of resamples: enough that ten lie beyond each end of the interval, at least
/// 2,000 to keep ordinary intervals stable, at most 100,000 to keep extreme levels affordable.
fn rounds(level: Level) -> usize {
    ((20.0 / level.alpha()).ceil() as usize).clamp(2_000, 100_000)
}
