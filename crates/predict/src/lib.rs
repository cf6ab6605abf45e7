//! How long a response takes on an access network, by known physics.
//!
//! A sender, a receiver and the link between them, packet by packet in virtual time: delays, rate,
//! queue, gate and policy are those of the link that the bench measures on ([`link::Path`]), and
//! the transport is what the bench's server is: Linux's TCP with CUBIC and HyStart, or quinn with
//! CUBIC and its pacing. What chance decides is left out: loss, jitter and reordering. Packets
//! that overflow the queue are lost and sent again, for that is no chance.
//!
//! # What is assumed
//!
//! The server answers at once, and neither side's processor takes time. A new connection takes
//! what TLS 1.3 takes, 3 round trips to the first byte over TCP and 2 over QUIC, without a look
//! at names and with a chain of two small certificates; what the server sends just before its
//! first response takes its part of the first window. A warm one begins with the window of a new
//! one: Linux falls back to it after a rest (`tcp_slow_start_after_idle`, 1 in the bench), and
//! small calls do not open it further. Over QUIC a new connection sends datagrams of
//! [`FIRST_DATAGRAM`] bytes, a warm one has found the largest that fit. Nothing waits for flow
//! control: receivers' windows are taken as wide enough, which beyond about a megabyte in one
//! round trip they are not.

mod congestion;
mod handshake;
mod pacer;
pub mod packets;
mod pipe;
mod receiver;
mod sender;
mod sizes;
mod transfer;

use link::Network;

use crate::packets::{FIRST_DATAGRAM, Ip};
use handshake::connect;
use pipe::Pipe;
use transfer::transfer;

/// What carries the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 over TLS 1.3 over TCP.
    H2,
    /// HTTP/3 over QUIC.
    H3,
}

/// What the call finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// None: it is made first.
    Cold,
    /// One that has been used a little, and rests: nothing is under way, not even a probe for
    /// larger datagrams.
    Warm,
}

/// When things happen, counted from the call, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The first packet of the response is there. Over TLS an app sees it when its record is
    /// whole: of more than about 14 kB, that is a round trip later.
    pub first_byte_ns: u64,
    /// All of it is there.
    pub total_ns: u64,
    /// Packets with the response and with what goes just before it, repeated ones too.
    pub packets: u64,
    /// Those that found the queue full, or were stopped by gate or policy.
    pub dropped: u64,
    /// The network also loses, delays or reorders by chance, which was left out: say so.
    pub excludes_random_loss: bool,
}

/// Why there is no prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// The handshake or the response does not get through.
    #[error("the network drops what this protocol needs to go on")]
    Stalled,
    /// There is no end of packets.
    #[error("bodies above {MAX_BODY_BYTES} bytes are not predicted")]
    TooBig,
}

/// How long a response with a body of so many bytes takes.
pub fn predict(
    network: &Network,
    body: u64,
    protocol: Protocol,
    connection: Connection,
) -> Result<Prediction, PredictError> {
    if body > MAX_BODY_BYTES {
        return Err(PredictError::TooBig);
    }
    let datagram = match connection {
        Connection::Cold => FIRST_DATAGRAM,
        Connection::Warm => packets::largest_datagram(IP, network.mtu),
    };
    let response = match protocol {
        Protocol::H2 => packets::over_h2(body, IP, network.mtu),
        Protocol::H3 => packets::over_h3(body, IP, datagram),
    };
    let mut pipe = Pipe::new(network, protocol);
    let asked = connect(&mut pipe, protocol, connection)?;
    transfer(pipe, protocol, response, asked).map(|prediction| Prediction {
        excludes_random_loss: has_random_loss(network),
        ..prediction
    })
}

/// The largest body that is predicted.
pub const MAX_BODY_BYTES: u64 = 256 << 20;
/// The bench calls over IPv6.
const IP: Ip = Ip::V6;

fn has_random_loss(network: &Network) -> bool {
    [&network.up, &network.down]
        .iter()
        .any(|path| path.loss.is_some() || path.jitter_ns > 0 || path.reorder.is_some())
}
