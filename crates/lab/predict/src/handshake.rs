//! The handshake: from the start to the request's arrival at the server.

use link::Direction::{self, Down, Up};

use crate::pipe::Pipe;
use crate::{Connection, PredictError, Protocol};

/// The first retransmission timeout of TCP (RFC 6298) and of QUIC (RFC 9002); it doubles each time.
const INITIAL_TIMEOUT_NS: u64 = 1_000_000_000;
/// As often as Linux sends a SYN (tcp_syn_retries), the first one included.
const ATTEMPTS: u32 = 7;

// IP bytes of packets as the bench's hyper, quinn and server were seen to send them over IPv6.
// Other stacks differ by a small packet here and there.

/// A request on a warm connection, its headers already in the compression table.
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

/// Session tickets, SETTINGS and the acknowledgement of the client's SETTINGS, each in a write of
/// its own: three segments of the initial window's ten.
const H2_PREAMBLE: &[u32] = &[256, 127, 116];

/// A padded Initial; the server's handshake, its first datagram padded too; Finished, padded
/// because an acknowledgement rides along, a probe for larger datagrams, SETTINGS and the request.
const QUIC: Flights = &[
    (Up, &[1248]),
    (Down, &[1248, 198, 186]),
    (Up, &[1248, 1374, 186, 190]),
];

/// HANDSHAKE_DONE and tickets, the server's first probe for larger datagrams, SETTINGS and the
/// other streams that HTTP/3 opens.
const H3_PREAMBLE: &[u32] = &[241, 1374, 116, 82, 84, 108];

/// Packets sent together, each flight in answer to the one before.
type Flights = &'static [(Direction, &'static [u32])];

/// A request that has arrived at the server.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) arrival_ns: u64,
    /// The round-trip time that the connection has measured, or would have.
    pub(crate) rtt_ns: u64,
    /// IP bytes of the packets that the server sends just before the response.
    pub(crate) preamble: &'static [u32],
}

/// Opens the connection if it is cold, and sends the request.
pub(crate) fn connect(
    pipe: &mut Pipe,
    protocol: Protocol,
    connection: Connection,
) -> Result<Request, PredictError> {
    let (flights, preamble) = match (connection, protocol) {
        (Connection::Cold, Protocol::H2) => (TCP_AND_TLS, H2_PREAMBLE),
        (Connection::Cold, Protocol::H3) => (QUIC, H3_PREAMBLE),
        (Connection::Warm, _) => (WARM, &[][..]),
    };
    let mut now_ns = 0;
    let mut arrivals_ns = Vec::new();
    for (direction, packets) in flights {
        now_ns = send_flight(pipe, now_ns, *direction, packets)?;
        arrivals_ns.push(now_ns);
    }
    // A warm connection knows the round trip of small packets from before.
    let rtt_ns = arrivals_ns.get(1).copied().unwrap_or(2 * now_ns);
    Ok(Request {
        arrival_ns: now_ns,
        rtt_ns,
        preamble,
    })
}

/// Sends packets together, resends those that are dropped, and returns when the last one arrives.
fn send_flight(
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
        now_ns += INITIAL_TIMEOUT_NS << attempt;
    }
    Err(PredictError::Stalled)
}
