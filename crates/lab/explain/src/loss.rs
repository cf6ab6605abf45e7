//! Repairs of losses.

use crate::Part;
use crate::observed::{Observed, TIMER_NS};
use crate::packet::{Packet, Transport};

/// A packet of QUIC is lost when so many later ones have been acknowledged (RFC 9002 section 6.1.1).
const PACKET_THRESHOLD: usize = 3;

/// Returns how long a sender waits for late packets after the acknowledgement that shows a loss: a quarter of a round
/// trip (RFC 8985 section 6.2; RFC 9002 section 6.1.2 has an eighth), and its own clock.
fn reordering_ns(seen: &Observed<'_>) -> u64 {
    TIMER_NS.max(seen.rtt_ns / 4 + 2_000_000)
}

/// Returns how the loss was found that a packet repairs, if it repairs one. `waited_ns` has passed since what its sender
/// last received, or sent.
pub(crate) fn repair(
    seen: &Observed<'_>,
    number: usize,
    previous: Option<usize>,
    waited_ns: u64,
) -> Option<Part> {
    let part = match may_be_known(seen, number) {
        true => found(seen, waited_ns),
        false => Part::LossTimer,
    };
    match seen.request.http.transport() {
        Transport::Tcp => {
            let first = seen.packet(number).first_copy?;
            match seen.packet(first).was_dropped {
                true => Some(part),
                // It had arrived, and what told of that was lost.
                false => answer_was_lost(seen, first, number).then_some(Part::LossTimer),
            }
        }
        Transport::Quic => {
            let previous = previous?;
            let paused_ns = seen.packet(number).arrival_ns - seen.packet(previous).arrival_ns;
            if paused_ns < TIMER_NS {
                return None;
            }
            if flight_was_lost(seen, number, previous) {
                return Some(part);
            }
            let is_timer = waited_ns >= TIMER_NS && answer_was_lost(seen, previous, number);
            is_timer.then_some(Part::LossTimer)
        }
    }
}

/// Returns how a loss was found that a sender repaired so long after a receipt that reported it.
pub(crate) fn found(seen: &Observed<'_>, waited_ns: u64) -> Part {
    match waited_ns > reordering_ns(seen) {
        true => Part::LossTimer,
        false => Part::LossFast,
    }
}

/// Reports whether a receipt can have shown a loss of this call that no receipt had shown before the sender last sent
/// data: of a packet between the newest that the peer had before it sent those receipts, or shortly before.
pub(crate) fn is_reported(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    let Some(previous) = seen.previous_data(number) else {
        return false;
    };
    let newest = |receipt: usize| {
        let arrived = &seen.received(receipt).delivered;
        seen.latest(arrived, seen.packet(receipt).arrival_ns, |p| p.has_data)
    };
    let receipts = &seen.received(number).delivered;
    let earlier = seen.latest(receipts, seen.packet(previous).arrival_ns, |_| true);
    let from = earlier.and_then(newest).unwrap_or(0);
    let to = newest(receipt).unwrap_or(0);
    let sent = &seen.own(number).sent;
    let first = sent.partition_point(|&at| at < from);
    let sent = &sent[first.saturating_sub(PACKET_THRESHOLD)..];
    let mut between = sent.iter().take_while(|&&at| at < to);
    between.any(|&at| was_lost(seen, seen.packet(at)))
}

/// Reports whether the last data that a packet's sender had sent before it paused was lost, so that nothing reported it.
pub(crate) fn is_of_tail(seen: &Observed<'_>, number: usize) -> bool {
    seen.previous_data(number).is_some_and(|previous| {
        let paused_ns = seen.packet(number).arrival_ns - seen.packet(previous).arrival_ns;
        paused_ns >= TIMER_NS && flight_was_lost(seen, number, previous)
    })
}

/// Reports whether acknowledgements can have told of the loss that a packet repairs. Where both ends use SACK, one must
/// have reported bytes beyond the lost ones (RFC 6675 section 4, RFC 8985 section 6.2).
fn may_be_known(seen: &Observed<'_>, number: usize) -> bool {
    let packet = seen.packet(number);
    let Some(first) = packet.first_copy.filter(|_| seen.flow.uses_sack) else {
        return true;
    };
    let received = seen.received(number);
    let received = received.received_before(seen.packets, packet.arrival_ns + 1);
    received.sacked > Some(seen.packet(first).end)
}

/// Reports whether a packet of this call with data was lost shortly before the sender paused.
fn flight_was_lost(seen: &Observed<'_>, number: usize, previous: usize) -> bool {
    let sent = &seen.own(number).sent;
    let paused_ns = seen.packet(previous).arrival_ns;
    let flight = sent[..sent.partition_point(|&at| at < number)].iter().rev();
    let flight = flight.map(|&at| seen.packet(at));
    let mut flight =
        flight.take_while(|packet| paused_ns - packet.arrival_ns.min(paused_ns) < 2 * TIMER_NS);
    flight.any(|packet| was_lost(seen, packet))
}

/// Reports whether a packet with data, sent by the other side between two of this side's, was lost.
fn answer_was_lost(seen: &Observed<'_>, from: usize, to: usize) -> bool {
    let answers = seen.received(to);
    let dropped = |number: usize| answers.sums_before(number).dropped_data;
    let before_ns = seen.request.start_ns.checked_sub(1);
    let before = before_ns.map_or(0, |ns| answers.sums_until(seen.packets, ns).dropped_data);
    dropped(to) > dropped(from).max(before)
}

fn was_lost(seen: &Observed<'_>, packet: &Packet) -> bool {
    packet.was_dropped && packet.has_data && packet.arrival_ns >= seen.request.start_ns
}
