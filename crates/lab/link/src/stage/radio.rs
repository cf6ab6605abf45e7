//! The radio: packets wait until it is awake.

use std::collections::VecDeque;

use super::{Item, Outcome, Stage};
use crate::{model::Direction, radio::Radio, spec::PathSpec};

/// Builds the stage in one direction of a link with this radio.
pub(super) fn build(spec: &PathSpec, direction: Direction, radio: Radio) -> Box<dyn Stage> {
    Box::new(RadioStage {
        radio,
        direction,
        bps: spec.rate.mean_bps(),
        queue_bytes: spec.queue_bytes(),
        air_free_ns: 0,
        last_ns: 0,
        waiting: VecDeque::new(),
    })
}

struct RadioStage {
    radio: Radio,
    direction: Direction,
    /// The rate at which the bottleneck behind carries packets.
    bps: Option<u64>,
    /// How many bytes wait there at most.
    queue_bytes: Option<u64>,
    /// When the bottleneck has carried what has come so far.
    air_free_ns: u64,
    last_ns: u64,
    /// When each packet can be carried, in order.
    waiting: VecDeque<(u64, Item)>,
}

impl RadioStage {
    /// Returns the time that the bottleneck takes for so many bytes.
    fn air_ns(&self, bytes: u64) -> u64 {
        let ns = |bps| u128::from(bytes) * 8_000_000_000 / u128::from(bps);
        let ns = self.bps.map_or(0, ns);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

impl Stage for RadioStage {
    fn offer(&mut self, now_ns: u64, item: Item) {
        let ip_bytes = item.packet.ip_bytes;
        let ready_ns = self.radio.carry(now_ns, self.direction, ip_bytes);
        // A small packet waits for those before it, too.
        self.last_ns = self.last_ns.max(ready_ns);
        let air_ns = self.air_ns(u64::from(ip_bytes));
        let free_ns = self.air_free_ns.max(self.last_ns).saturating_add(air_ns);
        // The queue drops what is more than it holds.
        let most_ns = self.queue_bytes.map_or(u64::MAX, |bytes| {
            let longest_ns = self.air_ns(bytes).saturating_add(air_ns);
            self.last_ns.saturating_add(longest_ns)
        });
        self.air_free_ns = free_ns.min(most_ns);
        self.radio.busy_until(self.air_free_ns, self.direction);
        self.waiting.push_back((self.last_ns, item));
    }

    fn next_deadline(&self) -> Option<u64> {
        self.waiting.front().map(|&(at_ns, _)| at_ns)
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.next_deadline().filter(|&at_ns| at_ns <= now_ns)?;
        let (at_ns, item) = self.waiting.pop_front()?;
        Some(Outcome {
            at_ns,
            item,
            dropped: None,
        })
    }

    fn queued(&self) -> usize {
        self.waiting.len()
    }
}
