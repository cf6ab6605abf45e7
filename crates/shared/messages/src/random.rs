//! Seeded randomness.

/// SplitMix64's increment: 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of SplitMix64 outputs: one seed gives the same messages and the same order everywhere.
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// Creates the stream of this seed.
    pub fn new(seed: u64) -> Self {
        // Without this the streams of adjacent seeds would be the same but for a shift.
        let seed = split_mix_64(seed);
        Self { seed, drawn: 0 }
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        split_mix_64(self.seed.wrapping_add(self.drawn))
    }

    /// Draws uniformly from `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        // The bias of the multiplication is below 2^-50 for ranges as small as ours.
        let span = u128::from(high - low + 1);
        low + ((u128::from(self.next_u64()) * span) >> 64) as u64
    }

    /// Draws a count or length uniformly from `low..=high`.
    pub(crate) fn count(&mut self, low: u64, high: u64) -> usize {
        self.between(low, high) as usize
    }

    pub(crate) fn int32(&mut self) -> i32 {
        self.next_u64() as i32
    }

    pub(crate) fn bool(&mut self) -> bool {
        self.next_u64() & 1 == 1
    }

    /// Draws uniformly from [0, 1), with all 24 bits of the mantissa random.
    pub(crate) fn float(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Draws uniformly from [0, 1), with all 53 bits of the mantissa random.
    pub fn double(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws printable ASCII, uniform over the 95 characters.
    pub(crate) fn text(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| char::from(self.between(32, 126) as u8))
            .collect()
    }

    /// Shuffles the items, every order equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.count(0, last as u64));
        }
    }

    /// Picks one of the items, all equally likely.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.count(0, items.len() as u64 - 1)]
    }
}

/// Returns output `index` of SplitMix64 seeded with 0 (Steele, Lea, Flood: Fast Splittable
/// Pseudorandom Number Generators, 2014).
pub(crate) fn split_mix_64(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_for_seed_zero_are_the_published_ones() {
        let published = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4];
        assert_eq!([0, 1].map(split_mix_64), published);
    }

    #[test]
    fn ranges_include_both_ends() {
        let mut random = Random::new(1);
        let mut seen = [0; 3];
        for _ in 0..3_000 {
            seen[random.between(5, 7) as usize - 5] += 1;
        }
        // 1000 expected of each, sigma 26: six sigma either way.
        assert!(seen.iter().all(|n| (844..1156).contains(n)), "{seen:?}");
        assert_eq!(random.between(9, 9), 9);
    }

    #[test]
    fn shuffling_keeps_every_item() {
        let mut items: Vec<usize> = (0..100).collect();
        Random::new(3).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
