//! The admission of arriving frames: each is counted, recorded and, if the link carries it, stored.

use link::tap::{Fate, TapRecord};
use link::{Direction, Packet, Transport};

use super::frame::{self, ETHERNET_LEN, Parsed};
use super::ledger::{PacketLedger, STRAY, transport_index};
use super::nat::Inbound;
use super::ring::Received;
use super::slab::{FrameMeta, Slab};

/// What is known of a frame when it arrives.
pub(crate) struct Arrival {
    pub(crate) at_ns: u64,
    pub(crate) direction: Direction,
    /// Names the client by its own port.
    pub(crate) parsed: Parsed,
    /// What the NAT does to it.
    pub(crate) inbound: Option<Inbound>,
    /// It comes from or goes to an address that the client has left.
    pub(crate) is_left: bool,
    /// The number of its flow.
    pub(crate) flow: Option<u32>,
}

/// Counts a frame and stores it, if it is a single packet that fits the link and that neither the NAT nor a move of the
/// client keeps from it.
pub(crate) fn admit(
    frame: &Received<'_>,
    arrival: &Arrival,
    mtu: u32,
    slab: &mut Slab,
    ledger: &mut PacketLedger,
) -> Option<Packet> {
    let &Arrival {
        at_ns: arrival_ns,
        direction,
        parsed,
        inbound,
        is_left,
        flow,
    } = arrival;
    let ip_bytes = frame.wire_len.saturating_sub(ETHERNET_LEN) as u32;
    let stray = flow.is_none() && parsed.transport != Transport::Other;
    let class = if stray {
        STRAY
    } else {
        transport_index(parsed.transport)
    };
    ledger.sent[class].add(ip_bytes);
    ledger.foreign_frames += u64::from(parsed.foreign);
    let record = ledger.record(TapRecord {
        arrival_ns,
        departure_ns: 0,
        seq: parsed.seq,
        ack: parsed.ack,
        ip_bytes: u16::try_from(ip_bytes).unwrap_or(u16::MAX),
        src_port: parsed.src_port,
        dst_port: parsed.dst_port,
        payload_bytes: parsed.payload_bytes,
        protocol: parsed.protocol,
        tcp_flags: parsed.tcp_flags,
        first_byte: parsed.first_byte,
        direction,
        fate: Fate::InFlight,
        ip_version: parsed.ip_version,
        ecn: parsed.ecn,
        stray,
        window: parsed.window,
        options: parsed.options,
    });
    let refuse = |ledger: &mut PacketLedger| {
        ledger.oversize_frames += 1;
        ledger.complete(record, arrival_ns, Fate::Refused);
        None
    };
    if frame.offload.segments || ip_bytes > mtu || frame.bytes.len() < frame.wire_len {
        return refuse(ledger);
    }
    let meta = FrameMeta {
        len: 0,
        record,
        ip_bytes,
        class,
        client_port: inbound.map(|inbound| inbound.client_port),
    };
    let Some(token) = slab.insert(frame.bytes, meta) else {
        return refuse(ledger);
    };
    if let Some((start, offset)) = frame.offload.checksum {
        frame::complete_checksum(slab.bytes_mut(token), start, offset);
    }
    if let Some(frames) = &mut ledger.frames {
        frames.push(arrival_ns, false, slab.bytes(token));
    }
    if is_left || inbound.is_some_and(|inbound| inbound.over) {
        if stray {
            ledger.stray_dropped += 1;
        } else {
            ledger.unmapped += 1;
        }
        ledger.complete(record, arrival_ns, Fate::Unmapped);
        slab.remove(token);
        return None;
    }
    Some(Packet {
        token,
        ip_bytes,
        transport: parsed.transport,
        src_port: parsed.src_port,
        dst_port: parsed.dst_port,
        flow,
    })
}
