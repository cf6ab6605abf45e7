//! The packets of handshakes, and what they wait for.

use link::Direction;

use crate::Part;
use crate::observed::Observed;
use crate::packet::Transport;

/// Set in the first byte of QUIC's long headers, which its handshake uses (RFC 9000 section 17.2).
const QUIC_LONG: u8 = 0x80;
/// How many times what it received a QUIC server may send to an address that it has not validated (RFC 9000
/// section 8.1).
const AMPLIFICATION: u64 = 3;

/// Reports whether a packet belongs to a handshake of TLS or QUIC: by when that was done if either end reports it, and else
/// by its first byte.
pub(crate) fn is_handshake(seen: &Observed<'_>, number: usize) -> bool {
    let packet = seen.packet(number);
    let at_ns = packet.delivery_ns.unwrap_or(packet.left_ns);
    match (seen.request.http.transport(), seen.request.secured_ns) {
        (Transport::Quic, secured) => {
            packet.first_byte & QUIC_LONG != 0 || secured.is_some_and(|at| at_ns <= at)
        }
        (Transport::Tcp, Some(secured_ns)) => at_ns <= secured_ns,
        (Transport::Tcp, None) => {
            let last = seen.flow.last_of_tls_handshake;
            last.is_some_and(|last| number <= last)
        }
    }
}

/// Returns why a packet of a handshake waited for a receipt.
pub(crate) fn reason(seen: &Observed<'_>, number: usize, receipt: usize, under_way: Part) -> Part {
    match seen.packet(number).direction {
        // It acknowledges what the server could send.
        Direction::Up if under_way == Part::AmplificationLimit => under_way,
        Direction::Up => of_client(seen, receipt),
        Direction::Down if is_amplification(seen, number) => Part::AmplificationLimit,
        // The first flight of a handshake is not limited.
        Direction::Down if under_way == Part::AmplificationLimit => of_client(seen, receipt),
        // The client waits for it, and knows what for.
        Direction::Down => under_way,
    }
}

fn of_client(seen: &Observed<'_>, receipt: usize) -> Part {
    match seen.request.http.transport() {
        Transport::Quic => Part::QuicHandshake,
        Transport::Tcp if seen.packet(receipt).is_syn => Part::TcpHandshake,
        Transport::Tcp => Part::TlsHandshake,
    }
}

/// Reports whether a QUIC server had sent as much as it may to an address that it has not validated when it paused before
/// a packet.
fn is_amplification(seen: &Observed<'_>, number: usize) -> bool {
    let packet = seen.packet(number);
    let Some((last, sent)) = seen.own(number).before(number) else {
        return false;
    };
    if seen.request.http.transport() != Transport::Quic {
        return false;
    }
    let paused_ns = seen.packet(last).arrival_ns;
    let received = seen.received(number);
    let received = received.received_before(seen.packets, paused_ns + 1).bytes;
    sent.bytes + u64::from(packet.payload_bytes) > AMPLIFICATION * received
}
