//! The settings in effect after binding. The configuration does not decide all of them.

use std::fmt;

use crate::config::{Congestion, KeyKind};

/// hyper 1.12, server side: `DEFAULT_CONN_WINDOW` and `DEFAULT_STREAM_WINDOW`.
pub(crate) const H2_WINDOW: u32 = 1 << 20;
/// quinn-proto 0.11: 12.5 MB/s at an RTT of 100 ms.
pub(crate) const QUIC_STREAM_WINDOW: u64 = 1_250_000;

/// The library and its version that serves each protocol. quinn-proto is quinn's protocol, which
/// decides what is sent when.
pub const LIBRARIES: [(&str, &str); 4] = [
    ("h1", concat!("hyper ", env!("HYPER_VERSION"))),
    ("h2", concat!("hyper ", env!("HYPER_VERSION"))),
    ("h3", concat!("quinn-proto ", env!("QUINN_PROTO_VERSION"))),
    ("grpc", concat!("tonic ", env!("TONIC_VERSION"))),
];

/// The settings in effect after binding; reports show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The type of all keys.
    pub key: KeyKind,
    /// Bytes of leaf and intermediate, as sent in a full handshake.
    pub chain_bytes: u64,
    /// HTTP/2 receive window per stream (RFC 9113 section 6.9.2), hyper's default.
    pub h2_stream_window: u32,
    /// HTTP/2 receive window per connection, hyper's default.
    pub h2_connection_window: u32,
    /// QUIC receive window per stream, quinn's default.
    pub quic_stream_window: u64,
    /// Congestion control of the QUIC side.
    pub quic_congestion: Congestion,
    /// The smallest UDP buffers of any address; none where nothing listens over UDP.
    pub udp_buffers: Option<UdpBuffers>,
}

/// The sizes of a UDP socket's buffers in bytes, as the kernel counts: twice what it granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpBuffers {
    /// Of received datagrams.
    pub receive: usize,
    /// Of datagrams to be sent.
    pub send: usize,
}

impl UdpBuffers {
    pub(crate) fn smaller(self, other: Self) -> Self {
        Self {
            receive: self.receive.min(other.receive),
            send: self.send.min(other.send),
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = match self.key {
            KeyKind::P256 => "P-256",
            KeyKind::Rsa2048 => "RSA-2048",
        };
        write!(
            f,
            "{key} keys, chain {} B; receive windows H2 {} B/stream {} B/connection, \
             QUIC {} B/stream; QUIC congestion control {}",
            self.chain_bytes,
            self.h2_stream_window,
            self.h2_connection_window,
            self.quic_stream_window,
            self.quic_congestion.name(),
        )?;
        match self.udp_buffers {
            Some(UdpBuffers { receive, send }) => {
                write!(f, "; UDP buffers {receive} B in {send} B out")
            }
            None => f.write_str("; no UDP"),
        }
    }
}
