//! The planned calls of a population, and their times in a cell.

use std::collections::BTreeMap;
use std::ops::Deref;

use record::CompactCall;
use stats::Span;

/// Ids up to this one are looked up in a set of bits.
const MAX_BIT: u32 = 1 << 20;

/// The batch of each planned call, by id.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    by_id: BTreeMap<u32, u32>,
    /// Which small ids there are, a bit for each: every call of every cell is looked up several times.
    small: Vec<u64>,
}

impl From<BTreeMap<u32, u32>> for Batches {
    fn from(by_id: BTreeMap<u32, u32>) -> Self {
        let mut small = Vec::new();
        for id in by_id.keys().copied().take_while(|id| *id < MAX_BIT) {
            let word = id as usize / 64;
            small.resize(small.len().max(word + 1), 0);
            small[word] |= 1 << (id % 64);
        }
        Self { by_id, small }
    }
}

impl Deref for Batches {
    type Target = BTreeMap<u32, u32>;

    fn deref(&self) -> &BTreeMap<u32, u32> {
        &self.by_id
    }
}

impl Batches {
    /// Reports whether a call is among them.
    pub(crate) fn has(&self, id: u32) -> bool {
        match id < MAX_BIT {
            true => {
                let word = self.small.get(id as usize / 64);
                word.is_some_and(|word| word >> (id % 64) & 1 == 1)
            }
            false => self.by_id.contains_key(&id),
        }
    }

    /// Returns each of them with the call of a cell that has its id.
    pub(crate) fn with<'a>(
        &'a self,
        calls: impl Iterator<Item = CompactCall<'a>>,
    ) -> impl Iterator<Item = (u32, u32, Option<CompactCall<'a>>)> {
        let mut calls: Vec<CompactCall<'a>> = calls.collect();
        if !calls.is_sorted_by(|a, b| a.id() < b.id()) {
            // Of several with one id, the last counts.
            calls.reverse();
            calls.sort_by_key(|call| call.id());
            calls.dedup_by_key(|call| call.id());
        }
        let mut calls = calls.into_iter().peekable();
        self.by_id.iter().map(move |(&id, &batch)| {
            while calls.next_if(|call| call.id() < id).is_some() {}
            (id, batch, calls.next_if(|call| call.id() == id))
        })
    }
}

/// The times of a cell by step, in the order of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Steps(Vec<(u32, Span)>);

impl FromIterator<(u32, Span)> for Steps {
    fn from_iter<I: IntoIterator<Item = (u32, Span)>>(steps: I) -> Self {
        let mut steps: Vec<(u32, Span)> = steps.into_iter().collect();
        if !steps.is_sorted_by(|a, b| a.0 < b.0) {
            let by_id: BTreeMap<u32, Span> = steps.into_iter().collect();
            steps = by_id.into_iter().collect();
        }
        Self(steps)
    }
}

impl Steps {
    /// Returns the time of a step.
    pub(crate) fn get(&self, step: u32) -> Option<Span> {
        let found = self.0.binary_search_by_key(&step, |(id, _)| *id).ok()?;
        Some(self.0[found].1)
    }

    /// Returns each step with its time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, Span)> {
        self.0.iter().copied()
    }

    /// Returns the times.
    pub(crate) fn times(&self) -> Vec<Span> {
        self.iter().map(|(_, time)| time).collect()
    }

    /// Returns the times of the steps that both have, with those of `other`.
    pub(crate) fn in_both(&self, other: &Steps) -> Vec<(Span, Span)> {
        let mut others = other.iter().peekable();
        let pair = |(id, time): (u32, Span)| {
            while others.next_if(|(other, _)| *other < id).is_some() {}
            let (_, other) = others.next_if(|(other, _)| *other == id)?;
            Some((time, other))
        };
        self.iter().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_ids_are_found() {
        let ids = [0, 63, 64, MAX_BIT - 1, MAX_BIT, u32::MAX];
        let batches = Batches::from(BTreeMap::from(ids.map(|id| (id, 1))));
        assert!(ids.iter().all(|id| batches.has(*id)));
        for other in [1, 62, 65, MAX_BIT - 2, MAX_BIT + 1] {
            assert!(!batches.has(other), "{other}");
        }
    }

    #[test]
    fn steps_are_sorted_and_paired() {
        let steps = |ids: &[(u32, f64)]| -> Steps {
            ids.iter().map(|(id, ns)| (*id, Span::exact(*ns))).collect()
        };
        // Of two steps with one id, the last counts.
        let one = steps(&[(7, 1.0), (2, 2.0), (7, 3.0)]);
        assert_eq!(one, steps(&[(2, 2.0), (7, 3.0)]));
        assert_eq!((one.get(7), one.get(3)), (Some(Span::exact(3.0)), None));
        let other = steps(&[(1, 9.0), (2, 8.0), (9, 7.0)]);
        assert_eq!(one.in_both(&other), [(Span::exact(2.0), Span::exact(8.0))]);
    }
}
