//! The packets of a cell by connection, and the check that no connection is opened before the call that needs it.

use std::collections::BTreeMap;
use std::ops::Range;

use driver::protocol::Row;
use link::Direction;
use link::tap::{Fate, SYN, TCP, TapRecord};
use record::server_log::{ConnectionEvent, Transport};

/// The coarsest clocks of clients tick once per ms.
pub(super) const CLOCK_TICK_NS: u64 = 1_000_000;
/// A server's log may be written by the wall clock, which the audit lets step by so much within a cell.
pub(super) const LOG_CLOCK_NS: u64 = 10_000_000;
/// The type of a QUIC Initial packet. A client sends none once it has sent a Handshake packet (RFC 9000 section 17.2.2).
const INITIAL: u8 = 0xc0;
/// TCP's sequence numbers (RFC 9293 section 3.4).
const SEQUENCE_SPACE: u64 = 1 << 32;

/// The packets of a cell's connections.
#[derive(Debug, Default)]
pub struct Traffic {
    /// What the client received, in order of arrival at the link.
    received: BTreeMap<Socket, Vec<Delivery>>,
    /// What the client sent that the server received, alike.
    sent: BTreeMap<Socket, Vec<Delivery>>,
    /// Each packet that may open a connection.
    openings: BTreeMap<Socket, Vec<Opening>>,
    /// The IP version of each socket's packets.
    ip_versions: BTreeMap<Socket, u8>,
    /// By how much the wall clock, which stamps arrivals, stepped in the cell.
    clock_step_ns: u64,
}

/// A socket of the client: its transport and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Socket {
    pub(super) transport: Transport,
    pub(super) port: u16,
}

/// A packet that may open a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// Its index in the tap.
    pub(super) number: usize,
    /// When the link had it.
    pub(super) arrival_ns: u64,
}

/// A packet that was delivered.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Its index in the tap.
    pub(super) number: usize,
    /// When the link had it from the sender.
    pub(super) arrival_ns: u64,
    /// Just before the receiver's kernel had it.
    pub(super) departure_ns: u64,
    pub(super) has_payload: bool,
    /// The place of its bytes among all that were sent from the socket. QUIC shows no offsets, so each of its packets
    /// has a place of its own.
    pub(super) place: Range<u64>,
    /// The end of all places before it, in order of arrival.
    pub(super) before: u64,
}

impl Traffic {
    /// Reads the packets of a cell, which are in order of arrival.
    pub fn of(tap: &[TapRecord]) -> Traffic {
        let mut traffic = Traffic::default();
        let (mut ends_up, mut ends_down) = (BTreeMap::new(), BTreeMap::new());
        for (number, packet) in tap.iter().enumerate() {
            let transport = match packet.protocol {
                TCP => Transport::Tcp,
                _ => Transport::Quic,
            };
            let up = packet.direction == Direction::Up;
            let port = if up { packet.src_port } else { packet.dst_port };
            let socket = Socket { transport, port };
            let opens = match transport {
                Transport::Tcp => packet.tcp_flags & SYN != 0,
                Transport::Quic => packet.quic_type() == Some(INITIAL),
            };
            if up && opens {
                let openings = traffic.openings.entry(socket);
                openings.or_default().push(Opening {
                    number,
                    arrival_ns: packet.arrival_ns,
                });
                traffic.ip_versions.insert(socket, packet.ip_version);
            }
            if packet.fate != Fate::Delivered {
                continue;
            }
            let (delivered, ends) = match up {
                true => (&mut traffic.sent, &mut ends_up),
                false => (&mut traffic.received, &mut ends_down),
            };
            let end: &mut u64 = ends
                .entry(socket)
                .or_insert(SEQUENCE_SPACE + u64::from(packet.seq));
            let before = *end;
            let place = match transport {
                Transport::Tcp => tcp_place(packet, before),
                Transport::Quic => before..before + u64::from(packet.payload_bytes),
            };
            *end = before.max(place.end);
            delivered.entry(socket).or_default().push(Delivery {
                number,
                has_payload: packet.payload_bytes > 0,
                arrival_ns: packet.arrival_ns,
                departure_ns: packet.departure_ns,
                place,
                before,
            });
        }
        traffic
    }

    /// Sets by how much the wall clock stepped in the cell. The kernel stamps arrivals by that clock, so they may seem
    /// so much earlier than they were.
    pub fn with_clock_step(self, clock_step_ns: u64) -> Traffic {
        Traffic {
            clock_step_ns,
            ..self
        }
    }

