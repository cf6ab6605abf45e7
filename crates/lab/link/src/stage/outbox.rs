use std::collections::VecDeque;

use super::{Item, Outcome};
use crate::model::Cause;

/// Outcomes that are decided but not yet due. Most stages keep one between `offer` and `poll`.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    passes: VecDeque<(u64, Item)>,
    drops: VecDeque<(u64, Item, Cause)>,
}

impl Outbox {
    /// Passes the packet on at `at_ns`, which is never before the previous pass.
    pub(crate) fn pass(&mut self, at_ns: u64, item: Item) {
        self.passes.push_back((at_ns, item));
    }

    /// Drops the packet at `at_ns`. Drops may be decided out of order of time (a future flush, then
    /// a full queue), so each is inserted from the back.
    pub(crate) fn drop(&mut self, at_ns: u64, item: Item, cause: Cause) {
        let place = self
            .drops
            .iter()
            .rposition(|&(at, ..)| at <= at_ns)
            .map_or(0, |i| i + 1);
        self.drops.insert(place, (at_ns, item, cause));
    }

    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let pass = self.passes.front().map(|&(at, _)| at);
        let drop = self.drops.front().map(|&(at, ..)| at);
        match (pass, drop) {
            (Some(pass), Some(drop)) => Some(pass.min(drop)),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        let at_ns = self.next_deadline().filter(|&at| at <= now_ns)?;
        if self.passes.front().is_some_and(|&(at, _)| at == at_ns) {
            let (at_ns, item) = self.passes.pop_front()?;
            return Some(Outcome {
                at_ns,
                item,
                dropped: None,
            });
        }
        let (at_ns, item, cause) = self.drops.pop_front()?;
        Some(Outcome {
            at_ns,
            item,
            dropped: Some(cause),
        })
    }

    pub(crate) fn queued(&self) -> usize {
        self.passes.len() + self.drops.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::item, *};

    #[test]
    fn simultaneous_drops_keep_their_order() {
        let mut outbox = Outbox::default();
        for token in 0..3 {
            outbox.drop(7, item(token, 100), Cause::Queue);
        }
        let tokens: Vec<u64> = std::iter::from_fn(|| outbox.poll(7))
            .map(|o| o.item.packet.token)
            .collect();
        assert_eq!(tokens, [0, 1, 2]);
    }

    #[test]
    fn outcomes_come_out_in_order_of_time() {
        let mut outbox = Outbox::default();
        outbox.pass(10, item(0, 100));
        outbox.drop(30, item(1, 100), Cause::Gate);
        outbox.drop(5, item(2, 100), Cause::Queue);
        outbox.pass(40, item(3, 100));
        assert_eq!(outbox.queued(), 4);
        assert_eq!(outbox.poll(4), None);
        let tokens: Vec<u64> = std::iter::from_fn(|| outbox.poll(100))
            .map(|o| o.item.packet.token)
            .collect();
        assert_eq!(tokens, [2, 0, 1, 3]);
        assert_eq!(outbox.queued(), 0);
    }
}
