//! Why a packet had to wait for another: the label of a round trip.

use link::Direction;

use crate::Part;
use crate::packet::{Packet, Transport, side};
use crate::request::Observed;

/// The first byte of a TLS record with handshake messages (RFC 8446 section 5.1).
const TLS_HANDSHAKE: u8 = 22;
/// Set in the first byte of QUIC's long headers, which its handshake uses (RFC 9000 section 17.2).
const QUIC_LONG: u8 = 0x80;
/// A segment of this payload or more is full on links with the usual MTU.
const FULL_SEGMENT_BYTES: u16 = 1_300;
/// A sender whose congestion window is full sends when so much of it is free (RFC 5681 section 3.1).
const FREED_BYTES: u64 = 3_000;
/// How many times what it received a QUIC server may send to an address that it has not validated (RFC 9000
/// section 8.1).
const AMPLIFICATION: u64 = 3;

/// The phase of a call in which a packet is sent on a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Handshake,
    /// The request is on its way.
    Request,
    /// The response is.
    Response,
}

impl Phase {
    /// Returns the phase in which a packet was sent on a receipt.
    pub(crate) fn of(seen: &Observed<'_>, number: usize, receipt: usize) -> Phase {
        let (packet, receipt) = (&seen.packets[number], &seen.packets[receipt]);
        if packet.is_syn
            || receipt.is_syn
            || is_handshake(seen, receipt)
            || is_handshake(seen, packet)
        {
            return Phase::Handshake;
        }
        match seen.request.server_ns {
            Some((read_ns, _)) if packet.arrival_ns >= read_ns => Phase::Response,
            Some(_) => Phase::Request,
            None if packet.direction == Direction::Down => Phase::Response,
            None => Phase::Request,
        }
    }
}

/// Reports whether a packet belongs to a handshake of TLS or QUIC, by the client's own time if it tells. Over TCP
/// the first packet of a flight looks like one, but so can any other.
fn is_handshake(seen: &Observed<'_>, packet: &Packet) -> bool {
    let secured = seen.request.secured_ns;
    let looks = match seen.request.transport {
        Transport::Tcp => secured.is_none() && packet.first_byte == TLS_HANDSHAKE,
        Transport::Quic => packet.first_byte & QUIC_LONG != 0,
    };
    let at_ns = packet.delivery_ns.unwrap_or(packet.left_ns);
    let is_early = secured.is_some_and(|secured_ns| at_ns <= secured_ns);
    seen.request.opens && (looks && packet.payload_bytes > 0 || is_early)
}

/// Reports whether Nagle's algorithm held a segment back (RFC 896): it is short, an earlier short one was not yet
/// acknowledged, and the receipt acknowledged it.
pub(crate) fn is_nagle(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    let packet = &seen.packets[number];
    let is_short = |packet: &Packet| (1..FULL_SEGMENT_BYTES).contains(&packet.payload_bytes);
    let is_off = seen.request.nodelay[side(packet.direction)];
    if seen.request.transport != Transport::Tcp || is_off || !is_short(packet) {
        return false;
    }
    let own = &seen.flow.side(packet.direction).sent;
    let earlier = own[..own.partition_point(|&at| at < number)].iter().rev();
    let mut earlier = earlier.map(|&at| &seen.packets[at]);
    let Some(previous) = earlier.find(|earlier| earlier.payload_bytes > 0) else {
        return false;
    };
    let is_acked = |acked: Option<u64>| acked.is_some_and(|acked| acked >= previous.end);
    let received = seen.flow.other_side(packet.direction);
    let (before, _) = received.received_before(seen.packets, seen.delivery_ns(receipt));
    is_short(previous)
        && is_acked(seen.packets[receipt].acked)
        && !is_acked(before)
        && was_written_before(seen, packet, receipt)
}

/// Reports whether the application had written a packet's bytes before a receipt. A client that sends on an
/// acknowledgement without data had written before; one that sends on data may answer them.
fn was_written_before(seen: &Observed<'_>, packet: &Packet, receipt: usize) -> bool {
    let written_ns = match packet.direction {
        Direction::Up => seen.request.sent_ns,
        Direction::Down => seen.request.server_ns.map(|(_, written_ns)| written_ns),
    };
    match seen.packets[receipt].payload_bytes {
        0 => true,
        _ => written_ns.is_some_and(|at_ns| at_ns < seen.delivery_ns(receipt)),
    }
}

