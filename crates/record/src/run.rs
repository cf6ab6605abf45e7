//! The head of a run: everything the cells have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the record schema; raised when a reader of the old one would go wrong.
pub const FORMAT: u32 = 2;

/// `run.json`: the study as resolved, where it ran, and what was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Version of commute.
    pub commute: String,
    /// The study's name.
    pub study: String,
    /// The question it asks.
    pub question: String,
    /// The one way in for randomness.
    pub seed: u64,
    /// Blocks per network, over all shards.
    pub blocks: u32,
    /// Name of the baseline arm.
    pub baseline: String,
    /// Smallest difference of interest in ns, when the study sets one.
    pub margin_ns: Option<u64>,
    /// Time-out of a call.
    pub timeout_ns: u64,
    /// Every arm, in the study's order.
    pub arms: Vec<Arm>,
    /// Every network, in the study's order.
    pub networks: Vec<Network>,
    /// Groups of calls in the workload, in order (`echo`, `image`).
    pub groups: Vec<Group>,
    /// Every cell of the unsharded plan, in the order of running.
    pub plan: Vec<Planned>,
    /// Where it ran.
    pub host: Host,
    /// Known answers checked before the run; empty when skipped.
    pub self_test: Vec<Check>,
    /// Wall clock at the start, ns since 1970 (for people; never for arithmetic).
    pub started_unix_ns: u64,
}

/// What is compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// The arm's name, unique in the study.
    pub name: String,
    /// Stack, as its manifest names it.
    pub stack: String,
    /// `h1`, `h2`, `h3` or `grpc`.
    pub protocol: String,
    /// `json`, `protobuf`, ...
    pub codec: String,
    /// `tls` or `mtls`.
    pub security: String,
    /// Congestion control that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Calls elsewhere that warmed the runtime up first; 0: a cold process.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup_calls: u32,
    /// `frame:HZ`: the application saw the end of a call at its next frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<String>,
    /// How HTTP/3 was found, when it was not forced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<String>,
    /// What every result of it must say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// This arm repeats the baseline: an A/A check.
    pub same_as_baseline: bool,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// An emulated network, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// The network's name.
    pub name: String,
    /// Its numbers in one line, as printed wherever the name is.
    pub numbers: String,
    /// Round trip of an empty link, ns.
    pub rtt_ns: u64,
    /// Rate down, when constant.
    pub down_bps: Option<u64>,
    /// Rate up, when constant.
    pub up_bps: Option<u64>,
    /// The file, verbatim.
    pub toml: String,
}

/// Calls that are reported together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// The name in the study.
    pub name: String,
    /// What its calls do, as `POST /echo 26 B`.
    pub about: String,
    /// Split into first and rest (small calls); a bulk group is reported whole,
    /// with its goodput.
    pub bulk: bool,
    /// Body bytes of one response in a bulk group.
    pub response_bytes: u64,
}

/// One cell of the plan.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Planned {
    /// Stable id: a function of study, seed, network, block and arm.
    pub id: String,
    /// Name of the network.
    pub network: String,
    /// Block, from 0.
    pub block: u32,
    /// Name of the arm.
    pub arm: String,
    /// Place in the random order of its block, from 0.
    pub position: u32,
}

/// Where a run ran. No machine names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Cores online.
    pub cores: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// Current clock source.
    pub clocksource: String,
    /// Random id of this boot, from the kernel.
    pub boot: String,
    /// The bench ran in a user namespace.
    pub rootless: bool,
    /// The link ran under SCHED_FIFO.
    pub realtime: bool,
    /// Commit of commute, when known.
    pub git: Option<String>,
    /// Hypervisor, when the processor says so.
    pub hypervisor: Option<String>,
    /// Version of every stack used, by name.
    pub stacks: std::collections::BTreeMap<String, String>,
}

/// A known answer, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was checked, as `new TCP + TLS 1.3 connection, h2`.
    pub name: String,
    /// What physics says, in `unit`.
    pub expected: f64,
    /// What was measured.
    pub measured: f64,
    /// How far off it may be.
    pub margin: f64,
    /// Unit of the three.
    pub unit: String,
    /// Held or not.
    pub pass: bool,
}
