use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::{Gate, Trace};

/// Nanoseconds in a millisecond.
pub const NS_PER_MS: u64 = 1_000_000;

/// One direction of a network, in whole units. The default is no impairment at all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathSpec {
    /// What the operator does to UDP.
    pub policy: Option<PolicySpec>,
    /// Outages and handovers. Not beside a trace, which has its own.
    pub gate: Option<Gate>,
    /// What the queue before the rate holds.
    pub queue: QueueSpec,
    /// How fast the queue empties.
    pub rate: RateSpec,
    /// Random loss behind the queue.
    pub loss: Option<LossSpec>,
    /// Fixed one-way delay.
    pub delay_ns: u64,
    /// Delay varies uniformly by this much either way, without reordering.
    pub jitter_ns: u64,
    /// Packets held back and overtaken.
    pub reorder: Option<ReorderSpec>,
}

impl PathSpec {
    /// The queue's limits with its time turned into bytes at the rate.
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

/// How fast a direction carries IP bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSpec {
    /// As fast as packets come.
    #[default]
    Unlimited,
    /// So many bits a second.
    Constant {
        /// Bits a second, counted over IP packets.
        bps: NonZeroU64,
    },
    /// By the opportunities of a trace.
    Trace(Trace),
}

impl RateSpec {
    /// A constant rate; 0 means one bit a second, the slowest there is.
    pub fn constant(bps: u64) -> RateSpec {
        RateSpec::Constant {
            bps: NonZeroU64::new(bps).unwrap_or(NonZeroU64::MIN),
        }
    }

    /// The rate, or the mean of the trace; `None` when unlimited.
    pub fn mean_bps(&self) -> Option<u64> {
        match self {
            RateSpec::Unlimited => None,
            RateSpec::Constant { bps } => Some(bps.get()),
            RateSpec::Trace(trace) => Some(trace.mean_bps()),
        }
    }
}

/// How much may wait; of several limits the first that is reached binds, without any all may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QueueSpec {
    /// As many bytes as the rate carries in this time.
    pub time_ns: Option<u64>,
    /// IP bytes.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: Option<u64>,
}

/// The limits a queue works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueLimits {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
}

/// Random loss. Chances are in parts per billion, so a spec is exact wherever it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossSpec {
    /// Each packet alone.
    Iid {
        /// Chance in parts per billion.
        ppb: u32,
    },
    /// In bad times that come and go by the clock.
    Burst(BurstSpec),
    /// In bad runs of packets.
    GilbertElliott(GilbertElliottSpec),
}

impl LossSpec {
    /// The share of packets lost in the long run, in parts per billion.
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

/// Loss by sojourn times on virtual time; both are means of exponentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstSpec {
    /// Mean length of a good time, without loss.
    pub good_ns: u64,
    /// Mean length of a bad time.
    pub bad_ns: u64,
    /// Chance of loss in a bad time, in parts per billion.
    pub loss_ppb: u32,
}

/// Loss by a two-state chain that steps once a packet; all in parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottSpec {
    /// Chance to turn bad (p).
    pub to_bad_ppb: u32,
    /// Chance to turn good (r).
    pub to_good_ppb: u32,
    /// Chance of loss in the good state (1 - k).
    pub good_loss_ppb: u32,
    /// Chance of loss in the bad state (1 - h).
    pub bad_loss_ppb: u32,
}

/// What an operator does to UDP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicySpec {
    /// Drop all UDP from this long after the origin on.
    pub block_after_ns: Option<u64>,
    /// Police UDP to a rate.
    pub police: Option<PoliceSpec>,
    /// Only packets from or to these ports; empty means all.
    pub udp_ports: Vec<u16>,
}

/// A token bucket for UDP: what exceeds it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoliceSpec {
    /// Rate at which the bucket fills.
    pub rate_bps: u64,
    /// Size of the bucket; it starts full.
    pub burst_bytes: u64,
    /// From this long after the origin on.
    pub after_ns: u64,
}

/// Packets held back by a fixed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderSpec {
    /// Chance to be held back, in parts per billion.
    pub ppb: u32,
    /// How much later than in order.
    pub extra_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_queue_limit_binds() {
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
    fn mean_loss_is_that_of_the_long_run() {
        let burst = BurstSpec {
            good_ns: 900,
            bad_ns: 100,
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