/// Returns why the client waited for a receipt.
pub(crate) fn of_client(
    seen: &Observed<'_>,
    phase: Phase,
    number: usize,
    receipt: usize,
    under_way: Part,
) -> Part {
    match phase {
        // It acknowledges what the server could send.
        Phase::Handshake if under_way == Part::AmplificationLimit => under_way,
        Phase::Handshake => handshake(seen, number, receipt),
        Phase::Response => under_way,
        Phase::Request => {
            let received = &seen.packets[receipt];
            let uploaded = seen.request.request_bytes >= u64::from(FULL_SEGMENT_BYTES);
            match waited_for_credit(seen, number, receipt) {
                _ if !uploaded && received.has_data(seen.request.transport) => Part::Settings,
                Some(true) => Part::FlowControl,
                Some(false) => window(seen, number),
                None if uploaded => window(seen, number),
                None => Part::Unexplained,
            }
        }
    }
}

/// Returns why the server waited for a receipt.
pub(crate) fn of_server(
    seen: &Observed<'_>,
    phase: Phase,
    number: usize,
    receipt: usize,
    under_way: Part,
) -> Part {
    match phase {
        Phase::Handshake if is_amplification(seen, number, receipt) => Part::AmplificationLimit,
        // The first flight of a handshake is not limited.
        Phase::Handshake if under_way == Part::AmplificationLimit => {
            handshake(seen, number, receipt)
        }
        // The client waits for it, and knows what for.
        Phase::Handshake | Phase::Request => under_way,
        Phase::Response if !has_begun(seen, number) => under_way,
        Phase::Response => match waited_for_credit(seen, number, receipt) {
            Some(true) => Part::FlowControl,
            _ => window(seen, number),
        },
    }
}

/// Reports whether the server had sent anything of this call's response before a packet.
fn has_begun(seen: &Observed<'_>, number: usize) -> bool {
    let own = &seen.flow.side(Direction::Down).sent;
    let earlier = own[..own.partition_point(|&at| at < number)].iter().rev();
    let earlier = earlier.map(|&at| &seen.packets[at]);
    let mut of_call = earlier.take_while(|packet| packet.arrival_ns >= seen.request.start_ns);
    of_call.any(|packet| packet.has_data(seen.request.transport) && !is_handshake(seen, packet))
}

/// Returns the congestion window as the reason, which may have been reduced.
fn window(seen: &Observed<'_>, number: usize) -> Part {
    let own = seen.flow.side(seen.packets[number].direction);
    match own.before(number).is_some_and(|(_, sent)| sent.dropped > 0) {
        true => Part::WindowAfterLoss,
        false => Part::CongestionWindow,
    }
}

fn handshake(seen: &Observed<'_>, number: usize, receipt: usize) -> Part {
    let opens = seen.packets[number].is_syn || seen.packets[receipt].is_syn;
    match seen.request.transport {
        Transport::Quic => Part::QuicHandshake,
        Transport::Tcp if opens => Part::TcpHandshake,
        Transport::Tcp => Part::TlsHandshake,
    }
}

/// Reports whether a sender waited for credit, which the receipt gave, and not for its congestion window; `None` over
/// QUIC, whose acknowledgements are encrypted. Acknowledgements before the receipt had emptied its window, or freed so
/// much of it that it would have sent.
fn waited_for_credit(seen: &Observed<'_>, number: usize, receipt: usize) -> Option<bool> {
    let packet = &seen.packets[number];
    if seen.request.transport != Transport::Tcp {
        return None;
    }
    let (last, sent) = seen.flow.side(packet.direction).before(number)?;
    let received = seen.flow.other_side(packet.direction);
    let acked_before = |ns: u64| received.received_before(seen.packets, ns).0;
    let at_receipt = acked_before(seen.delivery_ns(receipt))?;
    let at_sending = acked_before(seen.packets[last].arrival_ns).unwrap_or(0);
    let freed = at_receipt.saturating_sub(at_sending) >= FREED_BYTES;
    let has_credit = seen.packets[receipt].payload_bytes > 0;
    Some(has_credit && (freed || at_receipt >= sent.end))
}

/// Reports whether a QUIC server had sent as much as it may to an address that it has not validated, until the receipt.
fn is_amplification(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    let packet = &seen.packets[number];
    if seen.request.transport != Transport::Quic {
        return false;
    }
    let received_ns = seen.delivery_ns(receipt);
    let (_, received) = (seen.flow.side(Direction::Up)).received_before(seen.packets, received_ns);
    let sent = seen.flow.side(Direction::Down).before(number);
    sent.is_some_and(|(_, sent)| {
        received > 0 && sent.bytes + u64::from(packet.payload_bytes) > AMPLIFICATION * received
    })
}
