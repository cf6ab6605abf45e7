//! Predicts how long a response takes on an access network, from the protocols' rules alone.
//!
//! The life of a transfer, packet by packet in virtual time:
//!
//! 1. [`packets`] turns the body into IP packets: headers, frames, TLS or QUIC.
//! 2. `handshake` connects, if the connection is cold, and carries the request to the server. The
//!    answer is its arrival time and the round-trip time measured on the way.
//! 3. `transfer` runs the event loop between a `sender` and a `receiver`. The sender is the bench's
//!    server: Linux TCP with CUBIC and HyStart (`congestion`), or quinn with CUBIC and its `pacer`.
//!    It finds losses, sends them again and probes after silence. The receiver acknowledges as
//!    Linux or quinn does.
//! 4. Every packet crosses a `pipe`: the [`link::Path`] that the bench measures on, with its delay,
//!    rate, queue, gate and policy, but without random loss, jitter and reordering. Packets that
//!    overflow the queue are dropped; that is not random.
//! 5. When the last packet of the response arrives, its time is the [`Prediction`].
//!
//! # Assumptions
//!
//! - The server answers at once, and processors take no time.
//! - A cold connection takes a TLS 1.3 handshake: 3 round trips to the first byte over TCP, 2 over
//!   QUIC, without DNS and with a chain of two small certificates. What the server sends just
//!   before its first response takes its share of the first window.
//! - A warm connection starts with the window of a cold one: Linux returns to it after an idle
//!   period (`tcp_slow_start_after_idle`, 1 in the bench), and small requests do not open it
//!   further. Over QUIC a cold connection sends datagrams of [`packets::FIRST_DATAGRAM`] bytes; a
//!   warm one has found the largest that fit.
//! - Flow control never blocks: receive windows are taken as wide enough, which beyond about a
//!   megabyte per round trip they are not.

#![forbid(unsafe_code)]

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

/// The largest body that [`predict`] accepts.
pub const MAX_BODY_BYTES: u64 = 256 << 20;
/// The bench's clients connect over IPv6.
const IP: Ip = Ip::V6;

/// The protocol that carries the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 over TLS 1.3 over TCP.
    H2,
    /// HTTP/3 over QUIC.
    H3,
}

/// The state of the connection when the request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Not yet open: the prediction includes the handshake.
    Cold,
    /// Open, lightly used and idle: nothing is in flight, not even a probe for larger datagrams.
    Warm,
}

/// The predicted times of one response, counted from the start of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Arrival of the response's first packet. Over TLS an app sees its bytes only when the record
    /// is complete: a round trip later for responses above about 14 kB.
    pub first_byte_ns: u64,
    /// Arrival of the response's last packet.
    pub total_ns: u64,
    /// Packets from the server that carry the response or what precedes it, retransmissions
    /// included.
    pub packets: u64,
    /// Packets from the server that a full queue, the gate or the policy dropped.
    pub dropped: u64,
    /// The network also has random loss, jitter or reordering, which the prediction leaves out.
    /// Output must say so.
    pub excludes_random_loss: bool,
}

/// Why there is no prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// The handshake or the response never completes.
    #[error("the network drops packets that this protocol cannot do without")]
    Stalled,
    /// The body exceeds [`MAX_BODY_BYTES`].
    #[error("bodies above {MAX_BODY_BYTES} bytes are not predicted")]
    TooBig,
}

impl Protocol {
    /// Both protocols.
    pub const ALL: [Self; 2] = [Self::H2, Self::H3];

    /// Returns the name in reports: `h2` or `h3`.
    pub fn name(self) -> &'static str {
        match self {
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }
}

/// Predicts when a response with a body of `body` bytes arrives.
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
    let request = connect(&mut pipe, protocol, connection)?;
    transfer(pipe, protocol, response, request).map(|prediction| Prediction {
        excludes_random_loss: has_random_loss(network),
        ..prediction
    })
}

/// Predicts when a response with a body of about `body` bytes arrives: the median over bodies within 10 %. Whether the
/// last window just holds a response, or needs another round trip, is an accident of its size.
pub fn predict_about(
    network: &Network,
    body: u64,
    protocol: Protocol,
    connection: Connection,
) -> Result<Prediction, PredictError> {
    const STEPS: u64 = 10;
    if body > MAX_BODY_BYTES {
        return Err(PredictError::TooBig);
    }
    let of_step = |step: u64| {
        let percent = 90 + 20 * step / STEPS;
        let bytes = (body / 100 * percent + body % 100 * percent / 100).min(MAX_BODY_BYTES);
        predict(network, bytes, protocol, connection)
    };
    let mut all = (0..=STEPS)
        .map(of_step)
        .collect::<Result<Vec<Prediction>, PredictError>>()?;
    all.sort_by_key(|prediction| prediction.total_ns);
    Ok(all[STEPS as usize / 2])
}

fn has_random_loss(network: &Network) -> bool {
    [&network.up, &network.down]
        .iter()
        .any(|path| path.loss.is_some() || path.jitter_ns > 0 || path.reorder.is_some())
}
