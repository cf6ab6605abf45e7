//! Ranges of a stream's bytes.

use std::collections::BTreeMap;

/// Bytes of one direction of a connection, e.g. those that a capture has. Ranges neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range, and returns how many of its bytes are new.
    pub(crate) fn add(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let (mut from, mut to, mut had) = (start, end, 0);
        let before = self.0.range(..=end).next_back();
        let mut last = before.map(|(&from, &to)| (from, to));
        while let Some((old_from, old_to)) = last.filter(|&(_, old_to)| old_to >= start) {
            had += old_to.min(end) - old_from.max(start).min(old_to.min(end));
            (from, to) = (from.min(old_from), to.max(old_to));
            self.0.remove(&old_from);
            let before = self.0.range(..=end).next_back();
            last = before.map(|(&from, &to)| (from, to));
        }
        self.0.insert(from, to);
        end - start - had
    }

    /// Returns how many of the bytes before a place are missing.
    pub(crate) fn missing_before(&self, place: u64) -> u64 {
        let before = self.0.range(..place);
        let had: u64 = before.map(|(&from, &to)| to.min(place) - from).sum();
        place - had
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_new_bytes_counted() {
        let mut ranges = Ranges::default();
        let new = [
            (10, 20),
            (10, 20),
            (15, 25),
            (40, 50),
            (5, 45),
            (0, 5),
            (7, 7),
        ]
        .map(|(start, end)| ranges.add(start, end));
        assert_eq!(new, [10, 0, 5, 10, 20, 5, 0]);
        assert_eq!(ranges.0, BTreeMap::from([(0, 50)]));
    }

    #[test]
    fn missing_bytes_are_counted() {
        let mut ranges = Ranges::default();
        ranges.add(10, 20);
        ranges.add(30, 40);
        assert_eq!(
            [5, 15, 25, 35, 60].map(|at| ranges.missing_before(at)),
            [5, 10, 15, 20, 40]
        );
    }
}
