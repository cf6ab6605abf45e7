//! The server's log of connections and requests, one JSON object per line (`docs/server.md`).
//!
//! The server writes it, the lab reads it: what a driver claims is checked against it, joined
//! by the request's `id`.

use serde::{Deserialize, Serialize};

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ServerEvent {
    /// A connection finished its handshake.
    Connection(ConnectionEvent),
    /// A request was answered, or broke off.
    Request(RequestEvent),
}

/// One connection, after its handshake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionEvent {
    /// Counted from 1 over TCP and QUIC together.
    pub connection: u64,
    /// CLOCK_MONOTONIC when the handshake was done.
    pub at_ns: u64,
    /// `tcp` or `quic`.
    pub transport: Transport,
    /// The client's port.
    pub peer_port: u16,
    /// ALPN agreed on: `http/1.1`, `h2`, `h3`; empty when none.
    pub alpn: String,
    /// TLS version as rustls names it, e.g. `TLSv1_3`.
    pub tls_version: String,
    /// Cipher suite.
    pub cipher: String,
    /// Key exchange group.
    pub group: String,
    /// The session was resumed.
    pub resumed: bool,
    /// The server asked for another key share (one more RTT).
    pub hello_retry: bool,
    /// Bytes of the certificate chain sent (0 when resumed).
    pub chain_bytes: u64,
    /// Subject of the client's certificate, when it gave one.
    pub client_cert: Option<String>,
    /// Congestion control of the server's side, read back.
    pub congestion: Option<String>,
}

/// What carries TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// QUIC.
    Quic,
}

/// One request, logged when its response was handed to the transport whole or broke off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestEvent {
    /// Header `x-commute-id`; absent when the client sent none.
    pub id: Option<u32>,
    /// The connection it came on.
    pub connection: u64,
    /// `http/1.1`, `h2`, `h3` or `grpc`.
    pub protocol: String,
    /// HTTP method.
    pub method: String,
    /// Path, as sent.
    pub path: String,
    /// CLOCK_MONOTONIC when the head was read.
    pub start_ns: u64,
    /// CLOCK_MONOTONIC when the answer was handed over.
    pub end_ns: u64,
    /// Whether it arrived before the handshake was done.
    pub early_data: bool,
    /// Body bytes received.
    pub request_bytes: u64,
    /// SHA-256 of the body received, lower-case hex.
    pub request_digest: String,
    /// Body bytes sent.
    pub response_bytes: u64,
    /// SHA-256 of the body sent, lower-case hex.
    pub response_digest: String,
    /// HTTP status (gRPC: the grpc-status code).
    pub status: u16,
    /// Whether the response was not handed over whole.
    pub broken: bool,
    /// Of an exchange: the codec of request and answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<String>,
    /// Of an exchange: how long decoding the request took, decompression included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_ns: Option<u64>,
    /// Of an exchange: how long encoding the answer took, compression included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encode_ns: Option<u64>,
}
