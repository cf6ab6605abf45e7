//! The header of a run: what all its cells have in common.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::load::LoadPlan;

/// Version of the record format; raised when a reader of the old format would misread the new one.
pub const FORMAT: u32 = 2;

/// The header of a run, `run.json`: the resolved study, the plan and the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of the record format.
    pub format: u32,
    /// Version of commute that wrote it.
    pub commute: String,
    /// The study's name.
    pub study: String,
    /// The question the study asks.
    pub question: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Number of blocks per network, over all shards; `--resume --blocks` raises it.
    pub blocks: u32,
    /// Name of the baseline arm.
    pub baseline: String,
    /// Largest difference that still counts as no difference; absent when the study sets none.
    pub margin_ns: Option<u64>,
    /// The percentile of each group's requests that arms are also compared in, e.g. 95; absent when
    /// the study asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_percent: Option<f64>,
    /// The share of planned cells, 0 to 100, that must end clean; absent when the study sets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_clean_percent: Option<f64>,
    /// Timeout of a call.
    pub timeout_ns: u64,
    /// Every arm, in the study's order.
    pub arms: Vec<Arm>,
    /// Every network, in the study's order.
    pub networks: Vec<Network>,
    /// Groups of calls in the workload, in order of first use.
    pub groups: Vec<Group>,
    /// Every call of the workload as planned, in order of id, without those of groups that are bound by
    /// time; empty for imported calls, which have no plan.
    pub calls: Vec<PlannedCall>,
    /// Every cell of the plan before sharding, in the order of running.
    pub plan: Vec<Planned>,
    /// What `--resume` continues with.
    pub settings: Settings,
    /// The machine it ran on.
    pub host: Host,
    /// Checks of the emulator against known answers, made before the run; empty when skipped.
    pub self_test: Vec<Check>,
    /// Wall-clock time of the start, ns since 1970; for people only, no figure is derived from it.
    pub started_unix_ns: u64,
}

/// The study and the options of a run, with which it can be continued. They differ between shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The text of the study's file; `seed`, `blocks` and `networks` of the run replace its own.
    /// Empty for imported calls.
    pub study_toml: String,
    /// SHA-256 of the study's text in lower-case hex, in place of the text: requests to the user's own server may hold
    /// credentials. To continue the run, `study_file` must still have that text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study_sha256: Option<String>,
    /// Path of the study's file, as it was named on the command line; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub study_file: String,
    /// The files that the study names as its own requests and responses. By the path that it gives, the
    /// SHA-256 of the content, which is the name of a copy in the run's folder `payloads`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub payloads: BTreeMap<String, String>,
    /// The share of the plan's blocks that is run, from 1 to `shards`.
    pub shard: u32,
    /// How many shares there are.
    pub shards: u32,
    /// Blocks measured in parallel.
    pub jobs: u32,
    /// Whether every packet is kept as pcapng.
    pub pcap: bool,
    /// Whether the secrets of every TLS session are kept.
    #[serde(default)]
    pub keylog: bool,
    /// Whether the server's qlog of every QUIC connection is kept.
    #[serde(default)]
    pub qlog: bool,
    /// Whether the critical path of each call is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// Whether blocks are added until every comparison is decided.
    #[serde(default)]
    pub until_decided: bool,
    /// The user's own server, where requests went to that; absent where the lab started one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalServer>,
    /// The server that the command line named instead of the study's; absent if it named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_option: Option<ServerOption>,
    /// Whether blocks were added after a report could be read. Only intervals that hold at any number
    /// of blocks are then right ([Robbins 1970](https://doi.org/10.1214/aoms/1177696786)).
    #[serde(default)]
    pub extended: bool,
}

/// A server that the lab did not start: the user's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalServer {
    /// The URL that clients were given, without a path.
    pub url: String,
    /// `HOST:PORT` that was connected to instead of the URL's; absent if that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The certificate authorities that clients trusted, in PEM; absent for the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
}

/// `--server` with the options that go with it, as they were on the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerOption {
    /// The name of a server of the lab, or the URL of the user's own.
    pub server: String,
    /// `--server-address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// `--ca`, the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
}

