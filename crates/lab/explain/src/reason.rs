//! Why a packet had to wait for another: the label of a round trip.

use link::Direction;

use crate::Part;
use crate::handshake::{self, is_handshake};
use crate::loss;
use crate::observed::{Observed, TIMER_NS};
use crate::packet::{Packet, Transport, side};
use crate::receive_window;
use crate::request::Http;

/// A sender whose congestion window is full sends when so much of it is free (RFC 5681 section 3.1).
const FREED_BYTES: u64 = 3_000;
/// Segments that a connection's congestion window holds at first (RFC 6928 section 2, Linux).
const INITIAL_WINDOW: usize = 10;
/// A client that has not sent a request yet has sent at most so much since the handshake: its Finished, HTTP/2's
/// preface, SETTINGS and WINDOW_UPDATE.
const PREFACE_BYTES: u64 = 600;
/// Every sender may have so much under way at first (RFC 3390 section 1).
const LEAST_WINDOW_BYTES: u64 = 4_380;
/// A kernel sends what it held back within this time after the acknowledgement.
const HELD_NS: u64 = 1_000_000;
/// At most so many packets are looked through for those under way, of captures without acknowledgements, too.
const SEARCHED: usize = 1_000;
/// No receiver in use gives less credit. HTTP/2's default is 65,535 bytes.
const LEAST_CREDIT_BYTES: u64 = 16_384;

/// The phase of a call in which a packet was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Handshake,
    /// The request is on its way.
    Request,
    /// The response is.
    Response,
}

impl Phase {
    fn of(seen: &Observed<'_>, number: usize, receipt: usize) -> Phase {
        let opens = seen.packet(receipt).is_syn;
        if opens || is_handshake(seen, receipt) || is_handshake(seen, number) {
            return Phase::Handshake;
        }
        let packet = seen.packet(number);
        let is_request = match packet.direction {
            Direction::Up => is_request(seen, packet),
            Direction::Down => !is_response(seen, packet),
        };
        match is_request {
            true => Phase::Request,
            false => Phase::Response,
        }
    }
}

/// Reports whether a packet from the client may carry some of the request: the server had not read all of it.
pub(crate) fn is_request(seen: &Observed<'_>, packet: &Packet) -> bool {
    let Some(read_ns) = seen.request_read_ns() else {
        // The last moment at which any of the request can have been sent.
        let until = seen.request.served.map(|served| served.written_ns);
        return until.is_none_or(|until_ns| packet.arrival_ns < until_ns);
    };
    packet.delivery_ns.unwrap_or(packet.arrival_ns) <= read_ns
}

/// Reports whether a packet from the server may carry some of the response.
pub(crate) fn is_response(seen: &Observed<'_>, packet: &Packet) -> bool {
    let served = seen.request.served;
    served.is_none_or(|served| packet.arrival_ns >= served.responded_ns.unwrap_or(served.read_ns))
}

/// Reports whether the server had sent any of the response before a packet.
pub(crate) fn has_begun(seen: &Observed<'_>, number: usize) -> bool {
    seen.previous_data(number).is_some_and(|previous| {
        let packet = seen.packet(previous);
        packet.arrival_ns >= seen.request.start_ns
            && !packet.is_syn
            && is_response(seen, packet)
            && !is_handshake(seen, previous)
    })
}

/// Reports whether the server had handed the response over long before it sent a packet, which its transport held back.
pub(crate) fn was_held_back(seen: &Observed<'_>, packet: &Packet) -> bool {
    let responded_ns = seen.request.served.and_then(|served| served.responded_ns);
    responded_ns.is_some_and(|at_ns| packet.arrival_ns > at_ns.saturating_add(TIMER_NS))
}

/// Returns why a packet's sender waited for a receipt, or `None` if it did not: its application sent the packet when
/// it did. `under_way` is the reason of the round trip that the packet ends.
pub(crate) fn reason(
    seen: &Observed<'_>,
    number: usize,
    receipt: usize,
    under_way: Part,
) -> Option<Part> {
    let packet = seen.packet(number);
    let phase = Phase::of(seen, number, receipt);
    if phase == Phase::Handshake {
        return Some(handshake::reason(seen, number, receipt, under_way));
    }
    if !packet.has_data {
        return Some(under_way);
    }
    if is_nagle(seen, number, receipt) {
        return Some(Part::Nagle);
    }
    match (packet.direction, phase) {
        (Direction::Up, Phase::Request) => of_request(seen, number, receipt),
        (Direction::Down, Phase::Response) if is_answer(seen, number, receipt) => {
            let is_request = seen.packet(receipt).has_data;
            is_request.then_some(Part::Exchange)
        }
        (Direction::Down, Phase::Response)
            if has_begun(seen, number) || was_held_back(seen, packet) =>
        {
            window(seen, number, receipt)
        }
        _ => Some(under_way),
    }
}

