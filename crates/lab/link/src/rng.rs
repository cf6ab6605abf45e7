//! Random draws without state, so that they are common random numbers: the same seed gives every
//! arm of a comparison the same draws.

use crate::{flows::Ticket, model::Direction};

/// Increment of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014): 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A random stream without state: each draw is a function of (seed, direction, purpose, series,
/// packet). No draw can shift another one, whether of another stage (its purpose differs), of
/// another flow, or of a later packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomStream {
    key: u64,
}

impl RandomStream {
    /// Returns the stream of one purpose ("loss", "jitter") in one direction.
    pub(crate) fn new(seed: u64, direction: Direction, purpose: &str) -> RandomStream {
        let direction = match direction {
            Direction::Up => 1,
            Direction::Down => 2,
        };
        let mut key = mix(seed ^ mix(direction));
        for byte in purpose.bytes() {
            key = mix(key ^ u64::from(byte));
        }
        RandomStream { key }
    }

    /// Returns the draw of one packet, uniform over all of `u64`.
    pub(crate) fn draw(self, ticket: Ticket) -> u64 {
        self.draw_at(ticket.series, ticket.index)
    }

    /// Returns draw number `index` of series `series`. Within a series this is SplitMix64 itself,
    /// addressed by its counter.
    pub(crate) fn draw_at(self, series: u64, index: u64) -> u64 {
        let start = mix(self.key ^ series.wrapping_mul(GOLDEN));
        mix(start.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)))
    }
}

/// A probability, stored as the number of values of `u64` that count as a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance {
    below: u128,
}

impl Chance {
    /// Converts parts per billion; more than one billion counts as certain.
    pub(crate) fn from_ppb(ppb: u32) -> Chance {
        const CERTAIN: u128 = 1 << 64;
        Chance {
            below: (u128::from(ppb) * CERTAIN / 1_000_000_000).min(CERTAIN),
        }
    }

    /// Returns whether `draw` is a hit.
    pub(crate) fn hit(self, draw: u64) -> bool {
        u128::from(draw) < self.below
    }
}

/// Applies the finalizer of SplitMix64 (Stafford's variant 13 of the MurmurHash3 mixer): every
/// input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change of these values changes the fate of every packet in results published with a seed.
    const FROZEN: [u64; 3] = [
        15_257_928_559_323_467_301,
        10_420_353_977_564_858_075,
        14_118_528_344_900_137_772,
    ];

    fn stream(seed: u64, direction: Direction, purpose: &str) -> RandomStream {
        RandomStream::new(seed, direction, purpose)
    }

    #[test]
    fn draws_are_balanced_in_every_series() {
        // 4096 draws of 64 bits: mean 131072, sigma 256; five sigma either way.
        let stream = stream(7, Direction::Down, "loss");
        for series in 0..64 {
            let ones: u32 = (0..4096)
                .map(|i| stream.draw_at(series, i).count_ones())
                .sum();
            assert!(ones.abs_diff(131_072) < 1280, "series {series}: {ones}");
        }
    }

    #[test]
    fn seed_direction_purpose_and_series_all_change_the_draw() {
        let base = stream(7, Direction::Down, "loss");
        let others = [
            stream(8, Direction::Down, "loss"),
            stream(7, Direction::Up, "loss"),
            stream(7, Direction::Down, "jitter"),
        ];
        for other in others {
            assert_ne!(base.draw_at(0, 0), other.draw_at(0, 0));
        }
        assert_ne!(base.draw_at(0, 0), base.draw_at(1, 0));
        let again = stream(7, Direction::Down, "loss");
        assert_eq!(base.draw_at(0, 0), again.draw_at(0, 0));
    }

    #[test]
    fn series_are_not_correlated() {
        // Hits of two flows at 50 %: agreement is binomial, n = 10000, sigma 50.
        let stream = stream(1, Direction::Up, "loss");
        let half = Chance::from_ppb(500_000_000);
        let agree = (0..10_000)
            .filter(|&i| half.hit(stream.draw_at(0, i)) == half.hit(stream.draw_at(1, i)))
            .count();
        assert!(agree.abs_diff(5000) < 250, "{agree} of 10000 agree");
    }

    #[test]
    fn chances_range_from_never_to_certain() {
        assert!(!Chance::from_ppb(0).hit(0));
        assert!(Chance::from_ppb(1_000_000_000).hit(u64::MAX));
        assert!(Chance::from_ppb(u32::MAX).hit(u64::MAX));
        assert!(Chance::from_ppb(1).hit(0));
    }

    #[test]
    fn draws_never_change_between_versions() {
        let stream = stream(7, Direction::Down, "loss");
        let draws = [(0, 0), (0, 1), (1, 0)].map(|(series, index)| stream.draw_at(series, index));
        assert_eq!(draws, FROZEN);
    }
}
