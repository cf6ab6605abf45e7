//! One cell: one arm in one block, as measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `cells/<id>.<invocation>.<attempt>.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// [`crate::FORMAT`] of the writer.
    pub format: u32,
    /// Id in the plan.
    pub id: String,
    /// Name of the network.
    pub network: String,
    /// Block, from 0.
    pub block: u32,
    /// Name of the arm.
    pub arm: String,
    /// From 1; a noisy cell is run again inside its block.
    pub attempt: u32,
    /// Invocation of its block: raised when an interrupted block is run anew. Cells of an
    /// earlier invocation are superseded.
    pub invocation: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Every call that was planned and reached the driver, in order of id.
    pub calls: Vec<Call>,
    /// Bytes and packets on the wire.
    pub wire: Wire,
    /// What it cost the endpoints.
    pub cost: Cost,
    /// What might have noisy it.
    pub audit: Audit,
    /// What client and server agreed on, per connection.
    pub connections: Vec<ConnectionSettings>,
    /// What the driver said of itself.
    pub stack: Stack,
    /// CLOCK_MONOTONIC at the first step.
    pub started_ns: u64,
    /// From the first step to the last row.
    pub took_ns: u64,
}

/// How a cell ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Measured, and nothing noisy it. Calls may still have failed or timed out.
    Clean,
    /// Measured, but the audit objects.
    Noisy {
        /// Each objection, with its figures.
        reasons: Vec<String>,
    },
    /// Not measured: the driver lied, died or broke the protocol; or the lab failed.
    Failed {
        /// The exact reason.
        reason: String,
    },
    /// The stack cannot do this.
    Unsupported {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Returns the name used in records, CSV and HTML.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Clean => "clean",
            Outcome::Noisy { .. } => "noisy",
            Outcome::Failed { .. } => "failed",
            Outcome::Unsupported { .. } => "unsupported",
        }
    }
}

/// One request and its response. Times are ns after `start_ns`, each the end of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Id of the step.
    pub id: u32,
    /// Name of its group in the study.
    pub group: String,
    /// Which connection, from 1.
    pub connection: u32,
    /// First call on its connection.
    pub first: bool,
    /// State it found the connection in.
    pub state: State,
    /// How well `state` and `protocol` are proven.
    pub proof: Proof,
    /// What was spoken, `h1`, `h2`, `h3` or `grpc`: the server's word where there is one.
    pub protocol: String,
    /// Start, ns after the cell's first step.
    pub start_ns: u64,
    /// Name resolved.
    pub dns_ns: Option<u64>,
    /// TCP connected.
    pub connect_ns: Option<u64>,
    /// TLS or QUIC handshake done.
    pub tls_ns: Option<u64>,
    /// Request handed over.
    pub request_sent_ns: Option<u64>,
    /// First byte of the response.
    pub first_byte_ns: Option<u64>,
    /// End; of a call that timed out, the time it was given (censored).
    pub end_ns: u64,
    /// Body bytes sent.
    pub request_bytes: u64,
    /// Body bytes received.
    pub response_bytes: u64,
    /// How the call ended.
    pub result: CallResult,
    /// How often the server saw it: 0 = not reached, 2 = a silent retry.
    pub server_hits: u32,
    /// Server's own time on it, when seen.
    pub server_ns: Option<u64>,
    /// Of an exchange: when its message was made, encoded, received; and what the server did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

/// The codec's part in a call. Times are ns after the call's `start_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// The message was made; absent if it was there before.
    pub created_ns: Option<u64>,
    /// The request's bytes were there, encoded and compressed.
    pub encoded_ns: Option<u64>,
    /// The last byte of the response's body was there; from then to the end it was decoded.
    pub received_ns: Option<u64>,
    /// How long the server decoded, by its own clock.
    pub server_decode_ns: Option<u64>,
    /// How long the server encoded.
    pub server_encode_ns: Option<u64>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CallResult {
    /// Answered, whole and right.
    Ok,
    /// Censored: it took at least as long as `end_ns`.
    TimedOut,
    /// Failed before its time-out.
    Error {
        /// Kind, as in the driver protocol.
        kind: String,
        /// The stack's words.
        detail: String,
    },
}

/// What a call found.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// First call of a process without warm-up.
    ColdProcess,
    /// New connection, full handshake.
    ColdConnection,
    /// New connection, resumed session.
    Resumed,
    /// New connection, request sent as accepted early data.
    EarlyData,
    /// A connection that had carried a call.
    Warm,
}

impl State {
    /// Returns the name used in records and CSV.
    pub fn name(self) -> &'static str {
        match self {
            State::ColdProcess => "cold_process",
            State::ColdConnection => "cold_connection",
            State::Resumed => "resumed",
            State::EarlyData => "early_data",
            State::Warm => "warm",
        }
    }
}

/// Who says so.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The driver only.
    Client,
    /// The packets.
    Wire,
    /// The server's log.
    Server,
}

impl Proof {
    /// Returns the name used in records and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Proof::Client => "client",
            Proof::Wire => "wire",
            Proof::Server => "server",
        }
    }
}