/// Reports whether a packet of a server that keeps no log can only have waited for the request: it is the first of the
/// response, or so little was under way before the receipt, e.g. session tickets, that no window can have been full.
fn is_answer(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    if seen.request.served.is_some() {
        return false;
    }
    let packet = seen.packet(number);
    let own = seen.own(number);
    let sent = own.sums_before(number);
    let before = own.sums_until(seen.packets, seen.request.start_ns);
    let received = seen.received(number);
    let before_receipt = received.received_before(seen.packets, seen.delivery_ns(receipt));
    let outstanding = packet.end.saturating_sub(before_receipt.acked.unwrap_or(0));
    let is_little = seen.request.http.transport() == Transport::Tcp
        && outstanding <= LEAST_WINDOW_BYTES
        && sent.bytes - before.bytes <= LEAST_CREDIT_BYTES
        && !has_lost(seen, number);
    is_little || !has_begun(seen, number)
}

/// Returns why the client waited with a part of its request.
fn of_request(seen: &Observed<'_>, number: usize, receipt: usize) -> Option<Part> {
    let is_prompt = seen.is_prompt(number, receipt);
    let has_data = seen.packet(receipt).has_data;
    if is_prompt && is_settings(seen, number, receipt) {
        return Some(Part::Settings);
    }
    let previous = seen.previous_data(number);
    let begun_ns = previous.map(|previous| seen.packet(previous).arrival_ns);
    let is_first = begun_ns.is_none_or(|at_ns| at_ns < seen.request.start_ns);
    match is_first {
        true if is_prompt && has_data && seen.request.http == Http::One => {
            Some(Part::ConnectionBusy)
        }
        true => None,
        false if seen.request.request_bytes < u64::from(longest_full_bytes(seen)) => None,
        false => window(seen, number, receipt),
    }
}

/// Returns the payload of a full segment in the direction in which it is longer.
fn longest_full_bytes(seen: &Observed<'_>) -> u16 {
    let of = [Direction::Up, Direction::Down].map(|direction| seen.full_bytes(direction));
    of[0].max(of[1])
}

/// Reports whether the client waited for the server's first frame: it has sent no more than its preface since the
/// handshake, and had received nothing.
fn is_settings(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    let Some(secured_ns) = seen.request.secured_ns else {
        return false;
    };
    let received_ns = seen.delivery_ns(receipt);
    let sent_ns = seen.packet(number).arrival_ns;
    let head_was_read = (seen.request.served).is_some_and(|served| served.read_ns < sent_ns);
    if seen.request.http != Http::Two || received_ns <= secured_ns || head_was_read {
        return false;
    }
    let own = seen.own(number);
    let sent = own.sums_before(number).bytes - own.sums_until(seen.packets, secured_ns).bytes;
    let received = seen.received(number);
    let bytes_before = |ns: u64| received.received_before(seen.packets, ns).bytes;
    let early = bytes_before(secured_ns + 1);
    let before = bytes_before(received_ns.saturating_sub(TIMER_NS));
    seen.packet(receipt).has_data && sent <= PREFACE_BYTES && before <= early
}

/// Reports whether Nagle's algorithm held a segment back (RFC 896, as Linux has it): it is short, an earlier short one
/// was not yet acknowledged, and the receipt acknowledged it. Full segments may have left in between. Those of a server,
/// which mostly has it off, must have left room in the window, which may be the reason otherwise.
fn is_nagle(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    let packet = seen.packet(number);
    let full_bytes = seen.full_bytes(packet.direction);
    let is_short = |packet: &Packet| (1..full_bytes).contains(&packet.payload_bytes);
    let is_off = seen.request.nodelay[side(packet.direction)];
    if seen.request.http.transport() != Transport::Tcp || is_off || !is_short(packet) {
        return false;
    }
    let before = (seen.received(number)).received_before(seen.packets, seen.delivery_ns(receipt));
    let acked_before = before.acked.unwrap_or(0);
    let mut earlier = under_way(seen, number, acked_before).enumerate();
    let Some((between, awaited)) = earlier.find(|(_, packet)| is_short(packet)) else {
        return false;
    };
    let has_no_other_reason =
        between == 0 || packet.direction == Direction::Up || has_room(seen, number);
    has_no_other_reason
        && (seen.packet(receipt).acked).is_some_and(|acked| acked >= awaited.end)
        && seen.is_prompt(number, receipt)
        && was_written_before(seen, packet, receipt)
}

/// Reports whether the application had written a packet's bytes before a receipt. Where no end reports it, a kernel
/// had them that sends at once on an acknowledgement without data. One that sends on data may answer them.
fn was_written_before(seen: &Observed<'_>, packet: &Packet, receipt: usize) -> bool {
    let received_ns = seen.delivery_ns(receipt);
    let is_known = seen.handed_over_ns(packet.direction);
    let is_at_once =
        seen.packet(receipt).payload_bytes == 0 && packet.arrival_ns - received_ns <= HELD_NS;
    is_at_once || is_known.is_some_and(|at_ns| at_ns < received_ns)
}

