//! TCP's receive window: whether it held a sender back (RFC 9293 section 3.8.6).

use crate::observed::Observed;
use crate::packet::Packet;

/// A sender may handle acknowledgements together that come within this time.
const TOGETHER_NS: u64 = 1_000_000;

/// Reports whether the peer's receive window was full until a receipt, which opened it. Full is a window with too little
/// room for the next new segment (section 3.8.6.2.1). Without both SYNs the scale of windows is unknown: then none is.
pub(crate) fn was_full(seen: &Observed<'_>, number: usize, receipt: usize) -> bool {
    let before_ns = seen.delivery_ns(receipt).saturating_sub(1);
    let together_ns = before_ns.saturating_sub(TOGETHER_NS);
    [before_ns, together_ns]
        .into_iter()
        .any(|ns| was_full_at(seen, number, ns))
}

/// Reports whether the next new segment after a time, which is no later than this packet, did not fit then, and was sent
/// once it did.
fn was_full_at(seen: &Observed<'_>, number: usize, ns: u64) -> bool {
    let (own, received) = (seen.own(number), seen.received(number));
    let edge_at = |ns: u64| received.received_before(seen.packets, ns + 1).edge;
    let sent_end = own.sums_until(seen.packets, ns).end;
    let [begin, end] = [
        own.sent
            .partition_point(|&at| seen.packet(at).arrival_ns <= ns),
        own.sent.partition_point(|&at| at <= number),
    ];
    let mut later = own.sent[begin..end].iter().map(|&at| seen.packet(at));
    let next = later.find(|packet| packet.end > sent_end);
    let (Some(next), Some(edge)) = (next, edge_at(ns)) else {
        return false;
    };
    next.end > edge && Some(next.end) <= edge_at(next.arrival_ns)
}

/// Reports whether a packet probes a window that is full (section 3.8.6.1).
pub(crate) fn is_probe(seen: &Observed<'_>, number: usize) -> bool {
    let packet = seen.packet(number);
    let known = (seen.received(number)).received_before(seen.packets, packet.arrival_ns + 1);
    let sent = seen.own(number).sums_before(number);
    packet.payload_bytes <= 1 && known.edge.is_some_and(|edge| edge <= sent.end)
}

/// Returns the data that a receiver had not read for so long that its window was full, if a packet is the update that
/// opened it. `None` if a probe asked for the update.
pub(crate) fn unread_before(seen: &Observed<'_>, number: usize) -> Option<usize> {
    let packet = seen.packet(number);
    let (previous, _) = seen.own(number).before(number)?;
    let previous = seen.packet(previous);
    let is_update =
        packet.payload_bytes == 0 && packet.acked == previous.acked && packet.edge > previous.edge;
    let received = &seen.received(number).delivered;
    let is_read = |data: &Packet| data.payload_bytes > 0 && Some(data.end) <= packet.acked;
    let data = seen.latest(received, packet.arrival_ns, is_read)?;
    let last = seen.latest(received, packet.arrival_ns, |_| true)?;
    let is_asked_for = last != data && seen.is_prompt(number, last);
    (is_update && !is_asked_for).then_some(data)
}
