//! Remembers nonces for as long as their requests would be accepted.

use std::collections::{BTreeSet, VecDeque};

use crate::refusal::Refusal;

/// Nonces of the requests within the window, at most a fixed number.
#[derive(Debug)]
pub(crate) struct Nonces {
    most: usize,
    seen: BTreeSet<(String, String)>,
    /// When each is forgotten, with its key's id and itself, in the order in which they came.
    by_end: VecDeque<(u64, String, String)>,
}

impl Nonces {
    pub(crate) fn new(most: usize) -> Nonces {
        Nonces {
            most,
            seen: BTreeSet::new(),
            by_end: VecDeque::new(),
        }
    }

    /// Remembers a nonce until `keep_until_s`, which must not be before any given earlier, so that the
    /// oldest is forgotten first. Refuses one that is remembered already, and, rather than forget one
    /// that could still be repeated, any if there are too many.
    pub(crate) fn add(
        &mut self,
        key: &str,
        nonce: &str,
        now_s: u64,
        keep_until_s: u64,
    ) -> Result<(), Refusal> {
        while let Some((until_s, ..)) = self.by_end.front()
            && *until_s < now_s
            && let Some((_, key, nonce)) = self.by_end.pop_front()
        {
            self.seen.remove(&(key, nonce));
        }
        let seen = (key.to_owned(), nonce.to_owned());
        if self.seen.contains(&seen) {
            return Err(Refusal::Replayed);
        }
        if self.by_end.len() == self.most {
            return Err(Refusal::TooMany);
        }
        self.by_end
            .push_back((keep_until_s, seen.0.clone(), seen.1.clone()));
        self.seen.insert(seen);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_refused_until_it_is_forgotten() {
        let mut nonces = Nonces::new(2);
        assert_eq!(nonces.add("k", "a", 10, 20), Ok(()));
        assert_eq!(nonces.add("k", "a", 20, 30), Err(Refusal::Replayed));
        assert_eq!(nonces.add("other", "a", 20, 30), Ok(()));
        assert_eq!(nonces.add("k", "b", 20, 30), Err(Refusal::TooMany));
        assert_eq!(nonces.add("k", "a", 21, 31), Ok(()));
        assert_eq!(nonces.seen.len(), 2);
    }
}
