//! What a server is told before it starts.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::inject::Faults;

/// How a server is to be.
#[derive(Debug)]
pub struct Config {
    /// Where to listen, TCP and UDP on the same port. Port 0: any that is free on both.
    pub listen: Vec<SocketAddr>,
    /// The same for the port that demands a client certificate.
    pub mtls_listen: Vec<SocketAddr>,
    /// Host names and addresses the certificate is valid for.
    pub names: Vec<String>,
    /// Kind of every key made at start.
    pub key: KeyKind,
    /// Where to write `ca.pem`, `client.pem` and `client.key`, for the client's side.
    pub credentials_dir: Option<PathBuf>,
    /// Responses over TCP point at HTTP/3 on the same port.
    pub alt_svc: bool,
    /// Accept early data over QUIC; needs `resumption`.
    pub early_data: bool,
    /// Let clients resume sessions.
    pub resumption: bool,
    /// Where the request log goes.
    pub log: Option<File>,
    /// What a client may use up.
    pub limits: Limits,
    /// Faults to inject, by request id.
    pub faults: Faults,
    /// Hand out tickets and know none of them later, so that resumption and early data are
    /// refused.
    pub reject_tickets: bool,
    /// Congestion control of the QUIC side.
    pub congestion: Congestion,
    /// TCP_NODELAY on accepted sockets. Off only to break a lab on purpose.
    pub nodelay: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            mtls_listen: Vec::new(),
            names: vec!["localhost".into()],
            key: KeyKind::P256,
            credentials_dir: None,
            alt_svc: false,
            early_data: false,
            resumption: true,
            log: None,
            limits: Limits::default(),
            faults: Faults::new(),
            reject_tickets: false,
            congestion: Congestion::Cubic,
            nodelay: true,
        }
    }
}

/// Kind of a key pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on the curve P-256.
    P256,
    /// RSA of 2048 bits, for stacks that know no other (mono).
    Rsa2048,
}

/// Congestion control of the QUIC side, as quinn has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// CUBIC, RFC 9438; quinn's default and Linux's for TCP.
    Cubic,
    /// NewReno, RFC 9002.
    NewReno,
    /// BBR version 1, which quinn calls experimental.
    Bbr,
}

impl Congestion {
    /// Its name in the log, as Linux would call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::NewReno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

/// What a client may use up. None of them changes how a well-behaved client is served.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at a time, both transports and all ports together.
    pub connections: usize,
    /// QUIC handshakes begun and not finished, per port. Beyond, a newcomer is asked by a
    /// Retry to prove its address first (RFC 9000 section 8.1.2), so that crowds of forged
    /// first packets cost nothing; below, there is no Retry.
    pub half_open: usize,
    /// Request head, bytes; at least 8192, below which hyper does not go.
    pub header_bytes: u32,
    /// Request body, bytes.
    pub body_bytes: u64,
    /// Small message (echo), bytes.
    pub message_bytes: usize,
    /// Message of an exchange, bytes as sent and bytes as decompressed. Decoded, a message
    /// may take a hundred times as much; no thread holds more than one.
    pub exchange_bytes: usize,
    /// Largest file to be had.
    pub file_bytes: u64,
    /// Requests at a time on one connection.
    pub streams: u32,
    /// From accepting a connection to the end of its handshake.
    pub handshake_time: Duration,
    /// From the first thought of a request to the end of its head; on HTTP/1.1 also how
    /// long a connection may rest between requests.
    pub header_time: Duration,
    /// A connection on which no request moves for this long is closed.
    pub idle_time: Duration,
    /// How long a shutdown waits for requests in flight.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8192,
            half_open: 256,
            header_bytes: 16 << 10,
            body_bytes: 1 << 30,
            message_bytes: 1 << 20,
            exchange_bytes: 4 << 20,
            file_bytes: 16 << 30,
            // RFC 9114 section 6.1 and RFC 9113 section 5.1.2 both ask for at least 100.
            streams: 100,
            handshake_time: Duration::from_secs(30),
            header_time: Duration::from_secs(60),
            idle_time: Duration::from_secs(120),
            drain_time: Duration::from_secs(10),
        }
    }
}
