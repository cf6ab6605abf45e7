//! Quantiles of requests, where there are enough of them.

use crate::ends::Ends;
use crate::estimate::{Estimate, estimate_by_order};
use crate::interval::Level;
use crate::span::Span;

/// Fewest requests beyond a pooled quantile; with fewer it describes single requests.
pub const MIN_REQUESTS_BEYOND: usize = 10;

/// Fewest blocks for a pooled quantile, since the requests of one block share their random numbers.
pub const MIN_BLOCKS_FOR_POOLING: usize = 10;

/// A quantile of the times of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// The median over blocks of each block's quantile, i.e. the quantile in a typical block, with
    /// its interval.
    WithinBlocks(Estimate),
    /// The quantile over the requests of all blocks. It has no interval: blocks differ, so that the
    /// slowest requests come from a few blocks. No interval of useful width contains the true
    /// quantile as often as stated. (With 10 blocks and a standard deviation between blocks as large
    /// as within, percentile intervals from resampled blocks cover 75 % for 95 %; one that covers
    /// 92 % has no upper end in three of four cases.)
    Pooled {
        /// The quantile; a range if requests timed out.
        value: Span,
        /// Number of requests it is computed from.
        requests: usize,
        /// Number of blocks it is computed from.
        blocks: usize,
    },
}

impl Quantile {
    /// Returns the quantile; a range if requests timed out.
    pub fn value(&self) -> Span {
        match self {
            Quantile::WithinBlocks(estimate) => estimate.value,
            Quantile::Pooled { value, .. } => *value,
        }
    }
}

/// Returns quantile `q` (0.5 to 1, exclusive) of the requests, given those of each block. Within
/// blocks if every block has enough requests for one of its own ([`fewest_requests`]); otherwise
/// pooled, given enough blocks and requests; otherwise `None`. Blocks without a request are ignored.
pub fn quantile(blocks: &[Vec<Span>], q: f64, level: Level) -> Option<Quantile> {
    let filled: Vec<&[Span]> = blocks
        .iter()
        .map(Vec::as_slice)
        .filter(|requests| !requests.is_empty())
        .collect();
    let fewest = filled.iter().map(|requests| requests.len()).min()?;
    if fewest >= fewest_requests(q) {
        let by_block: Vec<Span> = filled.iter().map(|r| median_unbiased(r, q)).collect();
        return Some(Quantile::WithinBlocks(estimate_by_order(&by_block, level)?));
    }
    let pool = filled.concat();
    let requests = pool.len();
    let beyond = requests - nearest_rank(requests, q);
    let enough = filled.len() >= MIN_BLOCKS_FOR_POOLING && beyond >= MIN_REQUESTS_BEYOND;
    enough.then(|| Quantile::Pooled {
        value: at(&Ends::sorted(&pool), nearest_rank(requests, q)),
        requests,
        blocks: filled.len(),
    })
}

/// Returns the fewest requests from which a block has a quantile `q` of its own: one is expected
/// beyond it, e.g. 20 for 0.95.
pub fn fewest_requests(q: f64) -> usize {
    ceil(1.0 / (1.0 - q))
}

/// Returns quantile `q` (0 to 1, exclusive) of one block's requests; `None` without a request. Where
/// requests timed out it is a range.
pub fn block_quantile(requests: &[Span], q: f64) -> Option<Span> {
    (!requests.is_empty()).then(|| median_unbiased(requests, q))
}

/// Returns the quantile of one block's requests, interpolated between two of them. Whatever the distribution, it is too
/// high as often as too low (Hyndman and Fan, "Sample quantiles in statistical packages", 1996, definition 8). The
/// nearest rank would be too low: of 20 requests, the 19th is the 92nd percentile.
fn median_unbiased(requests: &[Span], q: f64) -> Span {
    let n = requests.len();
    let position = (q * (n as f64 + 1.0 / 3.0) + 1.0 / 3.0).clamp(1.0, n as f64);
    let rank = position.floor() as usize;
    let weight = position.fract();
    let ends = Ends::sorted(requests);
    let (one, next) = (at(&ends, rank), at(&ends, (rank + 1).min(n)));
    let between = |one: f64, next: f64| match weight == 0.0 || one == next {
        true => one,
        false => one + weight * (next - one),
    };
    Span {
        lo: between(one.lo, next.lo),
        hi: between(one.hi, next.hi),
    }
}

/// Returns the value of rank `rank`, from 1.
fn at(ends: &Ends, rank: usize) -> Span {
    Span {
        lo: ends.lo[rank - 1],
        hi: ends.hi[rank - 1],
    }
}

/// Returns the rank of quantile `q` among `n` values: the smallest that at least a share `q` of them
/// does not exceed.
fn nearest_rank(n: usize, q: f64) -> usize {
    ceil(q * n as f64).clamp(1, n)
}

/// Rounds up, but not what is a whole number apart from rounding: 0.95 * 200 is not exactly 190 in
/// binary.
fn ceil(x: f64) -> usize {
    ((x * 1e9).round() / 1e9).ceil() as usize
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

    fn p95(blocks: &[Vec<Span>]) -> Option<Quantile> {
        quantile(blocks, 0.95, Level::NINETY_FIVE)
    }

    #[test]
    fn twenty_requests_per_block_have_a_quantile_within_blocks() {
        assert_eq!(fewest_requests(0.95), 20);
        assert_eq!(fewest_requests(0.9), 10);
        let Some(Quantile::WithinBlocks(got)) = p95(&blocks(10, 20)) else {
            panic!("20 requests are enough");
        };
        assert_eq!((got.blocks, got.interval.rank()), (10, Some(2)));
        // Position 0.95 * (20 + 1/3) + 1/3 = 19.65 of 20: 65 % from the 19th to the 20th, which
        // are i * 10 + b + 1 for i = 18 and 19. The median block lies between b = 4 and 5.
        assert!((got.value.known().unwrap() - 192.0).abs() < 1e-9, "{got:?}");
    }

    #[test]
    fn pooled_quantiles_need_enough_requests_and_blocks() {
        assert!(matches!(
            p95(&blocks(20, 10)),
            Some(Quantile::Pooled {
                value: Span {
                    lo: 190.0,
                    hi: 190.0
                },
                requests: 200,
                blocks: 20
            })
        ));
        assert_eq!(p95(&blocks(11, 18)), None, "198 requests, 9 beyond");
        assert_eq!(p95(&blocks(9, 19)), None, "9 blocks");
        assert_eq!(p95(&[Vec::new()]), None);
    }

    #[test]
    fn timeouts_beyond_the_quantile_make_it_a_lower_bound() {
        for (n, each) in [(10, 20), (20, 10)] {
            let mut requests = blocks(n, each);
            for block in &mut requests {
                block[each - 1] = Span::at_least(500.0);
                block[each - 2] = Span::at_least(500.0);
            }
            assert_eq!(p95(&requests).unwrap().value(), Span::at_least(500.0));
        }
    }

    /// A request with a short timeout might have taken longer than any other, so its lower end says
    /// nothing about its rank.
    #[test]
    fn short_timeouts_do_not_count_as_fast() {
        let mut requests = blocks(20, 10);
        for block in &mut requests {
            block[0] = Span::at_least(0.5);
        }
        assert_eq!(p95(&requests).unwrap().value(), Span::at_least(190.0));
    }
}
