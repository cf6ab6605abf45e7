//! The stages of a path: one file each, one table.

mod bottleneck;
mod delay;
mod loss;
mod outbox;
mod policy;
mod reorder;

use crate::{Cause, Direction, Packet, PathSpec, flows::Ticket};

/// A packet under way, with the ticket that keys its random draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) packet: Packet,
    pub(crate) ticket: Option<Ticket>,
}

/// What a stage did with one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Virtual time at which it happened.
    pub(crate) at_ns: u64,
    pub(crate) item: Item,
    /// Why it was dropped; `None` when it goes on.
    pub(crate) dropped: Option<Cause>,
}

/// One stage. Packets are offered in order of time; each comes out of `poll` exactly once.
///
/// A stage must not learn from *when* it is polled: `at_ns` follows from arrival times alone, so
/// that a late wake-up changes nothing but the lateness.
pub(crate) trait Stage: Send {
    /// Sets the origin of the stage's clocks; called before the first packet, and again when the
    /// first step of a measurement starts.
    fn start(&mut self, _origin_ns: u64) {}

    /// Takes a packet that arrives at `now_ns`, which is never before the previous arrival.
    fn offer(&mut self, now_ns: u64, item: Item);

    /// The earliest time at which `poll` has something.
    fn next_deadline(&self) -> Option<u64>;

    /// The next outcome not later than `now_ns`, in order of time.
    fn poll(&mut self, now_ns: u64) -> Option<Outcome>;

    /// How many packets it holds.
    fn held(&self) -> usize;

    /// The least time every packet spends here: what comes before may sleep so much longer.
    fn floor_ns(&self) -> u64 {
        0
    }

    /// Takes this off the fixed delay; only the stage that has one listens.
    fn set_bias_ns(&mut self, _bias_ns: u64) {}
}

/// Builds a stage, or `None` when the spec does not ask for it.
type Build = fn(&PathSpec, Direction, u64) -> Option<Box<dyn Stage>>;

/// Every stage, in the order in which a packet meets them. Loss comes after the bottleneck: what
/// the radio loses has used the link. A new stage is a file, a `mod` line and an entry here.
const ORDER: &[Build] = &[
    policy::build,
    bottleneck::build,
    loss::build,
    delay::build,
    reorder::build,
];

/// The stages that `spec` asks for.
pub(crate) fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Vec<Box<dyn Stage>> {
    ORDER
        .iter()
        .filter_map(|build| build(spec, direction, seed))
        .collect()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::Transport;

    /// A packet of flow 0, `index` its number and its token.
    pub(crate) fn item(index: u64, ip_bytes: u32) -> Item {
        item_of(Transport::Udp, index, ip_bytes)
    }

    pub(crate) fn item_of(transport: Transport, index: u64, ip_bytes: u32) -> Item {
        Item {
            packet: Packet {
                token: index,
                ip_bytes,
                transport,
                src_port: 40_000,
                dst_port: 443,
                flow: 1,
            },
            ticket: (transport != Transport::Other).then_some(Ticket {
                flow_order: 0,
                index,
            }),
        }
    }

    /// All outcomes, as (time, token, cause), polled once at the very end.
    pub(crate) fn drain(stage: &mut dyn Stage) -> Vec<(u64, u64, Option<Cause>)> {
        std::iter::from_fn(|| stage.poll(u64::MAX))
            .map(|o| (o.at_ns, o.item.packet.token, o.dropped))
            .collect()
    }
}
