//! The results of one arm on one network, before layout.

use record::Proof;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Span;

use super::CellCounts;
use super::measure::{Comparison, Measure};
use crate::summary::configuration::{Configuration, Difference};
use crate::summary::quantity::Quantity;

/// The results of one arm on one network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmSummary {
    /// The arm's name.
    pub name: String,
    /// Name of its stack.
    pub stack: String,
    /// The protocol asked for.
    pub protocol: String,
    /// The arm's role in the study.
    pub role: Role,
    /// The protocols that its requests negotiated.
    pub negotiated_protocols: Vec<String>,
    /// The transports it used: `tcp` or `quic`.
    pub transports: Vec<String>,
    /// How many connections of each cell reached the server; absent if none did or nothing is known.
    pub connections: Option<Spread>,
    /// The IP versions of its connections, 4 or 6; empty if unknown.
    pub ip_versions: Vec<u8>,
    /// The server's congestion controls, as read back.
    pub congestion: Vec<String>,
    /// A caveat that every result of this arm must carry.
    pub caveat: Option<String>,
    /// Everything known of its configuration.
    pub configuration: Configuration,
    /// Its differences from the baseline.
    pub differences: Vec<Difference>,
    /// The weakest proof among its calls; absent without a call.
    pub proof: Option<Proof>,
    /// How its cells ended.
    pub cells: CellCounts,
    /// The first attempts of its cells, from which figures and verdicts are made.
    pub first_attempts: Attempts,
    /// Why cells were noisy, failed, were unsupported or given up.
    pub reasons: Vec<String>,
    /// Of the reasons why cells failed, were unsupported or given up, the one that most of them gave; absent if none
    /// did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commonest_reason: Option<String>,
    /// The populations of calls, in the study's order.
    pub measures: Vec<Measure>,
    /// Number of cells in which the cell itself saturated the machine's cores.
    pub saturated: usize,
    /// Its failures compared with the baseline's; absent for the baseline and if nothing was measured.
    pub reliability: Option<stats::Reliability>,
    /// The packets that a copy of the baseline lost; absent for other arms and where losses cannot
    /// be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_losses: Option<CommonLosses>,
    /// Bytes, CPU, memory and start-up time.
    pub costs: Costs,
    /// How its connections were set up.
    pub setup: Setup,
    /// What the server told of its sending.
    pub sending: Sending,
}

/// How a number varies over an arm's cells or connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// The smallest.
    pub fewest: usize,
    /// The median.
    pub median: f64,
    /// The largest.
    pub most: usize,
}

/// What the server's transport told of its sending, summed over each cell's connections, and what
/// the link did to those packets. A figure that it does not report is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sending {
    /// Packets that the server sent.
    pub sent_packets: Option<Spread>,
    /// Of those, packets that it declared lost; over TCP, segments it retransmitted.
    pub lost_packets: Option<Spread>,
    /// Packets of the server that the link dropped.
    pub dropped_packets: Option<Spread>,
    /// Of `lost_packets`, those that had arrived; where the library does not report it, about how many
    /// more it declared lost than the link dropped.
    pub spurious_packets: Option<Spread>,
    /// Probe timeouts (QUIC) or retransmission timeouts (TCP).
    pub timeouts: Option<Spread>,
    /// Times that the server reduced its congestion window.
    pub congestion_events: Option<Spread>,
}

/// How connections with a full handshake were set up: the median, the least and the most over
/// connections. Absent where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Setup {
    /// The server's congestion window at the beginning, bytes.
    pub initial_window_bytes: Option<Spread>,
    /// The server's certificate chain as sent, bytes of DER.
    pub chain_bytes: Option<Spread>,
    /// IP bytes of the packets with data that the server sent before anything but the client's first
    /// flight had reached it.
    pub first_flight_bytes: Option<Spread>,
}

/// The first attempts of cells that are results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Attempts {
    /// Attempts that were measured, clean or noisy.
    pub measured: usize,
    /// Of those, the noisy ones.
    pub noisy: usize,
}

/// The packets that an A/A arm and the baseline lost at random, connection by connection, in blocks
/// where both were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommonLosses {
    /// Number of blocks that were compared; 0 where losses are random and cannot be compared, e.g. with fades.
    pub blocks: usize,
    /// Of those, the blocks in which a packet that both sent was lost by one only.
    pub blocks_that_differ: usize,
    /// Packets that both sent and no queue dropped.
    pub packets: u64,
    /// Of those, the packets that both lost.
    pub lost_by_both: u64,
    /// Of those, the packets that only one lost.
    pub lost_by_one: u64,
    /// How many packets only one may lose before the A/A check fails; all that were lost if the check could not have
    /// failed.
    pub tolerated: u64,
}

