//! What a response's way was.

use route::{Protocol, Why};

/// How a response came.
#[derive(Clone, Debug)]
pub struct Report {
    /// The version of HTTP that was spoken.
    pub protocol: Protocol,
    /// Why this connection.
    pub why: Why,
    /// Whether the connection had been opened for an earlier request.
    pub reused: bool,
    /// The connection's local port.
    pub local_port: u16,
    /// How often the request was sent.
    pub attempts: u32,
    /// When what happened, in ns after the request was asked for.
    pub phases: Phases,
}

/// When what happened, in ns after the request was asked for. What was done before the request
/// was asked for, e.g. opening a connection that is reused, is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    /// The name was resolved.
    pub dns_ns: Option<u64>,
    /// TCP was connected.
    pub connect_ns: Option<u64>,
    /// The handshake was done.
    pub tls_ns: Option<u64>,
    /// The request was handed to the transport.
    pub request_sent_ns: Option<u64>,
    /// The head of the response came.
    pub first_byte_ns: Option<u64>,
}
