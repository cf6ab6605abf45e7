//! A request, with what its client and its server report.

use crate::packet::Transport;

/// The version of HTTP that carries a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1: one request at a time on a connection.
    One,
    /// HTTP/2, which carries gRPC too.
    Two,
    /// HTTP/3, over QUIC.
    Three,
}

impl Http {
    pub(crate) fn transport(self) -> Transport {
        match self {
            Http::One | Http::Two => Transport::Tcp,
            Http::Three => Transport::Quic,
        }
    }
}

/// A request, by the clock of the packets.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The version of HTTP.
    pub http: Http,
    /// The client's port.
    pub port: u16,
    /// The application's call.
    pub start_ns: u64,
    /// The application has the whole response.
    pub end_ns: u64,
    /// The application had handed the request over to its transport, if the client reports it.
    pub sent_ns: Option<u64>,
    /// The last byte of the response had arrived, if the client reports it. Decoding follows.
    pub received_ns: Option<u64>,
    /// The handshake of TLS or QUIC was done, if either end reports it.
    pub secured_ns: Option<u64>,
    /// Nagle's algorithm is known to be off at the client, and at the server.
    pub nodelay: [bool; 2],
    /// The longest payload of TCP's segments, up and down, where the ends' maximum segment sizes are known.
    pub longest: [Option<u16>; 2],
    /// The request in the server's log, if the server keeps one.
    pub served: Option<Served>,
    /// Bytes of the request's body.
    pub request_bytes: u64,
    /// What the server's congestion control knew over time, if the server reports it.
    pub sender: Option<SenderLog<'a>>,
}

/// What a server's congestion control knew over time on a connection.
#[derive(Clone, Copy, Debug)]
pub struct SenderLog<'a> {
    /// Samples in the order of time, each of when acknowledgements arrived.
    pub samples: &'a [SenderSample],
    /// The server told the client at least once that it waited for flow control.
    pub was_blocked: bool,
}

/// What a sender knew when acknowledgements arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderSample {
    /// The time.
    pub at_ns: u64,
    /// Until then it was not held back by its congestion window or pacing.
    pub app_limited: bool,
}

/// A request in the server's log.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The head had been read.
    pub read_ns: u64,
    /// The last byte of the request had been read, if the server reports it.
    pub received_ns: Option<u64>,
    /// Just before the response's head was handed to the transport, if the server reports it.
    pub responded_ns: Option<u64>,
    /// The whole response had been handed to the transport.
    pub written_ns: u64,
}