/// One of the configurations that are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// The arm's name, unique in the study.
    pub name: String,
    /// Name of its stack, as in the manifest.
    pub stack: String,
    /// Protocol asked for: `h1`, `h2`, `h3` or `grpc`.
    pub protocol: String,
    /// Codec of exchanged messages, e.g. `json` or `protobuf`.
    pub codec: String,
    /// Name of the server that is not commute's own, or the URL of the user's own; absent for commute's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What was wrong with the server's HTTP/3: `no-quic`, `quic-stall`, `quic-garbage`,
    /// `quic-reset` or `false-alt-svc`; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Packet threshold of the server's QUIC loss detection; absent for its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_threshold: Option<u32>,
    /// Round trips after which the server's QUIC declares a packet lost; absent for its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_threshold: Option<f64>,
    /// Security: `tls`, `mtls`, or `none` for plaintext.
    pub security: String,
    /// Congestion control asked for; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Kind of all keys asked for, `p256` or `rsa-2048`; absent for the stack's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `long` if the server's certificate chain was; absent for a typical one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// Number of calls to another server that warmed up the runtime first; 0 for a cold process.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warmup_calls: u32,
    /// `frame:HZ` if the application sees the end of a call at its next frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<String>,
    /// How HTTP/3 was discovered; absent when it was forced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<String>,
    /// How a client that decided for each request did so, `race`; absent if by what it had learnt, or
    /// where it did not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// How every request proved who sent it, `jwt` or `hmac`; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// `per-request` if every request went on a new connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<String>,
    /// Whether new connections used the session tickets of the last one where the study's
    /// reconnects are cold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumption: bool,
    /// Whether they also sent requests before the handshake was done (0-RTT).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early_data: bool,
    /// How the requests of a step followed each other, e.g. `parallel`; absent for one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// Over gRPC, the payload's bytes in each part of a submitted message; absent for one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// By name, where the origins besides the first were: `same-server` or `own-server`; empty if
    /// every request went to the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, String>,
    /// Whether the study's own requests or the responses to them hold JSON, in whatever codec the arm sends
    /// it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_json: bool,
    /// Why the arm is never recommended: `control` or `anti-pattern`; absent for a candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// A caveat that every result of this arm must carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// Whether this is an A/A arm, i.e. a copy of the baseline.
    pub same_as_baseline: bool,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The value of a setting that a study sweeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// The setting's name, as `commute link` takes it, e.g. `loss-down`.
    pub setting: String,
    /// Its value, e.g. `5%`.
    pub value: String,
}

/// An emulated network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Network {
    /// The network's name.
    pub name: String,
    /// The network that a sweep changed into this one; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The sweep's levels; empty if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Its parameters in one line, for people.
    pub numbers: String,
    /// How well they are founded: `measured`, `derived` or `assumed`; absent where the network does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// Round-trip time of the empty link.
    pub rtt_ns: u64,
    /// Mean rate from server to client; absent when it is unlimited or unknown.
    pub down_bps: Option<u64>,
    /// Mean rate from client to server; absent when it is unlimited or unknown.
    pub up_bps: Option<u64>,
    /// All its parameters, in ns and bits per second, as TOML.
    pub toml: String,
}

/// Calls that are reported together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Name in the study.
    pub name: String,
    /// What its calls do, e.g. `POST /echo 26 B`.
    pub about: String,
    /// Whether it is a bulk group, which is reported as one, with its goodput. Other groups are
    /// split into first and warm requests.
    pub bulk: bool,
    /// Body bytes of one response of a bulk group; 0 for other groups.
    pub response_bytes: u64,
    /// How long its calls are made and when each starts, if that and not their number is planned. Such a
    /// group has no planned calls, and cells have its distribution instead of its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadPlan>,
}

/// One call of the workload, as planned: the same for every arm, whatever its client does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCall {
    /// Id of the step that makes it, as in a cell's calls.
    pub id: u32,
    /// Name of its group.
    pub group: String,
    /// What it may find open.
    pub position: Position,
    /// Whether it starts at once with other calls of a parallel step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
    /// Number of its batch, from 1: calls of one group that no other group, pause or reconnect
    /// interrupts. The time of a batch is from its first start to its last end.
    pub batch: u32,
}

/// What a call may find open by the plan. Calls that start at once share it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Nothing: the first call of the process. Where the arm was warmed up, the process has made
    /// calls to another origin before, so that it counts as [`Position::First`].
    ColdProcess,
    /// No connection: the first call after a reconnect.
    First,
    /// A connection that has carried a call, if the client keeps it.
    Warm,
}

impl Position {
    /// Returns the name used in records and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Position::ColdProcess => "cold_process",
            Position::First => "first",
            Position::Warm => "warm",
        }
    }
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
    /// Position in the random order of its block, from 0.
    pub position: u32,
}

/// A check of the emulator against a known answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was checked, e.g. `new TCP + TLS 1.3 connection, h2`.
    pub name: String,
    /// The analytically known value.
    pub expected: f64,
    /// The measured value.
    pub measured: f64,
    /// Largest difference from `expected` that passes.
    pub margin: f64,
    /// Unit of `expected`, `measured` and `margin`.
    pub unit: String,
    /// Whether the check passed.
    pub pass: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the names in existing records.
    #[test]
    fn names_match_the_serialised_form() {
        for position in [Position::ColdProcess, Position::First, Position::Warm] {
            assert_eq!(serde_json::to_value(position).unwrap(), position.name());
        }
    }
}