/// Bytes on the wire: IP bytes, both endpoints' view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wire {
    /// IP bytes the client sent (before any loss).
    pub up_bytes: u64,
    /// IP bytes the server sent (before any loss).
    pub down_bytes: u64,
    /// Packets the client sent.
    pub up_packets: u64,
    /// Packets the server sent.
    pub down_packets: u64,
    /// Bytes of handshakes, both ways: on each connection, all until the client's first
    /// packet of application data.
    pub handshake_bytes: u64,
    /// TCP segments sent again, both ways (QUIC hides its own).
    pub retransmitted_packets: u64,
    /// Packets the model dropped, both ways.
    pub dropped_packets: u64,
}

/// What a cell cost the endpoints, between first and last step, start-up apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// CPU of the client: its processes and its interface's kernel thread.
    pub client_cpu_ns: u64,
    /// CPU of the server, the same.
    pub server_cpu_ns: u64,
    /// Kernel thread's share of both was measured.
    pub kernel_thread_seen: bool,
    /// Most memory the client held, bytes.
    pub client_peak_bytes: u64,
    /// From spawn to the driver's `ready`.
    pub startup_ns: u64,
    /// CPU of start-up.
    pub startup_cpu_ns: u64,
}

/// What the audit saw during a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Time runnable threads of driver and server waited for a core.
    pub run_queue_wait_ns: u64,
    /// CPU that everything else on the machine used meanwhile; absent where that cannot be
    /// seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_cpu_ns: Option<u64>,
    /// Share of CPU time the hypervisor took, 0 to 1.
    pub steal: f64,
    /// Packets the link sent on.
    pub packets: u64,
    /// Of those, later than the bound.
    pub late_packets: u64,
    /// That bound: max(1 ms, 2 % of the one-way delay).
    pub late_bound_ns: u64,
    /// Median lateness; bias, subtracted before by calibration.
    pub lateness_p50_ns: u64,
    /// 99th percentile of lateness.
    pub lateness_p99_ns: u64,
    /// Worst lateness.
    pub lateness_max_ns: u64,
    /// Drops that are not the model's: ring, device, softnet, receive buffers.
    pub foreign_drops: u64,
    /// Frames that were not TCP, UDP or ICMP errors.
    pub foreign_frames: u64,
    /// Frames above the MTU.
    pub oversize_frames: u64,
    /// How far the wall clock moved against the monotonic one.
    pub clock_step_ns: u64,
    /// CPU of the link's own threads.
    pub link_cpu_ns: u64,
}

/// What one connection agreed on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionSettings {
    /// `tcp` or `quic`.
    pub transport: String,
    /// ALPN.
    pub alpn: String,
    /// TLS version.
    pub tls_version: String,
    /// Cipher suite.
    pub cipher: String,
    /// Key exchange group.
    pub group: String,
    /// Resumed session.
    pub resumed: bool,
    /// Server asked for another key share.
    pub hello_retry: bool,
    /// Bytes of the server's chain.
    pub chain_bytes: u64,
    /// Server's congestion control.
    pub congestion: Option<String>,
    /// Kind of the server's key: `p256` or `rsa-2048`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub certificate: String,
    /// The client's socket, if it was open when the cell ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Socket>,
    /// The server's socket, if it was open when the cell ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Socket>,
}

/// How a socket was set, read from the socket itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Socket {
    /// Send buffer, as the kernel counts it.
    pub send_buffer_bytes: u64,
    /// Receive buffer, as the kernel counts it; TCP's grows with use.
    pub receive_buffer_bytes: u64,
    /// TCP: Nagle's algorithm is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<bool>,
    /// TCP: congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// TCP: payload of a full segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u32>,
    /// UDP: several datagrams may be received as one (GRO).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_gro: Option<bool>,
}

/// What a driver said of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// Library.
    pub name: String,
    /// Its version.
    pub version: String,
    /// TLS library and version.
    pub tls: String,
    /// `monotonic` or `own`.
    pub clock: String,
    /// Smallest difference its clock shows.
    pub resolution_ns: u64,
    /// What it ships or sets and no server can see.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the names that records already hold.
    #[test]
    fn names_match_the_serialised_form() {
        for state in [
            State::ColdProcess,
            State::ColdConnection,
            State::Resumed,
            State::EarlyData,
            State::Warm,
        ] {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
        for proof in [Proof::Client, Proof::Wire, Proof::Server] {
            assert_eq!(serde_json::to_value(proof).unwrap(), proof.name());
        }
        let reason = String::new;
        let outcomes = [
            (Outcome::Clean, "clean"),
            (Outcome::Noisy { reasons: vec![] }, "noisy"),
            (Outcome::Failed { reason: reason() }, "failed"),
            (Outcome::Unsupported { reason: reason() }, "unsupported"),
        ];
        for (outcome, name) in outcomes {
            assert_eq!(outcome.name(), name);
            assert_eq!(serde_json::to_value(&outcome).unwrap()["outcome"], name);
        }
    }
}
