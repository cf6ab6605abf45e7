//! The radio: packets wait until it is awake.

use std::collections::VecDeque;

use super::{Contradiction, Item, Outcome, Stage, contradiction};
use crate::{
    model::Direction,
    radio::{Carried, Radio, RadioSpec},
    spec::{PathSpec, QueueLimits},
};

/// Refuses a radio that no full packet wakes up.
pub(super) fn check(spec: &PathSpec, mtu: u32) -> Result<(), Contradiction> {
    let states = spec.radio.iter().flat_map(RadioSpec::states);
    let small = states.map(|state| state.small_up_bytes.max(state.small_down_bytes));
    if small.max().is_some_and(|small_bytes| small_bytes >= mtu) {
        let message = format!(
            "a packet of the MTU, {mtu} bytes, is small for the radio; make its small packets smaller"
        );
        return contradiction("radio", message);
    }
    Ok(())
}

/// Builds the stage in one direction of a link with this radio.
pub(super) fn build(spec: &PathSpec, direction: Direction, radio: Radio) -> Box<dyn Stage> {
    Box::new(RadioStage {
        radio,
        direction,
        bps: spec.rate.mean_bps(),
        queue: spec.queue_limits(),
        air_free_ns: 0,
        passed_ns: 0,
        ready_ns: 0,
        waiting: VecDeque::new(),
    })
}

struct RadioStage {
    radio: Radio,
    direction: Direction,
    /// The rate at which the bottleneck behind carries packets.
    bps: Option<u64>,
    /// What waits there at most.
    queue: QueueLimits,
    /// When the bottleneck has carried what has come so far.
    air_free_ns: u64,
    /// When the last packet passed. No later one does before.
    passed_ns: u64,
    /// When the radio was ready, or was to be, at the last arrival.
    ready_ns: u64,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    carried: Carried,
    /// When it passes: then, and not before those in front.
    at_ns: u64,
    item: Item,
}

impl RadioStage {
    /// Takes a packet in, and returns when it passes. If the other direction woke the radio up meanwhile, those that wait
    /// for it pass now at the soonest.
    fn admit(&mut self, now_ns: u64, carried: Carried, item: Item) -> u64 {
        let ready_ns = self.radio.ready_ns();
        if ready_ns < self.ready_ns {
            let mut before_ns = self.passed_ns;
            for waiting in &mut self.waiting {
                waiting.at_ns = match waiting.carried {
                    Carried::At(at_ns) => at_ns,
                    Carried::AfterWaking(at_ns) => at_ns.min(ready_ns.max(now_ns)),
                };
                waiting.at_ns = waiting.at_ns.max(before_ns);
                before_ns = waiting.at_ns;
            }
        }
        self.ready_ns = ready_ns;
        let before_ns = self
            .waiting
            .back()
            .map_or(self.passed_ns, |last| last.at_ns);
        let (Carried::At(own_ns) | Carried::AfterWaking(own_ns)) = carried;
        let at_ns = own_ns.max(before_ns);
        self.waiting.push_back(Waiting {
            carried,
            at_ns,
            item,
        });
        at_ns
    }

    /// Keeps the radio awake for a packet that passes, until the bottleneck behind has carried it.
    fn pass(&mut self, carried: Carried, at_ns: u64, ip_bytes: u32) {
        let air_ns = self.air_ns(ip_bytes.into());
        // The queue drops what is more than it holds.
        let longest_ns = self
            .air_ns(self.queue.bytes)
            .min(self.queue.packets.saturating_mul(air_ns));
        let most_ns = at_ns.saturating_add(longest_ns).saturating_add(air_ns);
        let free_ns = self.air_free_ns.max(at_ns).saturating_add(air_ns);
        self.air_free_ns = free_ns.min(most_ns);
        if let Carried::AfterWaking(_) = carried {
            self.radio.wake_by(at_ns);
        }
        self.radio.busy_until(self.air_free_ns, self.direction);
    }

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
        let carried = self.radio.carry(now_ns, self.direction, ip_bytes);
        let at_ns = self.admit(now_ns, carried, item);
        // What the phone sends is decided. A packet to the phone may still pass sooner.
        if self.direction == Direction::Up {
            self.pass(carried, at_ns, ip_bytes);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.waiting.front().map(|first| first.at_ns)
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.next_deadline().filter(|&at_ns| at_ns <= now_ns)?;
        let Waiting {
            carried,
            at_ns,
            item,
        } = self.waiting.pop_front()?;
        self.passed_ns = at_ns;
        if self.direction == Direction::Down {
            self.pass(carried, at_ns, item.packet.ip_bytes);
        }
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