    /// Returns the earliest stamp of a packet that arrived at a time or later.
    pub(super) fn earliest_stamp(&self, arrival_ns: u64) -> u64 {
        arrival_ns.saturating_sub(self.clock_step_ns)
    }

    /// Returns the earliest stamp of a packet that arrived after the start of a row's call.
    pub(super) fn earliest_since(&self, row: &Row) -> u64 {
        self.earliest_stamp(row.start_ns.saturating_sub(CLOCK_TICK_NS))
    }

    /// Returns the sockets whose connections the server answered, with their IP version.
    pub(super) fn answered(&self) -> impl Iterator<Item = (Socket, u8)> {
        let opened = self.ip_versions.iter();
        opened
            .filter(|(socket, _)| self.received.contains_key(socket))
            .map(|(socket, version)| (*socket, *version))
    }

    /// Returns when the server first had packets of QUIC from a port that had opened no connection: one had moved there
    /// (RFC 9000 section 9). Which one did is encrypted.
    pub fn quic_moves(&self) -> impl Iterator<Item = u64> {
        self.sent.iter().filter_map(|(socket, packets)| {
            let first_ns = packets.first()?.arrival_ns;
            let opened = self.openings(*socket).first();
            let is_move = opened.is_none_or(|opening| opening.arrival_ns > first_ns);
            (socket.transport == Transport::Quic && is_move).then_some(first_ns)
        })
    }

    /// Returns the packets of a socket that may open a connection.
    pub(super) fn openings(&self, socket: Socket) -> &[Opening] {
        self.openings.get(&socket).map_or(&[][..], Vec::as_slice)
    }

    /// Returns whether the client received anything over this transport between two times.
    pub(super) fn has_received(&self, transport: Transport, from_ns: u64, to_ns: u64) -> bool {
        let mut over = self
            .received
            .iter()
            .filter(|(s, _)| s.transport == transport);
        let within =
            |p: &Delivery| p.departure_ns >= from_ns && p.departure_ns <= to_ns + CLOCK_TICK_NS;
        over.any(|(_, packets)| packets.iter().any(within))
    }

    /// Checks that the first packet of a connection does not precede the call that opened it.
    /// `previous_ns` is when the handshake of an earlier connection from the same port had
    /// completed; 0 for none.
    pub(super) fn check_opening(
        &self,
        row: &Row,
        connection: &ConnectionEvent,
        previous_ns: u64,
    ) -> Result<(), String> {
        let openings = self.openings(Socket::of(connection));
        let opening = openings.iter().find(|o| o.arrival_ns > previous_ns);
        match opening {
            Some(opening) if opening.arrival_ns < self.earliest_since(row) => Err(format!(
                "call {}: the driver claims to have opened its connection, whose first packet, packet {}, \
                 crossed the link {} µs before the driver's start",
                row.id,
                opening.number,
                (row.start_ns - opening.arrival_ns) / 1000
            )),
            _ => Ok(()),
        }
    }

    /// Returns what a connection received on the socket that opened it and, over QUIC, on every other until that opened
    /// one. A QUIC connection may move to another port (RFC 9000, section 9), which another may use later.
    pub(super) fn received_on(&self, opened: Socket) -> impl Iterator<Item = &[Delivery]> {
        self.on(&self.received, opened)
    }

    /// Returns what a connection sent that the server received, alike.
    pub(super) fn sent_on(&self, opened: Socket) -> impl Iterator<Item = &[Delivery]> {
        self.on(&self.sent, opened)
    }

    fn on<'a>(
        &'a self,
        packets: &'a BTreeMap<Socket, Vec<Delivery>>,
        opened: Socket,
    ) -> impl Iterator<Item = &'a [Delivery]> {
        let of_connection = move |(&socket, packets): (&Socket, &'a Vec<Delivery>)| {
            if socket == opened {
                return Some(packets.as_slice());
            }
            let over_quic = [opened, socket].map(|s| s.transport) == [Transport::Quic; 2];
            let until_ns = (self.openings(socket).first()).map_or(u64::MAX, |o| o.arrival_ns);
            let moved = packets.partition_point(|packet| packet.arrival_ns < until_ns);
            over_quic.then(|| &packets[..moved])
        };
        packets.iter().filter_map(of_connection)
    }
}

impl Socket {
    pub(super) fn of(connection: &ConnectionEvent) -> Socket {
        Socket {
            transport: connection.transport,
            port: connection.peer_port,
        }
    }
}

