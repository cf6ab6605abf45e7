//! Rows: a driver's measurements of one call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::Protocol;

/// The measurements of one call. Times are absolute, in nanoseconds on the driver's clock, and
/// mark the end of a phase; a phase that did not happen or cannot be observed is absent.
///
/// `start <= dns <= connect <= tls`; `request_sent` and `first_byte` lie between `start` and
/// `end`, and after `tls` unless `early_data`. They have no order between them, because a
/// response may begin before the whole request is sent. In an exchange, `start <= created <=
/// encoded <= request_sent` and `first_byte <= received <= end`. Where requests are signed, `start,
/// encoded <= signed <= request_sent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The step's id.
    pub id: u32,
    /// The driver's number of the connection, from 1; 0 when the call got none.
    #[serde(default)]
    pub connection: u32,
    /// The client's port of that connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_port: Option<u16>,
    /// The application started the call.
    pub start_ns: u64,
    /// The name was resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_ns: Option<u64>,
    /// TCP was connected. Absent with QUIC, which has only `tls_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<u64>,
    /// The TLS or QUIC handshake was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ns: Option<u64>,
    /// The whole request had been handed to the transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_sent_ns: Option<u64>,
    /// The first byte of the response's head arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<u64>,
    /// In an exchange: the message was made. Absent if it existed before the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_ns: Option<u64>,
    /// In an exchange: the request's body was encoded and compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoded_ns: Option<u64>,
    /// The request was signed: digest and signature were computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_ns: Option<u64>,
    /// In an exchange: the last byte of the response's body arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_ns: Option<u64>,
    /// The call succeeded or failed. An exchange ends when the response is decoded.
    pub end_ns: u64,
    /// HTTP or gRPC status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Body bytes sent.
    #[serde(default)]
    pub request_bytes: u64,
    /// Body bytes received.
    #[serde(default)]
    pub response_bytes: u64,
    /// SHA-256 of the response's body, in lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The protocol that was negotiated, according to the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Another call had opened the connection.
    #[serde(default)]
    pub reused: bool,
    /// The connection's handshake resumed an earlier TLS session. Absent: it did not. `null`: the stack does not report
    /// it; then the server's log decides.
    #[serde(default = "not_resumed")]
    pub resumed: Option<bool>,
    /// The request was sent as early data and accepted.
    #[serde(default)]
    pub early_data: bool,
    /// How often the stack sent the request: 1 unless it retried on its own, 0 if the call
    /// failed before it was sent.
    #[serde(default)]
    pub attempts: u32,
    /// Bytes that the call allocated on the heap, by the runtime's own counters. Absent where calls
    /// overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_bytes: Option<u64>,
    /// Objects that the call allocated on the heap, counted alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<u64>,
    /// Present if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
}

/// Returns the value of [`Row::resumed`] where a driver leaves it out.
fn not_resumed() -> Option<bool> {
    Some(false)
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallError {
    /// Kind of failure.
    pub kind: ErrorKind,
    /// The library's error message.
    pub detail: String,
}

/// Kinds of failure, the same for every stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The name did not resolve.
    Dns,
    /// The connection was refused, or the address is unreachable.
    Connect,
    /// The handshake failed, or the certificate chain was not trusted.
    Tls,
    /// The call took longer than `timeout_ns`.
    Timeout,
    /// The call was cancelled, as its step asked.
    Cancelled,
    /// The connection broke during the call.
    Reset,
    /// The server violated the protocol.
    Protocol,
    /// The status means failure.
    Status,
    /// Anything else.
    Other,
}

impl ErrorKind {
    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Reset => "reset",
            Self::Protocol => "protocol",
            Self::Status => "status",
            Self::Other => "other",
        }
    }
}
