//! What a path is built from: the settings of one direction in whole units.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    closings::Closings, gate::Gate, handover::Handovers, radio::RadioSpec, time::NS_PER_MS,
    trace::Trace,
};

/// One direction of a network. The default impairs nothing.
///
/// Deserialising refuses settings that contradict each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, remote = "Self")]
pub struct PathSpec {
    /// Operator policy for UDP.
    pub policy: Option<PolicySpec>,
    /// Outages. Ignored with a trace, which has its own.
    pub gate: Option<Gate>,
    /// Limits of the queue in front of the rate.
    pub queue: QueueSpec,
    /// Management of the queue; without it the queue drops arrivals while it is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmSpec>,
    /// Rate at which the queue empties.
    pub rate: RateSpec,
    /// Random loss after the queue.
    pub loss: Option<LossSpec>,
    /// Fixed one-way delay in ns.
    pub delay_ns: u64,
    /// Jitter: how far the delay varies either way, in ns. At every moment it is uniform over this
    /// range, whatever is sent; it never reorders.
    pub jitter_ns: u64,
    /// Packets that are held back, so that later ones overtake them.
    pub reorder: Option<ReorderSpec>,
    /// The radio, the same in both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioSpec>,
    /// The handovers, the same in both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handovers: Option<Handovers>,
}

impl PathSpec {
    /// Returns whether two runs with the same packets differ in what becomes of them: whether anything
    /// is drawn at random, or depends on when a trace, a schedule of outages or a radio's sleep began.
    pub fn leaves_to_chance(&self) -> bool {
        let is_trace = matches!(self.rate, RateSpec::Trace(_));
        let stages = [
            self.loss.is_some(),
            self.reorder.is_some(),
            self.closings().is_some(),
            self.radio.is_some(),
        ];
        is_trace || self.jitter_ns > 0 || stages.contains(&true)
    }

    /// Returns how much longer the delay is with the farthest base station, in ns.
    pub fn most_extra_delay_ns(&self) -> u64 {
        let handovers = self.handovers.as_ref();
        handovers.map_or(0, Handovers::most_extra_delay_ns)
    }

    /// Returns whether the direction is closed at times, by a gate or by handovers.
    pub fn is_closed_at_times(&self) -> bool {
        self.closings().is_some()
    }

    /// Returns when the direction is closed: a network file has a gate or handovers, but not both.
    pub(crate) fn closings(&self) -> Option<&Closings> {
        let gate = self.gate.as_ref().map(Gate::closings);
        gate.or_else(|| self.handovers.as_ref().map(Handovers::closings))
    }

    /// Returns how many bytes the queue holds; `None` if its bytes are not limited.
    pub fn queue_bytes(&self) -> Option<u64> {
        let bytes = self.queue_limits().bytes;
        (bytes < u64::MAX).then_some(bytes)
    }

    /// Returns the queue's limits, with its time converted to bytes at the (mean) rate.
    pub(crate) fn queue_limits(&self) -> QueueLimits {
        let by_time = self
            .queue
            .time_ns
            .zip(self.rate.mean_bps())
            .map(|(time_ns, bps)| {
                let bytes = u128::from(time_ns) * u128::from(bps) / 8 / 1_000_000_000;
                u64::try_from(bytes).unwrap_or(u64::MAX)
            });
        let bytes = self.queue.bytes.into_iter().chain(by_time).min();
        QueueLimits {
            bytes: bytes.unwrap_or(u64::MAX),
            packets: self.queue.packets.unwrap_or(u64::MAX),
        }
    }
}

/// Rate at which a direction carries IP bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSpec {
    /// No limit.
    #[default]
    Unlimited,
    /// A constant rate.
    Constant {
        /// Bits per second, counted over IP packets.
        bps: NonZeroU64,
    },
    /// The delivery opportunities of a trace.
    Trace(Trace),
}

impl RateSpec {
    /// Returns a constant rate; 0 means one bit per second, the slowest there is.
    pub fn constant(bps: u64) -> RateSpec {
        RateSpec::Constant {
            bps: NonZeroU64::new(bps).unwrap_or(NonZeroU64::MIN),
        }
    }

    /// Returns the rate, or the mean of the trace; `None` when unlimited.
    pub fn mean_bps(&self) -> Option<u64> {
        match self {
            RateSpec::Unlimited => None,
            RateSpec::Constant { bps } => Some(bps.get()),
            RateSpec::Trace(trace) => Some(trace.mean_bps()),
        }
    }
}

/// Limits of a queue. Of several, the first that is reached applies; without any, the queue is
/// unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueSpec {
    /// As many bytes as the rate carries in this time, in ns.
    pub time_ns: Option<u64>,
    /// IP bytes, without those of the packet in service.
    pub bytes: Option<u64>,
    /// Packets, without the one in service.
    pub packets: Option<u64>,
}

/// Limits of a queue in the units in which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueLimits {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
}

impl QueueLimits {
    /// Reports whether a queue may hold so much.
    pub(crate) fn hold(&self, bytes: u64, packets: u64) -> bool {
        bytes <= self.bytes && packets <= self.packets
    }
}

/// Active queue management: the queue drops packets before it is full. It does not mark packets (ECN): those that
/// could be marked are dropped like others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AqmSpec {
    /// The algorithm.
    pub kind: AqmKind,
    /// How long packets may wait all the time, in ns.
    pub target_ns: u64,
    /// How long they may wait longer before one is dropped, in ns.
    pub interval_ns: u64,
    /// IP bytes that a flow of [`AqmKind::FqCodel`] sends in its turn; `None` is one packet of the MTU.
    pub quantum_bytes: Option<u32>,
    /// The network's MTU in bytes. Nothing is dropped while no more than that waits behind a packet.
    pub mtu: u32,
}

