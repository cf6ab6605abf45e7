use crate::{Direction, flows::Ticket};

/// Increment of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014): 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stateless random stream: each draw is a function of (seed, direction, purpose,
/// flow, packet). So no draw can shift another: not that of another stage (its purpose differs),
/// nor of another flow, nor of a later packet.
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

    /// The draw of one packet, uniform over all of `u64`.
    pub(crate) fn of(self, ticket: Ticket) -> u64 {
        self.at(u64::from(ticket.flow_order), ticket.index)
    }

    /// Draw number `index` of stream `stream`: within a stream this is SplitMix64 itself,
    /// addressed by its counter.
    pub(crate) fn at(self, stream: u64, index: u64) -> u64 {
        let start = mix(self.key ^ stream.wrapping_mul(GOLDEN));
        mix(start.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)))
    }
}

/// A probability, kept as the share of `u64` below which a draw comes true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance {
    below: u128,
}

impl Chance {
    /// From parts per billion; more than one billion counts as always.
    pub(crate) fn from_ppb(ppb: u32) -> Chance {
        const ALWAYS: u128 = 1 << 64;
        Chance {
            below: (u128::from(ppb) * ALWAYS / 1_000_000_000).min(ALWAYS),
        }
    }

    /// Whether this draw comes true.
    pub(crate) fn hit(self, draw: u64) -> bool {
        u128::from(draw) < self.below
    }
}

/// Finalizer of SplitMix64 (Stafford's variant 13 of the MurmurHash3 mixer): every input bit
/// reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(random: RandomStream, stream: u64, n: u64) -> u32 {
        (0..n).map(|i| random.at(stream, i).count_ones()).sum()
    }

    #[test]
    fn draws_are_balanced_in_every_stream() {
        // 4096 draws of 64 bits: mean 131072, sigma 256; five sigma either way.
        for stream in 0..64 {
            let random = RandomStream::new(7, Direction::Down, "loss");
            let got = i64::from(ones(random, stream, 4096));
            assert!((got - 131_072).abs() < 1280, "stream {stream}: {got}");
        }
    }

    #[test]
    fn seed_direction_purpose_and_stream_each_make_another_stream() {
        let base = RandomStream::new(7, Direction::Down, "loss").at(0, 0);
        assert_ne!(base, RandomStream::new(8, Direction::Down, "loss").at(0, 0));
        assert_ne!(base, RandomStream::new(7, Direction::Up, "loss").at(0, 0));
        assert_ne!(
            base,
            RandomStream::new(7, Direction::Down, "jitter").at(0, 0)
        );
        assert_ne!(base, RandomStream::new(7, Direction::Down, "loss").at(1, 0));
        assert_eq!(base, RandomStream::new(7, Direction::Down, "loss").at(0, 0));
    }

    #[test]
    fn streams_are_not_correlated() {
        // Hits of two flows at 50 %: agreement is binomial, n = 10000, sigma 50.
        let random = RandomStream::new(1, Direction::Up, "loss");
        let half = Chance::from_ppb(500_000_000);
        let agree = (0..10_000)
            .filter(|&i| half.hit(random.at(0, i)) == half.hit(random.at(1, i)))
            .count();
        assert!(agree.abs_diff(5000) < 250, "{agree} of 10000 agree");
    }

    #[test]
    fn the_ends_of_chance_are_never_and_always() {
        assert!(!Chance::from_ppb(0).hit(0));
        assert!(Chance::from_ppb(1_000_000_000).hit(u64::MAX));
        assert!(Chance::from_ppb(u32::MAX).hit(u64::MAX));
        assert!(Chance::from_ppb(1).hit(0));
    }

    #[test]
    fn draws_stay_what_they_were() {
        // A change here changes the fate of every packet ever published with a seed.
        let random = RandomStream::new(7, Direction::Down, "loss");
        assert_eq!([random.at(0, 0), random.at(0, 1), random.at(1, 0)], FROZEN);
    }

    const FROZEN: [u64; 3] = [
        15_257_928_559_323_467_301,
        10_420_353_977_564_858_075,
        14_118_528_344_900_137_772,
    ];
}
