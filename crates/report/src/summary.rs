//! Everything a report says, before anything is laid out.

use record::{Check, Proof};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Verdict;

use crate::configuration::{Configuration, Difference};
use crate::quantity::Quantity;

/// Version of this schema; raised when a reader of the old one would go wrong.
pub const FORMAT: u32 = 2;

/// A run, summed up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of commute that measured.
    pub commute: String,
    /// The study's name.
    pub study: String,
    /// The question it asks.
    pub question: String,
    /// The run's seed.
    pub seed: u64,
    /// Blocks planned on each network.
    pub blocks: u32,
    /// The arm all others are compared with.
    pub baseline: String,
    /// Time all cells took, repeated and superseded ones included.
    pub measured_ns: u64,
    /// Known answers checked before the run, of every place it ran at.
    pub self_test: Vec<Check>,
    /// The baseline against itself.
    pub a_a: AaCheck,
    /// How the error is shared among comparisons.
    pub family: Family,
    /// How the cells ended.
    pub cells: CellCounts,
    /// One for each network, in the study's order.
    pub networks: Vec<NetworkSummary>,
    /// What a reader has to know to read the figures right.
    pub notes: Vec<String>,
}

/// What came of comparing the baseline with itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "a_a", rename_all = "snake_case")]
pub enum AaCheck {
    /// The study has no such arm, or it was not measured.
    Absent,
    /// No comparison found a difference.
    Passed,
    /// The lab found a difference where there is none: do not believe it elsewhere.
    Failed {
        /// Each difference.
        objections: Vec<String>,
    },
}

/// How the error is shared among comparisons (Bonferroni).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Family {
    /// Comparisons with the baseline, A/A apart.
    pub comparisons: usize,
    /// Probability that all their intervals hold.
    pub together: f64,
    /// Probability asked of each.
    pub each: f64,
}

/// Planned cells, each counted once by its last attempt in the last invocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CellCounts {
    /// All of the plan.
    pub planned: usize,
    /// Clean at the first attempt.
    pub clean: usize,
    /// Clean after being run again.
    pub rerun: usize,
    /// Noisy to the last attempt: in no verdict.
    pub noisy: usize,
    /// Not measured: driver or lab failed.
    pub failed: usize,
    /// The stack cannot do it.
    pub unsupported: usize,
    /// Not in these records.
    pub not_run: usize,
    /// Records of earlier invocations, beside the above.
    pub superseded: usize,
}

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NetworkSummary {
    /// The network's name.
    pub name: String,
    /// Its numbers.
    pub numbers: String,
    /// What to do.
    pub advice: Advice,
    /// The same as a sentence, with sizes and intervals.
    pub sentence: String,
    /// All arms, in the study's order.
    pub arms: Vec<ArmSummary>,
}

/// What to do on a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "advice", rename_all = "snake_case")]
pub enum Advice {
    /// This arm is faster at something, slower at nothing, and not less reliable.
    Take {
        /// Which.
        arm: String,
        /// Others of which the same is true; they were not compared with it.
        also: Vec<String>,
    },
    /// Nothing is shown to be faster, something is slower.
    Stay,
    /// What is faster is also slower at something, or less reliable.
    Mixed,
    /// Every arm was compared, and none differs.
    NoDifference,
    /// Too little to say.
    CannotTell,
    /// The A/A check failed here.
    Broken,
}

/// One arm on one network.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmSummary {
    /// The arm's name.
    pub name: String,
    /// Its stack.
    pub stack: String,
    /// The protocol asked for.
    pub protocol: String,
    /// Its part in the study.
    pub role: Role,
    /// Protocols that were spoken.
    pub spoken: Vec<String>,
    /// Transports that were used, `tcp` or `quic`.
    pub transports: Vec<String>,
    /// The server's congestion controls, as read back.
    pub congestion: Vec<String>,
    /// What every result of it must say.
    pub caveat: Option<String>,
    /// Everything known of how it was set up.
    pub configuration: Configuration,
    /// In what it is unlike the baseline.
    pub differences: Vec<Difference>,
    /// The weakest proof among its calls of what was spoken.
    pub proof: Option<Proof>,
    /// How its cells ended.
    pub cells: CellCounts,
    /// Why cells failed or were unsupported.
    pub reasons: Vec<String>,
    /// Each group of calls, small ones in two parts.
    pub measures: Vec<Measure>,
    /// What it cost.
    pub costs: Costs,
}

/// An arm's part in the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What all others are compared with.
    Baseline,
    /// The baseline once more: an A/A check.
    Repeat,
    /// Compared with the baseline.
    Arm,
}