/// An arm's role in the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The arm that all others are compared with.
    Baseline,
    /// An A/A arm: a copy of the baseline.
    Repeat,
    /// An arm that is compared with the baseline.
    Arm,
}

/// The energy of a phone's radio by a model, not measured: the states of the network's radio over time, by published
/// powers, with idle as zero.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Energy {
    /// The phone.
    pub phone: String,
    /// Where its powers are published.
    pub source: String,
    /// Energy of a cell divided by its requests.
    pub per_request: Quantity,
    /// Energy of a cell: from its first request to the radio's return to idle after the last one.
    pub per_cell: Quantity,
}

/// What an arm cost; each figure is a median over blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Costs {
    /// IP bytes the client sent per cell, before any loss.
    pub up_bytes: Option<Quantity>,
    /// IP bytes the server sent per cell, before any loss.
    pub down_bytes: Option<Quantity>,
    /// Of both, the bytes of handshakes.
    pub handshake_bytes: Option<Quantity>,
    /// CPU of the client per request.
    pub client_cpu: Option<Quantity>,
    /// CPU of the server per request.
    pub server_cpu: Option<Quantity>,
    /// Time per request that threads of client and server waited for a CPU core, summed over both;
    /// an upper bound on its effect on the request's time.
    pub cpu_wait: Option<Quantity>,
    /// How long the network's radio was not idle in a cell, until it is idle after the last request; absent without a
    /// radio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio_awake: Option<Quantity>,
    /// Energy of the radio by a model, for each phone whose powers are published; empty where none is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub energy: Vec<Energy>,
    /// Peak resident memory of the client.
    pub memory: Option<Quantity>,
    /// Time from spawning the driver to its `ready`.
    pub startup: Option<Quantity>,
    /// Whether the kernel's share of CPU was measured in every cell.
    pub kernel_thread_seen: bool,
}

impl Spread {
    /// Returns how a number varies; `None` without any.
    pub(crate) fn of(numbers: &[usize]) -> Option<Self> {
        let spans: Vec<Span> = numbers.iter().map(|n| Span::exact(*n as f64)).collect();
        Some(Self {
            fewest: numbers.iter().copied().min()?,
            median: stats::median(&spans)?.lo,
            most: numbers.iter().copied().max()?,
        })
    }
}

impl Role {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Role::Baseline => "baseline",
            Role::Repeat => "repeat",
            Role::Arm => "arm",
        }
    }
}

impl ArmSummary {
    /// Returns the measures that were compared with the baseline.
    pub fn comparisons(&self) -> impl Iterator<Item = (&Measure, &Comparison)> {
        self.measures
            .iter()
            .filter_map(|m| Some((m, m.comparison.as_ref()?)))
    }

    /// Returns the number of blocks with calls.
    pub fn blocks(&self) -> usize {
        let times = self.measures.iter().filter_map(|m| m.time.as_ref());
        times.map(|time| time.blocks).max().unwrap_or(0)
    }

    /// Returns whether anything was measured.
    pub fn has_figures(&self) -> bool {
        self.measures.iter().any(|measure| measure.calls > 0)
    }

    /// Returns the number of calls, and of those that timed out or failed.
    pub fn calls_and_losses(&self) -> (usize, usize) {
        // The calls of the whole and of the tail are those of other parts.
        let by_call = || self.measures.iter().filter(|m| m.part.is_by_request());
        let calls = by_call().map(|m| m.calls).sum();
        let losses = by_call().map(|m| m.timed_out + m.failed).sum();
        (calls, losses)
    }
}

/// Returns the role of an arm in the study.
pub(crate) fn role_of(run: &record::Run, arm: &str) -> Role {
    let is_repeat = |a: &record::Arm| a.name == arm && a.same_as_baseline;
    match arm == run.baseline {
        true => Role::Baseline,
        false if run.arms.iter().any(is_repeat) => Role::Repeat,
        false => Role::Arm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the published names.
    #[test]
    fn names_match_the_serialised_form() {
        for (role, name) in [
            (Role::Baseline, "baseline"),
            (Role::Repeat, "repeat"),
            (Role::Arm, "arm"),
        ] {
            assert_eq!(role.name(), name);
            assert_eq!(serde_json::to_value(role).unwrap(), name);
        }
    }
}