/// An algorithm that manages a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AqmKind {
    /// CoDel (RFC 8289): one queue for all packets.
    Codel,
    /// FQ-CoDel (RFC 8290): a queue for each flow. They take turns, and flows that begin to send go first.
    FqCodel,
}

impl AqmSpec {
    /// Returns the algorithm with its usual settings: a target of 5 ms and an interval of 100 ms (RFC 8289).
    pub fn new(kind: AqmKind, mtu: u32) -> AqmSpec {
        AqmSpec {
            kind,
            target_ns: 5 * NS_PER_MS,
            interval_ns: 100 * NS_PER_MS,
            quantum_bytes: None,
            mtu,
        }
    }

    /// Returns the IP bytes that a flow sends in its turn. RFC 8290 has one packet of Ethernet, with its header.
    pub(crate) fn quantum(&self) -> u32 {
        self.quantum_bytes.unwrap_or(self.mtu)
    }
}

/// Random loss. Chances are whole parts per billion, so that a spec survives serialisation exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// Independent loss of each packet.
    Iid {
        /// Chance of loss in parts per billion.
        ppb: u32,
    },
    /// Loss in bad times that come and go by the clock.
    Burst(BurstSpec),
    /// Loss in bad runs of packets.
    GilbertElliott(GilbertElliottSpec),
}

impl LossSpec {
    /// Returns the long-run share of packets lost, in parts per billion.
    pub fn mean_ppb(&self) -> u32 {
        let weighted = |good: (u64, u32), bad: (u64, u32)| {
            let sum =
                u128::from(good.0) * u128::from(good.1) + u128::from(bad.0) * u128::from(bad.1);
            let weight = u128::from(good.0) + u128::from(bad.0);
            u32::try_from(sum / weight.max(1)).unwrap_or(u32::MAX)
        };
        match self {
            LossSpec::Iid { ppb } => *ppb,
            LossSpec::Burst(b) => weighted((b.good_ns, 0), (b.bad_ns, b.loss_ppb)),
            LossSpec::GilbertElliott(g) => weighted(
                (u64::from(g.to_good_ppb), g.good_loss_ppb),
                (u64::from(g.to_bad_ppb), g.bad_loss_ppb),
            ),
        }
    }
}

/// Loss in bad times, which alternate with good ones in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstSpec {
    /// Mean length of a good time in ns, exponential; nothing is lost in it.
    pub good_ns: u64,
    /// Mean length of a bad time in ns.
    pub bad_ns: u64,
    /// How the lengths of bad times vary.
    #[serde(default)]
    pub bad_length: BadLength,
    /// Chance of loss in a bad time, in parts per billion.
    pub loss_ppb: u32,
}

/// How the lengths of bad times vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BadLength {
    /// Exponentially: most are shorter than their mean, and a few several times as long.
    #[default]
    Exponential,
    /// Not at all.
    Fixed,
}

/// Loss by a two-state chain that takes one step per packet. All chances are in parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottSpec {
    /// Chance to turn from good to bad (p).
    pub to_bad_ppb: u32,
    /// Chance to turn from bad to good (r).
    pub to_good_ppb: u32,
    /// Chance of loss in the good state (1 - k).
    pub good_loss_ppb: u32,
    /// Chance of loss in the bad state (1 - h).
    pub bad_loss_ppb: u32,
}

/// Operator policy for UDP. TCP is never affected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySpec {
    /// Drops all UDP from this time after the origin, in ns.
    pub block_after_ns: Option<u64>,
    /// Polices UDP to a rate.
    pub police: Option<PoliceSpec>,
    /// Ports that the policy applies to, as source or destination; empty means all.
    pub udp_ports: Vec<u16>,
}

/// A token bucket for UDP; packets that exceed it are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoliceSpec {
    /// Rate at which the bucket fills, in bits per second.
    pub rate_bps: u64,
    /// Size of the bucket in IP bytes; it starts full.
    pub burst_bytes: u64,
    /// Time after the origin from which UDP is policed, in ns.
    pub after_ns: u64,
}

/// Reordering: some packets are held back, each by `extra_ns` and a uniform time of its own up to
/// `jitter_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// Chance of a packet to be held back, in parts per billion.
    pub ppb: u32,
    /// Least time that it is held back, in ns.
    pub extra_ns: u64,
    /// Range of the time on top of that, in ns.
    #[serde(default)]
    pub jitter_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_queue_limit_applies() {
        let spec = |queue| PathSpec {
            rate: RateSpec::constant(6_300_000),
            queue,
            ..PathSpec::default()
        };
        let time_ns = Some(100 * NS_PER_MS);
        let by_time = spec(QueueSpec {
            time_ns,
            ..QueueSpec::default()
        })
        .queue_limits();
        assert_eq!(
            by_time,
            QueueLimits {
                bytes: 78_750,
                packets: u64::MAX
            }
        );
        let all = spec(QueueSpec {
            time_ns,
            bytes: Some(3000),
            packets: Some(9),
        })
        .queue_limits();
        assert_eq!(
            all,
            QueueLimits {
                bytes: 3000,
                packets: 9
            }
        );
    }

    #[test]
    fn mean_loss_is_the_long_run_share() {
        let burst = BurstSpec {
            good_ns: 900,
            bad_ns: 100,
            bad_length: BadLength::Exponential,
            loss_ppb: 500_000_000,
        };
        assert_eq!(LossSpec::Burst(burst).mean_ppb(), 50_000_000);
        let chain = GilbertElliottSpec {
            to_bad_ppb: 5_000_000,
            to_good_ppb: 200_000_000,
            good_loss_ppb: 0,
            bad_loss_ppb: 1_000_000_000,
        };
        assert_eq!(LossSpec::GilbertElliott(chain).mean_ppb(), 24_390_243);
    }
}
