//! What a driver says of one call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Protocol;

/// One call's measurements. Times are absolute on the driver's clock, each the moment a
/// phase ended; a phase that did not happen or cannot be seen is absent.
///
/// `start <= dns <= connect <= tls`; `request_sent` and `first_byte` lie between `start`
/// and `end`, and after `tls` unless `early_data`. The response may begin before the
/// request is sent whole, so these two have no order. Of an exchange, `start <= created <=
/// encoded <= request_sent` and `first_byte <= received <= end`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The step's id.
    pub id: u32,
    /// Which of the driver's connections, counted from 1; 0 when the call got none.
    #[serde(default)]
    pub connection: u32,
    /// The client's port of that connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_port: Option<u16>,
    /// The application asked for the call.
    pub start_ns: u64,
    /// The name was resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_ns: Option<u64>,
    /// TCP was connected (QUIC: absent, see `tls_ns`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<u64>,
    /// TLS was up (QUIC: the handshake was done).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ns: Option<u64>,
    /// The request was handed to the transport whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_sent_ns: Option<u64>,
    /// The first byte of the response (its head) arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<u64>,
    /// Of an exchange: the message was made; absent if it was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_ns: Option<u64>,
    /// Of an exchange: the request's bytes were there, encoded and compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoded_ns: Option<u64>,
    /// Of an exchange: the last byte of the response's body was here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_ns: Option<u64>,
    /// The call ended, well or not; of an exchange, the answer is decoded.
    pub end_ns: u64,
    /// HTTP status, or gRPC status code for gRPC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Body bytes sent.
    #[serde(default)]
    pub request_bytes: u64,
    /// Body bytes received.
    #[serde(default)]
    pub response_bytes: u64,
    /// SHA-256 of the response's body, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What was negotiated, as the stack says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Another call had opened the connection.
    #[serde(default)]
    pub reused: bool,
    /// TLS resumed an earlier session.
    #[serde(default)]
    pub resumed: bool,
    /// The request went as early data and was accepted.
    #[serde(default)]
    pub early_data: bool,
    /// How often the stack sent the request: 1 unless it retried by itself, 0 when the
    /// call failed before it could be sent.
    #[serde(default)]
    pub attempts: u32,
    /// Set when the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallError {
    /// What kind.
    pub kind: ErrorKind,
    /// The stack's own words.
    pub detail: String,
}

/// Kinds of failure, the same for every stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The name did not resolve.
    Dns,
    /// Refused, unreachable or no route.
    Connect,
    /// The handshake failed, the chain was not trusted.
    Tls,
    /// The time-out of `setup` passed.
    Timeout,
    /// Given up when the step said so.
    Cancelled,
    /// The connection broke in mid-call.
    Reset,
    /// The peer broke the protocol.
    Protocol,
    /// The status says failure.
    Status,
    /// Anything else.
    Other,
}
