//! One call of a cell: a request and its response, as measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::CallPath;
use crate::proof::Proof;

/// One request and its response. `dns_ns` to `end_ns` count from `start_ns`; each is the end of a
/// phase, absent when the phase did not happen or the client cannot see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    /// Id of the step that made it.
    pub id: u32,
    /// Name of its group in the study.
    pub group: String,
    /// Number of the connection, from 1; 0 for imported calls.
    pub connection: u32,
    /// Whether it is the first request on its connection.
    pub first: bool,
    /// State of the connection when the call started.
    pub state: State,
    /// Who vouches for `state` and `protocol`.
    pub proof: Proof,
    /// Negotiated protocol, `h1`, `h2`, `h3` or `grpc`; from the server's log if the server saw
    /// the call.
    pub protocol: String,
    /// Start, ns after the cell's first step.
    pub start_ns: u64,
    /// End of name resolution.
    pub dns_ns: Option<u64>,
    /// End of the TCP handshake.
    pub connect_ns: Option<u64>,
    /// End of the TLS or QUIC handshake.
    pub tls_ns: Option<u64>,
    /// Hand-over of the request to the transport.
    pub request_sent_ns: Option<u64>,
    /// Arrival of the response's first byte.
    pub first_byte_ns: Option<u64>,
    /// End of the call. For a call that timed out, its timeout: the true time is at least that
    /// (censored).
    pub end_ns: u64,
    /// Body bytes sent.
    pub request_bytes: u64,
    /// Body bytes received.
    pub response_bytes: u64,
    /// How the call ended.
    pub result: CallResult,
    /// How many times the server saw the call: 0 if it was not reached, 2 after a silent retry.
    pub server_hits: u32,
    /// Time from the server reading the request's head to handing over its response; absent when
    /// the server did not see the call.
    pub server_ns: Option<u64>,
    /// Signing of the request, from the call's start; absent where requests are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_ns: Option<u64>,
    /// Time the server took to check the token, or the signature and what it covers, by its own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_ns: Option<u64>,
    /// Bytes that the call allocated on the client's heap, by its runtime's counters; absent where calls
    /// overlap or the runtime does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes: Option<u64>,
    /// Objects that the call allocated, counted alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<u64>,
    /// Time by part of the critical path, in ns; together the call's time. The names are those of
    /// docs/reference/parts.md. Empty if the call failed, if the client has a clock of its own, if neither
    /// end reports the client's port, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, u64>,
    /// The critical path step by step; absent unless the run was made with `--explain`, and where `parts` is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<CallPath>,
    /// Phases of an exchange, a submission, or a request of the study's own that was encoded and decoded
    /// within the call; absent for other calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
}

impl Call {
    /// Returns when it ended, by the clock of its start, ns.
    pub fn ended_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.end_ns)
    }
}

/// The codec phases of a call. `created_ns` to `received_ns` count from the call's `start_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exchange {
    /// End of creating the message; absent if it was prebuilt.
    pub created_ns: Option<u64>,
    /// End of encoding and compressing the request.
    pub encoded_ns: Option<u64>,
    /// Arrival of the last byte of the response's body; from here to `end_ns` it is decoded. Absent for
    /// a submission, whose receipt is not.
    pub received_ns: Option<u64>,
    /// Time the server took to decode the request, by its own clock.
    pub server_decode_ns: Option<u64>,
    /// Time the server took to encode the response, by its own clock.
    pub server_encode_ns: Option<u64>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CallResult {
    /// Answered completely and correctly.
    Ok,
    /// Timed out; it took at least `end_ns` (censored).
    TimedOut,
    /// Failed before its timeout.
    Error {
        /// Kind of error, as in the driver protocol.
        kind: String,
        /// The stack's own message.
        detail: String,
    },
}

impl CallResult {
    /// Returns the name used in records and CSV.
    pub fn name(&self) -> &'static str {
        match self {
            CallResult::Ok => "ok",
            CallResult::TimedOut => "timed_out",
            CallResult::Error { .. } => "error",
        }
    }
}

/// The state of the connection when a call started.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// None yet: the first call of a process that was not warmed up.
    ColdProcess,
    /// New connection, full handshake.
    ColdConnection,
    /// New connection, resumed session.
    Resumed,
    /// New connection, request sent as accepted early data.
    EarlyData,
    /// A connection that had carried a call before.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Renaming a variant must not change the names in existing records.
    #[test]
    fn names_match_the_serialised_form() {
        for (state, name) in [
            (State::ColdProcess, "cold_process"),
            (State::ColdConnection, "cold_connection"),
            (State::Resumed, "resumed"),
            (State::EarlyData, "early_data"),
            (State::Warm, "warm"),
        ] {
            assert_eq!(state.name(), name);
            assert_eq!(serde_json::to_value(state).unwrap(), name);
        }
        for (proof, name) in [
            (Proof::Client, "client"),
            (Proof::Wire, "wire"),
            (Proof::Server, "server"),
        ] {
            assert_eq!(proof.name(), name);
            assert_eq!(serde_json::to_value(proof).unwrap(), name);
        }
        let (kind, detail) = (String::new(), String::new());
        for (result, name) in [
            (CallResult::Ok, "ok"),
            (CallResult::TimedOut, "timed_out"),
            (CallResult::Error { kind, detail }, "error"),
        ] {
            assert_eq!(result.name(), name);
            assert_eq!(serde_json::to_value(&result).unwrap()["result"], name);
        }
    }
}