/// Returns which window the sender of a transfer waited for, or `None` if its application may have paused.
fn window(seen: &Observed<'_>, number: usize, receipt: usize) -> Option<Part> {
    let handed_over_ns = seen.handed_over_ns(seen.packet(number).direction);
    let received_ns = seen.delivery_ns(receipt);
    let waited_ns = seen.packet(number).arrival_ns - received_ns;
    let was_handed_over = handed_over_ns.is_some_and(|at_ns| at_ns <= received_ns);
    let is_prompt = seen.is_prompt(number, receipt);
    if !was_handed_over && !is_prompt {
        return None;
    }
    let app_limited = seen.was_app_limited(number, receipt);
    if let (Some(sender), Some(true)) = (seen.request.sender, app_limited) {
        // It had sent everything once, and repairs losses now.
        if was_handed_over && loss::is_reported(seen, number, receipt) {
            return Some(loss::found(seen, waited_ns));
        }
        if was_handed_over && loss::is_of_tail(seen, number) {
            return Some(Part::LossTimer);
        }
        return (sender.was_blocked && is_prompt).then_some(Part::FlowControl);
    }
    if receive_window::was_full(seen, number, receipt) {
        return Some(Part::ReceiveWindow);
    }
    let waited_for_credit = waited_for_credit(seen, number, receipt);
    // Of a server's sender less is known: one that paces holds back what its window has room for.
    let is_sure = !was_handed_over || seen.packet(number).direction == Direction::Up;
    if is_sure && !waited_for_credit && has_room(seen, number) {
        return None;
    }
    Some(match has_lost(seen, number) {
        _ if waited_for_credit => Part::FlowControl,
        true => Part::WindowAfterLoss,
        false => Part::CongestionWindow,
    })
}

/// Reports whether a sender's congestion window had room when it stopped before a packet: fewer packets were under way than
/// fill the window that it began with, and nothing has made that smaller. QUIC's acknowledgements are encrypted.
fn has_room(seen: &Observed<'_>, number: usize) -> bool {
    let (own, received) = (seen.own(number), seen.received(number));
    let is_tcp = seen.request.http.transport() == Transport::Tcp;
    // A timer that takes late packets for lost makes the window smaller, too.
    let copies = own.sums_before(number).copies;
    let lost = known_losses(seen, number) + received.sums_before(number).dropped;
    let never_shrank = copies + lost == 0;
    if !is_tcp || !never_shrank {
        return false;
    }
    let Some((last, _)) = own.before(number) else {
        return false;
    };
    let stopped_ns = seen.packet(last).arrival_ns;
    let acked = received.received_before(seen.packets, stopped_ns + 1).acked;
    let earlier = under_way(seen, number, acked.unwrap_or(0));
    earlier.take(INITIAL_WINDOW).count() < INITIAL_WINDOW
}

/// Returns the packets with data that were under way before a packet, the latest first, when its peer had acknowledged
/// so much.
fn under_way<'a>(
    seen: &'a Observed<'_>,
    number: usize,
    acked: u64,
) -> impl Iterator<Item = &'a Packet> {
    let sent = &seen.own(number).sent;
    let earlier = sent[..sent.partition_point(|&at| at < number)].iter();
    (earlier.rev().map(|&at| seen.packet(at)))
        .take(SEARCHED)
        .take_while(move |packet| packet.end > acked)
        .filter(|packet| packet.has_data)
}

/// Reports whether the sender of a packet had lost any of this call before it, and may have known.
fn has_lost(seen: &Observed<'_>, number: usize) -> bool {
    let own = seen.own(number);
    let before = own.sums_until(seen.packets, seen.request.start_ns);
    known_losses(seen, number) > before.dropped
}

/// Returns how many packets of the connection a sender had lost so long before a packet that it may have known: it learns
/// of none sooner than a round trip later.
fn known_losses(seen: &Observed<'_>, number: usize) -> usize {
    let sent_ns = seen.packet(number).arrival_ns;
    let known_ns = sent_ns.saturating_sub(seen.rtt_ns);
    seen.own(number).sums_until(seen.packets, known_ns).dropped
}

/// Reports whether a sender waited for credit of HTTP/2, which the receipt gave, and not for its congestion window.
/// Acknowledgements before the receipt had emptied its window, or freed so much of it that it would have sent. Those of
/// QUIC are encrypted.
fn waited_for_credit(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    let Some((last, sent)) = seen.own(number).before(number) else {
        return false;
    };
    let received = seen.received(number);
    let acked_before = |ns: u64| received.received_before(seen.packets, ns).acked;
    let Some(at_receipt) = acked_before(seen.delivery_ns(receipt)) else {
        return false;
    };
    let at_sending = acked_before(seen.packet(last).arrival_ns).unwrap_or(0);
    let freed = at_receipt.saturating_sub(at_sending) >= FREED_BYTES;
    let has_credit = seen.packet(receipt).payload_bytes > 0;
    has_credit && (freed || at_receipt >= sent.end)
}
