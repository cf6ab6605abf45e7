//! The server's log of connections and requests, one JSON object per line (`docs/reference/server-log.md`).
//!
//! The server writes the log. The lab checks each driver's claims against it, joined by the request's `id`, and the
//! client's tests read it.

#![forbid(unsafe_code)]

mod sender;

use serde::{Deserialize, Serialize};

pub use sender::{Sender, Transport};

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ServerEvent {
    /// A connection completed its handshake.
    Connection(ConnectionEvent),
    /// A request was answered, or failed.
    Request(RequestEvent),
    /// The server refused what a client sent.
    Refused(RefusedEvent),
    /// A connection that had completed its handshake ended.
    Closed(ClosedEvent),
}

/// A connection, logged when its handshake has completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionEvent {
    /// Counted from 1 over TCP and QUIC together.
    pub connection: u64,
    /// CLOCK_MONOTONIC when the handshake had completed.
    pub at_ns: u64,
    /// TCP or QUIC.
    pub transport: Transport,
    /// The client's port.
    pub peer_port: u16,
    /// IP version of the client's packets, 4 or 6.
    pub ip_version: u8,
    /// Negotiated ALPN protocol: `http/1.1`, `h2`, `h3`, or empty for none.
    pub alpn: String,
    /// TLS version as rustls names it, e.g. `TLSv1_3`; empty without TLS, as the next two.
    pub tls_version: String,
    /// Cipher suite as rustls names it, e.g. `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Key exchange group as rustls names it, e.g. `X25519`.
    pub group: String,
    /// Whether the session was resumed.
    pub resumed: bool,
    /// Whether the server requested another key share, which costs one RTT.
    pub hello_retry: bool,
    /// Certificate chain sent, bytes; 0 when resumed or without TLS.
    pub chain_bytes: u64,
    /// Common name in the client's certificate, if it sent one.
    pub client_cert: Option<String>,
    /// The server's congestion control; over TCP, read back from the socket.
    pub congestion: Option<String>,
}

/// A request, logged when its response has been handed to the transport or has failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestEvent {
    /// The value of the header `x-commute-id`, if there is a valid one.
    pub id: Option<u32>,
    /// The number of its connection.
    pub connection: u64,
    /// `http/1.1`, `h2`, `h3` or `grpc`.
    pub protocol: String,
    /// HTTP method, e.g. `POST`.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// `:authority` or `Host` as sent; absent if the request had neither, or the server does not log it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// CLOCK_MONOTONIC when the head had been read.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC when the last byte of the body had been read, or the head if the body was empty; absent if the
    /// server does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_ns: Option<u64>,
    /// CLOCK_MONOTONIC just before the response's head was handed to the transport; absent if there was no response, or
    /// the server does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responded_ns: Option<u64>,
    /// CLOCK_MONOTONIC when the response had been handed to the transport or had failed.
    pub end_ns: u64,
    /// Whether it arrived before the handshake had completed.
    pub early_data: bool,
    /// Body bytes received.
    pub request_bytes: u64,
    /// SHA-256 of the body received, lower-case hex.
    pub request_digest: String,
    /// Body bytes sent.
    pub response_bytes: u64,
    /// SHA-256 of the body sent, lower-case hex.
    pub response_digest: String,
    /// HTTP status, or gRPC's; 0 when the client left before there was an answer.
    pub status: u16,
    /// Whether the response was not handed to the transport completely.
    pub broken: bool,
    /// The codec of an exchange, for request and answer, or of a submission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<String>,
    /// Time to decode the request of an exchange or a submission, including decompression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_ns: Option<u64>,
    /// Time to encode the answer of an exchange, including compression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encode_ns: Option<u64>,
    /// SHA-256 of the header fields of a request of the study's own that the study sets, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields_digest: Option<String>,
    /// The scheme by which the request was authenticated, `jwt` or `hmac`; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// Time to check the token, or the signature and the body's digest or codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_ns: Option<u64>,
}

/// A message or a connection that was refused since the client broke a rule of HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedEvent {
    /// The number of the connection.
    pub connection: u64,
    /// The stream that was refused; absent if the whole connection was, and over HTTP/1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u64>,
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What the client got: an error code of RFC 9113 or RFC 9114, e.g. `H3_MESSAGE_ERROR`, or a status, e.g. 400.
    pub code: String,
    /// The rule, as far as it is known; otherwise empty.
    pub reason: String,
}

/// The end of a connection, logged just before its socket is closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClosedEvent {
    /// The number of the connection.
    pub connection: u64,
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What the server's transport told of its sending.
    pub sender: Sender,
    /// What its congestion control knew over time, if the server reports it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowSample>,
}

/// What a sender's congestion control knew when it had counted acknowledgements that arrived together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSample {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Its congestion window.
    pub window_bytes: u64,
    /// Bytes that were not acknowledged yet.
    pub in_flight_bytes: u64,
    /// Before them, it had nothing more to send, or no credit for it, and was not held back by its congestion window or
    /// pacing.
    pub app_limited: bool,
}