/// Returns by how many µs a time is after the start of a row's call.
pub(super) fn micros_after_start(row: &Row, ns: u64) -> i64 {
    ns.wrapping_sub(row.start_ns) as i64 / 1_000
}

/// Returns the place of a segment's bytes, where `end` is that of all before. A SYN begins another connection, whose places
/// are all beyond.
fn tcp_place(packet: &TapRecord, end: u64) -> Range<u64> {
    let start = match packet.tcp_flags & SYN {
        // Sequence numbers wrap: half of the space is behind, half ahead (RFC 9293, 3.4).
        0 => end.saturating_add_signed(i64::from(packet.seq.wrapping_sub(end as u32) as i32)),
        _ => (end / SEQUENCE_SPACE + 2) * SEQUENCE_SPACE + u64::from(packet.seq),
    };
    start..start + u64::from(packet.sequence_length())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::tests::{connection, row};
    use super::*;
    use link::tap::UDP;
    use record::server_log::ServerEvent;

    pub(crate) const MS: u64 = 1_000_000;
    pub(crate) const PORT: u16 = 4000;

    pub(crate) fn packet(arrival_ms: u64, protocol: u8, seq: u32, bytes: u16) -> TapRecord {
        TapRecord {
            arrival_ns: arrival_ms * MS,
            departure_ns: (arrival_ms + 10) * MS,
            seq,
            ack: 0,
            ip_bytes: bytes + 40,
            src_port: 443,
            dst_port: PORT,
            payload_bytes: bytes,
            protocol,
            tcp_flags: 0,
            first_byte: 0,
            direction: Direction::Down,
            fate: Fate::Delivered,
            ip_version: 4,
            ecn: 0,
            stray: false,
            window: 0,
            options: Default::default(),
        }
    }

    pub(crate) fn from(peer_port: u16, transport: Transport) -> ConnectionEvent {
        let ServerEvent::Connection(event) = connection() else {
            unreachable!()
        };
        ConnectionEvent {
            peer_port,
            transport,
            ..event
        }
    }

    #[test]
    fn quic_from_a_port_that_opened_no_connection_has_moved_there() {
        let up = |arrival_ms, port, protocol, first_byte| TapRecord {
            direction: Direction::Up,
            src_port: port,
            dst_port: 443,
            first_byte,
            ..packet(arrival_ms, protocol, 0, 100)
        };
        let lost = TapRecord {
            fate: Fate::Dropped(link::Cause::Queue),
            ..up(5, 1, UDP, INITIAL)
        };
        let tap = [
            lost,
            up(10, 1, UDP, 0x40),
            up(20, 2, UDP, 0x40),
            up(30, 2, UDP, INITIAL),
            up(40, 3, UDP, 0x40),
            up(50, 4, TCP, 0),
        ];
        let moves: Vec<u64> = Traffic::of(&tap).quic_moves().collect();
        assert_eq!(moves, [20 * MS, 40 * MS]);
    }

    #[test]
    fn a_connection_is_not_opened_before_its_call() {
        let up = |arrival_ms: u64, protocol: u8, tcp_flags: u8, first_byte: u8| TapRecord {
            direction: Direction::Up,
            src_port: PORT,
            dst_port: 443,
            tcp_flags,
            first_byte,
            ..packet(arrival_ms, protocol, 0, 0)
        };
        let tap = [up(10, TCP, SYN, 0), up(30, TCP, 0, 0x16)];
        let check = |tap: &[TapRecord], transport, previous_ms, start_ms| {
            let row = row(1, start_ms * MS);
            Traffic::of(tap).check_opening(&row, &from(PORT, transport), previous_ms * MS)
        };
        check(&tap, Transport::Tcp, 0, 11).unwrap();
        let error = check(&tap, Transport::Tcp, 0, 12).unwrap_err();
        assert!(
            error.contains("2000 µs before the driver's start"),
            "{error}"
        );
        // A second connection from the port of the first, as QUIC libraries make them; with early data its first byte may
        // lack the fixed bit (RFC 9287).
        for initial in [0xc3, 0x8b] {
            let tap = [
                up(10, UDP, 0, 0xc3),
                up(20, UDP, 0, 0x43),
                up(50, UDP, 0, initial),
            ];
            check(&tap, Transport::Quic, 15, 50).unwrap();
            check(&tap, Transport::Quic, 15, 60).unwrap_err();
            check(&tap, Transport::Quic, 0, 50).unwrap_err();
        }
    }
}
