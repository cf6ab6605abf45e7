//! Quantiles of requests, where there are enough of them.

use crate::bootstrap;
use crate::estimate::Estimate;
use crate::interval::Level;
use crate::span::Span;

/// Fewest requests beyond a quantile; with fewer it describes single requests.
pub const MIN_CALLS_BEYOND: usize = 10;

/// Fewest blocks for a quantile, since the requests of one block share their random numbers.
pub const MIN_BLOCKS_FOR_QUANTILE: usize = 10;

/// Returns quantile `q` (0.5 to 1) over the requests of all blocks, with an interval from resampling
/// whole blocks. `None` when there are too few requests or blocks.
pub fn pooled_quantile(blocks: &[Vec<Span>], q: f64, level: Level, seed: u64) -> Option<Estimate> {
    let filled: Vec<&[Span]> = blocks
        .iter()
        .map(Vec::as_slice)
        .filter(|calls| !calls.is_empty())
        .collect();
    let calls: usize = filled.iter().map(|calls| calls.len()).sum();
    let beyond = calls - rank(calls, q);
    if filled.len() < MIN_BLOCKS_FOR_QUANTILE || beyond < MIN_CALLS_BEYOND {
        return None;
    }
    let mut pool = Vec::with_capacity(calls);
    let mut of = |picks: &mut dyn Iterator<Item = usize>| {
        pool.clear();
        for i in picks {
            pool.extend_from_slice(filled[i]);
        }
        nearest_rank(&mut pool, q)
    };
    let value = of(&mut (0..filled.len()));
    let interval = bootstrap::percentiles(filled.len(), value, level, seed, |picks| {
        of(&mut picks.iter().copied())
    });
    Some(Estimate {
        value,
        interval,
        blocks: filled.len(),
    })
}

/// Returns the rank of quantile `q` among `n`, from 1; 0 if `n` is 0. It rounds before taking the
/// ceiling, since 0.95 * 200 is not exactly 190 in binary.
fn rank(n: usize, q: f64) -> usize {
    (((q * n as f64) * 1e9).round() / 1e9).ceil() as usize
}

/// Returns the smallest value that at least a share `q` of `values` does not exceed. `values` must
/// not be empty.
fn nearest_rank(values: &mut [Span], q: f64) -> Span {
    let at = rank(values.len(), q).clamp(1, values.len()) - 1;
    let lo = *values
        .select_nth_unstable_by(at, |a, b| a.lo.total_cmp(&b.lo))
        .1;
    let hi = *values
        .select_nth_unstable_by(at, |a, b| a.hi.total_cmp(&b.hi))
        .1;
    Span {
        lo: lo.lo,
        hi: hi.hi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(blocks: usize, each: usize) -> Vec<Vec<Span>> {
        let value = |b, i| Span::exact((i * blocks + b + 1) as f64);
        (0..blocks)
            .map(|b| (0..each).map(|i| value(b, i)).collect())
            .collect()
    }

    #[test]
    fn quantiles_need_enough_requests_and_blocks() {
        let p95 = |b, each| pooled_quantile(&blocks(b, each), 0.95, Level::NINETY_FIVE, 1);
        assert!(p95(10, 20).is_some(), "200 requests, 10 beyond");
        assert!(p95(10, 19).is_none(), "190 requests, 9 beyond");
        assert!(p95(9, 100).is_none(), "9 blocks");
    }

    #[test]
    fn quantile_is_the_nearest_rank() {
        let got = pooled_quantile(&blocks(10, 20), 0.95, Level::NINETY_FIVE, 1).unwrap();
        assert_eq!(got.value, Span::exact(190.0));
        assert!(got.interval.lo < 190.0 && got.interval.hi >= 190.0);
    }

    #[test]
    fn timeouts_beyond_the_quantile_make_it_a_lower_bound() {
        let mut calls = blocks(10, 20);
        for block in &mut calls {
            block[19] = Span::at_least(500.0);
            block[18] = Span::at_least(500.0);
        }
        let got = pooled_quantile(&calls, 0.95, Level::NINETY_FIVE, 1).unwrap();
        assert_eq!(got.value, Span::at_least(500.0));
        assert_eq!(got.interval.hi, f64::INFINITY);
    }

    /// A request with a short timeout might have taken longer than any other, so its lower end says
    /// nothing about its rank.
    #[test]
    fn short_timeouts_do_not_count_as_fast() {
        let mut calls = blocks(10, 20);
        for block in &mut calls {
            block[0] = Span::at_least(0.5);
            block[1] = Span::at_least(0.5);
        }
        let got = pooled_quantile(&calls, 0.95, Level::NINETY_FIVE, 1).unwrap();
        assert_eq!(got.value, Span::at_least(190.0));
    }
}
