//! Threads that call an interface at random.

use std::thread;

use peers::Rng;

/// Threads that call an interface at once.
pub(crate) const THREADS: u8 = 4;
/// Of a hundred operations, this many mix objects of different engines.
const FOREIGN_PERCENT: usize = 10;

/// How often each operation of an interface is done, relative to the others.
pub(crate) struct Weights(pub(crate) &'static [u16]);

/// Calls `operate` so many times in all, with random operations of a seed.
pub(crate) fn run(
    weights: &Weights,
    operations: u64,
    seed: u64,
    operate: impl Fn(u8, [u8; 4]) + Sync,
) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let operate = &operate;
            scope.spawn(move || {
                let mut rng = Rng::new(seed * u64::from(THREADS) + u64::from(thread));
                let rest = u64::from(operations % u64::from(THREADS) > u64::from(thread));
                for _ in 0..operations / u64::from(THREADS) + rest {
                    operate(thread, weights.next(&mut rng));
                }
            });
        }
    });
}

impl Weights {
    fn next(&self, rng: &mut Rng) -> [u8; 4] {
        let [mut which, with, more, ..] = rng.next().to_le_bytes();
        let operation = self.pick(rng);
        if !rng.chance(FOREIGN_PERCENT) {
            // Four engines, and the high bits of an object's slot are those of its engine.
            let engine = which >> 4 & 3;
            which = engine << 4 | engine << 2 | which & 3;
        }
        [operation, which, with, more]
    }

    fn pick(&self, rng: &mut Rng) -> u8 {
        let all: u16 = self.0.iter().sum();
        let mut left = rng.below(all.into()) as u16;
        let picked = self.0.iter().position(|weight| {
            let found = left < *weight;
            left = left.saturating_sub(*weight);
            found
        });
        picked.expect("it is below the sum") as u8
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn operations_are_done_as_often_as_their_weights_say() {
        let done = [const { AtomicU64::new(0) }; 3];
        run(&Weights(&[50, 1, 49]), 10_001, 1, |_, [operation, ..]| {
            done[usize::from(operation)].fetch_add(1, Ordering::Relaxed);
        });
        let done = done.map(AtomicU64::into_inner);
        assert_eq!(done.iter().sum::<u64>(), 10_001);
        assert!((50..200).contains(&done[1]), "{done:?}");
        assert!((4_500..5_500).contains(&done[0]), "{done:?}");
    }
}