/// One population of calls.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measure {
    /// The group in the study.
    pub group: String,
    /// Which calls of it.
    pub part: Part,
    /// A name for people, unique in the study.
    pub label: String,
    /// Calls in clean cells, those that timed out or failed included.
    pub calls: usize,
    /// Of those, censored by the time-out.
    pub timed_out: usize,
    /// Of those, failed before it; they count as at least the time-out.
    pub failed: usize,
    /// Of those, seen by the server more than once.
    pub retried: usize,
    /// Median over blocks of the block's median.
    pub time: Option<Quantity>,
    /// 95th percentile over all calls, where there are enough.
    pub p95: Option<Quantity>,
    /// Of a bulk group.
    pub goodput: Option<Quantity>,
    /// Where the time of exchanges went; none where nothing was exchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// Against the baseline, from clean cells; none for the baseline itself.
    pub comparison: Option<Comparison>,
    /// The verdict from the first attempt of every cell, noisy or not.
    pub with_noisy: Option<Verdict>,
}

/// Where the time of exchanges went: means over the calls in clean cells that went well.
/// `create + encode + transport + decode = whole`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// Calls behind the means.
    pub calls: usize,
    /// Blocks they lie in.
    pub blocks: usize,
    /// Making the message, ns; 0 where it was there before.
    pub create_ns: Mean,
    /// Encoding it, compression included.
    pub encode_ns: Mean,
    /// From the request's bytes to the response's last, the server's work included.
    pub transport_ns: Mean,
    /// Of `transport_ns`: the server decoded.
    pub server_decode_ns: Mean,
    /// Of `transport_ns`: the server encoded.
    pub server_encode_ns: Mean,
    /// Decoding the response.
    pub decode_ns: Mean,
    /// All of it.
    pub whole_ns: Mean,
    /// Body of the request, bytes.
    pub request_bytes: Mean,
    /// Body of the response, bytes.
    pub response_bytes: Mean,
}

/// A mean over calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mean {
    /// Over all calls.
    pub mean: f64,
    /// The mean of the block where it was least.
    pub least: f64,
    /// The mean of the block where it was greatest.
    pub greatest: f64,
}

/// Which calls of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The first on its connection.
    First,
    /// Later ones.
    Rest,
    /// All of a bulk group.
    Bulk,
}

/// An arm against the baseline, block by block.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// Arm less baseline: negative is sooner. Interval at [`Family::each`].
    pub difference: Quantity,
    /// Baseline over arm: above 1 is faster.
    pub speedup: Option<Quantity>,
    /// Differences up to this are of no interest.
    pub margin_ns: f64,
    /// From clean cells.
    pub verdict: Verdict,
    /// Correlation of arm and baseline over blocks: what they had in common.
    pub correlation: Option<f64>,
    /// Why the difference may be another's than the protocol's.
    pub caveats: Vec<String>,
}

/// What an arm cost, each the median over blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Costs {
    /// IP bytes the client sent in a cell.
    pub wire_up: Option<Quantity>,
    /// IP bytes the server sent in a cell.
    pub wire_down: Option<Quantity>,
    /// Of both, bytes of handshakes.
    pub handshake: Option<Quantity>,
    /// CPU of the client a call.
    pub client_cpu: Option<Quantity>,
    /// CPU of the server a call.
    pub server_cpu: Option<Quantity>,
    /// How long threads of client and server together waited for a core, a call: what one of
    /// them waits is part of its times.
    pub core_wait: Option<Quantity>,
    /// Most memory the client held.
    pub memory: Option<Quantity>,
    /// From spawn to ready.
    pub startup: Option<Quantity>,
    /// The kernel's share of CPU was measured in every cell.
    pub kernel_thread_seen: bool,
}

impl ArmSummary {
    /// Comparisons that have been made.
    pub fn comparisons(&self) -> impl Iterator<Item = (&Measure, &Comparison)> {
        self.measures
            .iter()
            .filter_map(|m| Some((m, m.comparison.as_ref()?)))
    }

    /// That it spoke something else than it was asked to, if it did.
    pub fn spoke_otherwise(&self) -> Option<String> {
        let spoken = self.spoken.iter().map(String::as_str);
        let other: Vec<&str> = spoken.filter(|word| *word != self.protocol).collect();
        (!other.is_empty()).then(|| {
            format!(
                "{} was to speak {} and spoke {}.",
                self.name,
                self.protocol,
                other.join(", ")
            )
        })
    }

    /// Calls, and those among them that timed out or failed.
    pub fn calls_and_losses(&self) -> (usize, usize) {
        let calls = self.measures.iter().map(|m| m.calls).sum();
        (
            calls,
            self.measures.iter().map(|m| m.timed_out + m.failed).sum(),
        )
    }
}
