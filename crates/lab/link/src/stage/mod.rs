//! The stages of a path: one file each. This file lists them ([`KINDS`]) and the keys that a
//! network file has for them ([`PathKeys`]).

pub(crate) mod bottleneck;
pub(crate) mod delay;
pub(crate) mod loss;
mod outbox;
mod policy;
mod radio;
mod reorder;

use bottleneck::{aqm::AqmKeys, settings};
use config::{Bytes, ConfigError, Kbps, Ms, Percent};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    flows::Ticket,
    handover::Handovers,
    model::{Cause, Direction, Packet},
    radio::{Radio, RadioSpec},
    spec::PathSpec,
    table::Table,
};

/// Every stage but the radio, in the order in which a packet meets them. Loss comes after the bottleneck because
/// packets lost on the radio have used the link. A radio is in front, behind those that are wired in the down direction.
const KINDS: &[Kind] = &[
    policy::KIND,
    bottleneck::KIND,
    loss::KIND,
    delay::KIND,
    reorder::KIND,
];

/// A packet inside the path, with the ticket that keys its random draws.
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
    /// Why the packet was dropped; `None` when it goes on.
    pub(crate) dropped: Option<Cause>,
}

/// One stage. Packets are offered in order of time; each comes out of `poll` exactly once.
///
/// A stage must not depend on *when* it is polled: `at_ns` follows from arrival times alone, so
/// that a late wake-up delays one packet and changes nothing else. A stage whose decisions depend on
/// what arrives until then may make those up to `now_ns` when it is polled.
pub(crate) trait Stage: Send {
    /// Sets the origin of the stage's clocks. Called before the first packet, and again when the
    /// first step of a measurement starts.
    fn start(&mut self, _origin_ns: u64) {}

    /// Takes a packet that arrives at `now_ns`, which is never before the previous arrival.
    fn offer(&mut self, now_ns: u64, item: Item);

    /// Returns a time before which `poll` has no outcome. A poll then has one, or the next deadline is later.
    fn next_deadline(&self) -> Option<u64>;

    /// Returns the next outcome not later than `now_ns`, in order of time.
    fn poll(&mut self, now_ns: u64) -> Option<Outcome>;

    /// Returns the number of packets inside.
    fn queued(&self) -> usize;

    /// Returns the least time that every packet spends here. The path's deadlines add it up, so
    /// that the caller sleeps until a packet can really leave.
    fn floor_ns(&self) -> u64 {
        0
    }
}

/// Builds a stage for a direction and a seed, or returns `None` when the spec does not ask for it.
type Build = fn(&PathSpec, Direction, u64) -> Option<Box<dyn Stage>>;

/// Returns a label and what the stage does, for the one-line summary of a network.
type Summary = fn(&PathSpec) -> Option<(&'static str, String)>;

/// A kind of stage: an entry of [`KINDS`].
struct Kind {
    build: Build,
    /// Refuses settings that contradict each other, given the MTU in bytes.
    check: fn(&PathSpec, u32) -> Result<(), Contradiction>,
    /// Rate, delay, loss and queue are always printed, and are not part of these summaries.
    summary: Summary,
    /// It is between the server and the radio.
    is_wired: bool,
}

impl Kind {
    /// Returns a kind that has nothing to check or to add to the summary.
    const fn new(build: Build) -> Kind {
        Kind {
            build,
            check: |_, _| Ok(()),
            summary: |_| None,
            is_wired: false,
        }
    }
}

/// Settings of one direction that do not go together, whether from a file, from overrides or from a record.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {message}")]
pub(crate) struct Contradiction {
    /// The key of the direction to blame.
    pub(crate) key: &'static str,
    /// What is wrong, and what would be right.
    pub(crate) message: String,
}

/// Returns a [`Contradiction`] as an error.
fn contradiction(key: &'static str, message: impl Into<String>) -> Result<(), Contradiction> {
    let message = message.into();
    Err(Contradiction { key, message })
}

/// Returns the stages that `spec` asks for, with a radio that both directions share.
pub(crate) fn build(
    spec: &PathSpec,
    direction: Direction,
    seed: u64,
    radio: Option<&Radio>,
) -> Vec<Box<dyn Stage>> {
    let build = |kind: &Kind| (kind.build)(spec, direction, seed);
    // A packet to the phone has come most of its way before it finds the radio asleep, one from the phone has not.
    let is_before = |kind: &&Kind| kind.is_wired && direction == Direction::Down && radio.is_some();
    let (before, after): (Vec<&Kind>, Vec<&Kind>) = KINDS.iter().partition(is_before);
    let before = before.into_iter().filter_map(build);
    let after = after.into_iter().filter_map(build);
    let radio = radio.map(|radio| radio::build(spec, direction, radio.clone()));
    before.chain(radio).chain(after).collect()
}

/// Refuses settings that contradict each other.
pub(crate) fn check(spec: &PathSpec, mtu: u32) -> Result<(), Contradiction> {
    KINDS.iter().try_for_each(|kind| (kind.check)(spec, mtu))?;
    radio::check(spec, mtu)
}

/// Returns what each kind adds to the one-line summary, the last stage first.
pub(crate) fn summaries() -> impl Iterator<Item = Summary> {
    KINDS.iter().rev().map(|kind| kind.summary)
}

/// What both directions of a link share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) radio: Option<RadioSpec>,
    pub(crate) handovers: Option<Handovers>,
}

