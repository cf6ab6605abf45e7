//! From nothing to the request at the server.

use link::Direction::{self, Down, Up};

use super::pipe::Pipe;
use super::{Connection, PredictError, Protocol};

/// The request is at the server.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) at_ns: u64,
    /// What the connection has measured of the round trip, or would have.
    pub(super) rtt_ns: u64,
    /// IP bytes of the packets that the server sends just before the response.
    pub(super) ahead: &'static [u32],
}

/// Connects if need be, and asks.
pub(super) fn connect(
    pipe: &mut Pipe,
    protocol: Protocol,
    connection: Connection,
) -> Result<Asked, PredictError> {
    let (flights, ahead) = match (connection, protocol) {
        (Connection::Cold, Protocol::H2) => (TCP_AND_TLS, H2_AHEAD),
        (Connection::Cold, Protocol::H3) => (QUIC, COLD_H3_AHEAD),
        (Connection::Warm, Protocol::H2) => (WARM, &[][..]),
        (Connection::Warm, Protocol::H3) => (WARM, WARM_H3_AHEAD),
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

/// Sends packets together, and tells when the last one is there.
fn flight(
    pipe: &mut Pipe,
    now_ns: u64,
    direction: Direction,
    packets: &[u32],
) -> Result<u64, PredictError> {
    for (token, ip_bytes) in (0..).zip(packets) {
        pipe.send(now_ns, direction, token, *ip_bytes);
    }
    let mut last_ns = now_ns;
    for _ in packets {
        let arrival = loop {
            let next_ns = pipe.next_ns().ok_or(PredictError::Stalled)?;
            if let Some(arrival) = pipe.arrival(next_ns) {
                break arrival;
            }
        };
        last_ns = arrival.at_ns;
    }
    Ok(last_ns)
}

type Flights = &'static [(Direction, &'static [u32])];

/// A request with the headers that a client sends again and again.
const WARM: Flights = &[(Up, &[150])];

/// SYN; SYN and ACK; ACK and ClientHello; ServerHello to Finished with two P-256 certificates of
/// half a kilobyte; Finished, the HTTP/2 preface and the request with all its headers.
const TCP_AND_TLS: Flights = &[
    (Up, &[60]),
    (Down, &[60]),
    (Up, &[52, 350]),
    (Down, &[1500, 150]),
    (Up, &[52, 350]),
];

/// A padded Initial; the server's handshake in two datagrams, the first one padded too; Finished,
/// padded for the Initial's acknowledgement beside it, and the request.
const QUIC: Flights = &[(Up, &[1228]), (Down, &[1228, 500]), (Up, &[1228, 250])];

/// Session tickets, SETTINGS, a window update and the acknowledgement of the client's SETTINGS,
/// each written by itself: four segments of the ten that a connection may begin with.
const H2_AHEAD: &[u32] = &[300, 110, 90, 83];

/// Tickets, HANDSHAKE_DONE and SETTINGS, and quinn's first probe for larger datagrams.
const COLD_H3_AHEAD: &[u32] = &[600, 1354];

/// quinn goes on probing, once a round trip.
const WARM_H3_AHEAD: &[u32] = &[1450];
