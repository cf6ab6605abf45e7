//! From nothing to the request at the server.

use link::Direction::{self, Down, Up};

use crate::pipe::Pipe;
use crate::{Connection, PredictError, Protocol};

/// The request is at the server.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) at_ns: u64,
    /// What the connection has measured of the round trip, or would have.
    pub(crate) rtt_ns: u64,
    /// IP bytes of the packets that the server sends just before the response.
    pub(crate) ahead: &'static [u32],
}

/// Connects if need be, and asks.
pub(crate) fn connect(
    pipe: &mut Pipe,
    protocol: Protocol,
    connection: Connection,
) -> Result<Asked, PredictError> {
    let (flights, ahead) = match (connection, protocol) {
        (Connection::Cold, Protocol::H2) => (TCP_AND_TLS, H2_AHEAD),
        (Connection::Cold, Protocol::H3) => (QUIC, COLD_H3_AHEAD),
        (Connection::Warm, _) => (WARM, &[][..]),
    };
    let mut at_ns = 0;
    let mut there = Vec::new();
    for (direction, packets) in flights {
        at_ns = flight(pipe, at_ns, *direction, packets)?;
        there.push(at_ns);
    }
    // A warm connection knows the round trip of small packets from before.
    let rtt_ns = there.get(1).copied().unwrap_or(2 * at_ns);
    Ok(Asked {
        at_ns,
        rtt_ns,
        ahead,
    })
}

/// Sends packets together, again those that are dropped, and tells when the last one is there.
fn flight(
    pipe: &mut Pipe,
    mut now_ns: u64,
    direction: Direction,
    packets: &[u32],
) -> Result<u64, PredictError> {
    let mut missing: Vec<(u64, u32)> = (0..).zip(packets.iter().copied()).collect();
    for attempt in 0..ATTEMPTS {
        for (token, ip_bytes) in &missing {
            pipe.send(now_ns, direction, *token, *ip_bytes);
        }
        while let Some(next_ns) = pipe.next_ns() {
            while let Some(arrival) = pipe.arrival(next_ns) {
                missing.retain(|(token, _)| *token != arrival.token);
                if missing.is_empty() {
                    return Ok(arrival.at_ns);
                }
            }
        }
        now_ns += PATIENCE_NS << attempt;
    }
    Err(PredictError::Stalled)
}

/// What TCP (RFC 6298) and QUIC (RFC 9002) wait for a first answer, twice as long each time.
const PATIENCE_NS: u64 = 1_000_000_000;
/// As often as Linux repeats a SYN (tcp_syn_retries), the first one included.
const ATTEMPTS: u32 = 7;

type Flights = &'static [(Direction, &'static [u32])];

// IP bytes as the bench's hyper, quinn and server were seen to send them over IPv6. Other stacks
// differ by a small packet here and there.

/// A request with the headers that a client sends again and again.
const WARM: Flights = &[(Up, &[150])];

/// SYN; SYN and ACK; ACK and ClientHello; ServerHello to Finished, with two P-256 certificates;
/// ACK, Finished, the HTTP/2 preface, SETTINGS and the request.
const TCP_AND_TLS: Flights = &[
    (Up, &[80]),
    (Down, &[80]),
    (Up, &[72, 319]),
    (Down, &[1205]),
    (Up, &[72, 152, 118, 140, 143]),
];

/// Session tickets, SETTINGS and the acknowledgement of the client's, each written by itself:
/// three segments of the ten that a connection may begin with.
const H2_AHEAD: &[u32] = &[256, 127, 116];

/// A padded Initial; the server's handshake, its first datagram padded too; Finished, padded for
/// the acknowledgement beside it, a probe for larger datagrams, SETTINGS and the request.
const QUIC: Flights = &[
    (Up, &[1248]),
    (Down, &[1248, 198, 186]),
    (Up, &[1248, 1374, 186, 190]),
];

/// HANDSHAKE_DONE and tickets, the server's first probe for larger datagrams, SETTINGS and what
/// else HTTP/3 opens streams for.
const COLD_H3_AHEAD: &[u32] = &[241, 1374, 116, 82, 84, 108];
