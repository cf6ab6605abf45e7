//! Seeded luck.

use crate::file::split_mix;

/// A stream of SplitMix64 outputs: one seed, the same message (or order) everywhere.
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        // Streams of neighbouring seeds would otherwise be shifts of one another.
        let seed = split_mix(seed);
        Self { seed, drawn: 0 }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.drawn += 1;
        split_mix(self.seed.wrapping_add(self.drawn))
    }

    /// Uniform over `low..=high`.
    pub(crate) fn among(&mut self, low: u64, high: u64) -> u64 {
        // The bias of the multiplication is below 2^-50 for ranges as small as ours.
        let span = u128::from(high - low + 1);
        low + ((u128::from(self.bits()) * span) >> 64) as u64
    }

    /// A count or length, uniform over `low..=high`.
    pub(crate) fn count(&mut self, low: u64, high: u64) -> usize {
        self.among(low, high) as usize
    }

    pub(crate) fn int32(&mut self) -> i32 {
        self.bits() as i32
    }

    pub(crate) fn bool(&mut self) -> bool {
        self.bits() & 1 == 1
    }

    /// Uniform over [0, 1), on all 24 bits of the mantissa.
    pub(crate) fn float(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Uniform over [0, 1), on all 53 bits of the mantissa.
    pub fn double(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Printable ASCII, each of the 95 characters alike.
    pub(crate) fn text(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| char::from(self.among(32, 126) as u8))
            .collect()
    }

    /// Puts these into an order drawn from all orders alike (Fisher and Yates).
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for last in (1..of.len()).rev() {
            of.swap(last, self.count(0, last as u64));
        }
    }

    /// One of these, alike.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.count(0, of.len() as u64 - 1)]
    }
}