/// Fetches the text of a trace by the name it has in the network file.
pub(crate) type TraceText<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// The keys of one direction in a network file. Values are as written; each stage checks its own.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathKeys {
    /// Constant rate in 1000 bit/s, counted over IP packets, or text such as "5Mbit/s". Without rate or trace there is no limit.
    rate_kbps: Option<Kbps>,
    /// Instead of a rate: a file of delivery opportunities in the Mahimahi format, one time in ms per line.
    trace: Option<String>,
    /// The same times in the network file.
    trace_ms: Option<Vec<u32>>,
    /// Size of the queue as time at the rate, in ms, or text such as "100ms".
    queue_ms: Option<Ms>,
    /// Size of the queue in packets.
    queue_packets: Option<u32>,
    /// Size of the queue in bytes, or text such as "64kB".
    queue_bytes: Option<Bytes>,
    /// Management of the queue, which drops packets before it is full.
    aqm: Option<AqmKeys>,
    /// Fixed one-way delay in ms, or text such as "25ms"; the RTT is the sum of both directions.
    delay_ms: Option<Ms>,
    /// Variation of the delay, so much either way, in ms or as text; it never reorders.
    jitter_ms: Option<Ms>,
    /// Independent loss of each packet, in percent, or text such as "1.5%".
    loss_percent: Option<Percent>,
    /// Loss in fades by the clock.
    burst_loss: Option<loss::burst::Keys>,
    /// Loss by a chain that takes one step per packet.
    gilbert_elliott: Option<loss::gilbert_elliott::Keys>,
    /// Outages.
    gate: Option<settings::GateKeys>,
    /// What an operator does to UDP.
    policy: Option<policy::Keys>,
    /// Some packets are held back, so that later ones overtake them.
    reorder: Option<reorder::Keys>,
}

impl PathKeys {
    /// Reads the spec of one direction.
    pub(crate) fn read(
        self,
        table: &Table<'_>,
        mtu: u32,
        shared: Shared,
        trace_text: TraceText<'_>,
    ) -> Result<PathSpec, ConfigError> {
        let spec = PathSpec {
            policy: self
                .policy
                .map(|keys| keys.read(&table.inner("policy"), mtu))
                .transpose()?,
            gate: self
                .gate
                .map(|keys| keys.read(&table.inner("gate")))
                .transpose()?,
            queue: settings::queue(self.queue_ms, self.queue_packets, self.queue_bytes, table)?,
            aqm: self
                .aqm
                .map(|keys| keys.read(&table.inner("aqm"), mtu))
                .transpose()?,
            rate: settings::rate(self.rate_kbps, self.trace, self.trace_ms, table, trace_text)?,
            loss: loss::read(
                self.loss_percent,
                self.burst_loss,
                self.gilbert_elliott,
                table,
            )?,
            delay_ns: delay::read("delay_ms", self.delay_ms, table)?,
            jitter_ns: delay::read("jitter_ms", self.jitter_ms, table)?,
            reorder: self
                .reorder
                .map(|keys| keys.read(&table.inner("reorder")))
                .transpose()?,
            radio: shared.radio,
            handovers: shared.handovers,
        };
        check(&spec, mtu).map_err(|c| table.table_error(c.key, c.message))?;
        Ok(spec)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::model::Transport;

    /// Returns a UDP packet of flow 0; `index` is its number in the flow and its token.
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
                flow: Some(0),
            },
            ticket: (transport != Transport::Other).then_some(Ticket { series: 0, index }),
        }
    }

    /// Returns all outcomes as (time, token, cause), polled once at the very end.
    pub(crate) fn drain(stage: &mut dyn Stage) -> Vec<(u64, u64, Option<Cause>)> {
        all(|| stage.poll(u64::MAX))
    }

    pub(crate) fn drain_outbox(out: &mut outbox::Outbox) -> Vec<(u64, u64, Option<Cause>)> {
        all(|| out.poll(u64::MAX))
    }

    fn all(poll: impl FnMut() -> Option<Outcome>) -> Vec<(u64, u64, Option<Cause>)> {
        std::iter::from_fn(poll)
            .map(|o| (o.at_ns, o.item.packet.token, o.dropped))
            .collect()
    }
}
