//! Checks a driver's times against the packets of its connections: no connection is opened before
//! the call that needs it, and no response is complete before it has crossed the link.

use std::collections::BTreeMap;

use driver::protocol::Row;
use link::Direction;
use link::tap::{Fate, SYN, TCP, TapRecord};
use record::server_log::{ConnectionEvent, RequestEvent, Transport};

/// The coarsest clocks of clients tick once per ms.
pub(super) const CLOCK_TICK_NS: u64 = 1_000_000;
/// The first byte of a QUIC Initial packet, whose low half is protected (RFC 9000 section 17.2.2). A
/// client sends none once it has sent a Handshake packet.
const INITIAL: u8 = 0xc0;

/// The packets of a cell's connections.
#[derive(Debug, Default)]
pub struct Traffic {
    /// What the client received, in order of arrival at the link.
    received: BTreeMap<Socket, Vec<Delivery>>,
    /// What the client sent that the server received, alike.
    sent: BTreeMap<Socket, Vec<Delivery>>,
    /// When the link had each packet that may open a connection.
    openings: BTreeMap<Socket, Vec<u64>>,
    /// The IP version of each socket's packets.
    ip_versions: BTreeMap<Socket, u8>,
}

/// A socket of the client: its transport and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Socket {
    pub(super) transport: Transport,
    pub(super) port: u16,
}

#[derive(Debug)]
struct Delivery {
    /// When the link had it from the server.
    arrival_ns: u64,
    /// When the client's kernel had it.
    departure_ns: u64,
    /// Bytes of payload that no earlier packet had; over QUIC, which shows no offsets, all bytes.
    new_bytes: u64,
}

impl Traffic {
    /// Reads the packets of a cell, which are in order of arrival.
    pub fn of(tap: &[TapRecord]) -> Traffic {
        let mut traffic = Traffic::default();
        let (mut highest_up, mut highest_down) = (BTreeMap::new(), BTreeMap::new());
        for packet in tap {
            let transport = match packet.protocol {
                TCP => Transport::Tcp,
                _ => Transport::Quic,
            };
            let up = packet.direction == Direction::Up;
            let port = if up { packet.src_port } else { packet.dst_port };
            let socket = Socket { transport, port };
            let opens = match transport {
                Transport::Tcp => packet.tcp_flags & SYN != 0,
                Transport::Quic => packet.first_byte & 0xf0 == INITIAL,
            };
            if up && opens {
                let openings = traffic.openings.entry(socket);
                openings.or_default().push(packet.arrival_ns);
                traffic.ip_versions.insert(socket, packet.ip_version);
            }
            if packet.fate != Fate::Delivered {
                continue;
            }
            let (delivered, highest) = match up {
                true => (&mut traffic.sent, &mut highest_up),
                false => (&mut traffic.received, &mut highest_down),
            };
            let new_bytes = match transport {
                Transport::Tcp => new_tcp_bytes(packet, highest.entry(port).or_insert(packet.seq)),
                Transport::Quic => u64::from(packet.payload_bytes),
            };
            delivered.entry(socket).or_default().push(Delivery {
                arrival_ns: packet.arrival_ns,
                departure_ns: packet.departure_ns,
                new_bytes,
            });
        }
        traffic
    }

    /// Returns the sockets whose connections the server answered, with their IP version.
    pub(super) fn answered(&self) -> impl Iterator<Item = (Socket, u8)> {
        let opened = self.ip_versions.iter();
        opened
            .filter(|(socket, _)| self.received.contains_key(socket))
            .map(|(socket, version)| (*socket, *version))
    }

    /// Returns when the link had the packets of a socket that may open a connection.
    pub(super) fn openings(&self, socket: Socket) -> &[u64] {
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

    /// Checks that the bytes of a call's request and response crossed the link while it ran. Those of other
    /// calls on the connection count, too.
    pub(super) fn check_bytes(&self, row: &Row, socket: Socket) -> Result<(), String> {
        let from_ns = row.start_ns.saturating_sub(CLOCK_TICK_NS);
        // The user's own server may compress, and many clients decompress by themselves.
        let hint = "; where its client decompresses by itself, set headers = { accept-encoding = \"identity\" }";
        for (packets, bytes, what, hint) in [
            (&self.sent, row.request_bytes, "request", ""),
            (&self.received, row.response_bytes, "response", hint),
        ] {
            let packets = packets.get(&socket).map_or(&[][..], Vec::as_slice);
            let delivered = delivered_bytes(packets, from_ns, row.end_ns);
            if delivered < bytes {
                return Err(format!(
                    "call {}: by the driver's end, the link had delivered {delivered} B of its {what} of \
                     {bytes} B{hint}",
                    row.id
                ));
            }
        }
        Ok(())
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
        let opened_ns = openings.iter().find(|&&at_ns| at_ns > previous_ns);
        match opened_ns {
            Some(&at_ns) if at_ns + CLOCK_TICK_NS < row.start_ns => Err(format!(
                "call {}: the driver claims to have opened its connection, whose first packet \
                 crossed the link {} µs before the driver's start",
                row.id,
                (row.start_ns - at_ns) / 1000
            )),
            _ => Ok(()),
        }
    }

    /// Checks that by `row.end_ns` the client had received at least as many new bytes since the
    /// server saw the request as the response's body has. Other responses on the connection count,
    /// too, so a driver with requests in parallel may still be wrong by their bytes.
    pub(super) fn check_end(
        &self,
        row: &Row,
        hit: &RequestEvent,
        connection: &ConnectionEvent,
    ) -> Result<(), String> {
        let received: u64 = self
            .received_on(Socket::of(connection))
            .map(|packets| delivered_bytes(packets, hit.start_ns, row.end_ns))
            .sum();
        if received < row.response_bytes {
            return Err(format!(
                "call {}: by the driver's end, the link had delivered {received} B of its response \
                 of {} B",
                row.id, row.response_bytes
            ));
        }
        Ok(())
    }

    /// Returns what a connection received on the socket that opened it and, over QUIC, on those that opened none. A
    /// QUIC connection may move to another port (RFC 9000, section 9).
    fn received_on(&self, opened: Socket) -> impl Iterator<Item = &[Delivery]> {
        let moved = move |socket: &Socket| {
            let over_quic = [opened, *socket].map(|s| s.transport) == [Transport::Quic; 2];
            over_quic && !self.openings.contains_key(socket)
        };
        let all = self.received.iter();
        all.filter(move |(socket, _)| **socket == opened || moved(socket))
            .map(|(_, packets)| packets.as_slice())
    }
}

impl Socket {
    fn of(connection: &ConnectionEvent) -> Socket {
        Socket {
            transport: connection.transport,
            port: connection.peer_port,
        }
    }
}

/// Returns the new bytes that came to the link from `from_ns` on and left it until `end_ns`.
fn delivered_bytes(packets: &[Delivery], from_ns: u64, end_ns: u64) -> u64 {
    let from = packets.partition_point(|p| p.arrival_ns < from_ns);
    let end_ns = end_ns + CLOCK_TICK_NS;
    // A packet departs after it has arrived, so none behind these counts.
    (packets[from..].iter())
        .take_while(|p| p.arrival_ns <= end_ns)
        .filter(|p| p.departure_ns <= end_ns)
        .map(|p| p.new_bytes)
        .sum()
}

/// Returns by how much a segment goes beyond all earlier ones of its connection, `highest`. A gap counts
/// with the segment behind it, so the sum is never less than what was delivered.
fn new_tcp_bytes(packet: &TapRecord, highest: &mut u32) -> u64 {
    let end = packet.seq.wrapping_add(packet.sequence_length());
    let beyond = end.wrapping_sub(*highest);
    // Sequence numbers wrap: half of the space is behind, half ahead (RFC 9293, 3.4).
    if beyond >= 1 << 31 {
        return 0;
    }
    *highest = end;
    u64::from(beyond)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{connection, request, row};
    use super::*;
    use record::server_log::ServerEvent;

    const MS: u64 = 1_000_000;
    const PORT: u16 = 4000;

    fn packet(arrival_ms: u64, protocol: u8, seq: u32, bytes: u16) -> TapRecord {
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

    fn check(tap: &[TapRecord], transport: Transport, end_ms: u64) -> Result<(), String> {
        let ServerEvent::Request(hit) = request(1, 20 * MS) else {
            unreachable!()
        };
        let row = Row {
            start_ns: 5 * MS,
            end_ns: end_ms * MS,
            response_bytes: 2_000,
            ..row(1, 5 * MS)
        };
        Traffic::of(tap).check_end(&row, &hit, &from(PORT, transport))
    }

    #[test]
    fn a_connection_over_quic_may_have_moved_to_another_port() {
        use link::tap::UDP;
        let elsewhere = |protocol| TapRecord {
            dst_port: PORT + 1,
            ..packet(30, protocol, 0, 2_000)
        };
        check(&[elsewhere(UDP)], Transport::Quic, 60).unwrap();
        check(&[elsewhere(TCP)], Transport::Tcp, 60).unwrap_err();
        // It is another connection's.
        let opens = TapRecord {
            direction: Direction::Up,
            src_port: PORT + 1,
            first_byte: INITIAL,
            ..packet(1, UDP, 0, 1_200)
        };
        check(&[opens, elsewhere(UDP)], Transport::Quic, 60).unwrap_err();
    }

    fn from(peer_port: u16, transport: Transport) -> ConnectionEvent {
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
        // A second connection from the port of the first, as QUIC libraries make them.
        let tap = [
            up(10, 17, 0, 0xc3),
            up(20, 17, 0, 0x43),
            up(50, 17, 0, 0xc3),
        ];
        check(&tap, Transport::Quic, 15, 50).unwrap();
        check(&tap, Transport::Quic, 15, 60).unwrap_err();
        check(&tap, Transport::Quic, 0, 50).unwrap_err();
    }

    #[test]
    fn a_response_is_complete_when_its_bytes_have_arrived() {
        let tap = [
            packet(10, TCP, 0, 3_000),
            packet(21, TCP, 3_000, 1_000),
            packet(30, TCP, 4_000, 1_000),
        ];
        check(&tap, Transport::Tcp, 40).unwrap();
        check(&tap, Transport::Tcp, 39).unwrap();
        let error = check(&tap, Transport::Tcp, 38).unwrap_err();
        assert!(
            error.contains("had delivered 1000 B of its response of 2000 B"),
            "{error}"
        );
        check(&tap, Transport::Quic, 40).unwrap_err();
        let udp = tap.map(|p| TapRecord { protocol: 17, ..p });
        check(&udp, Transport::Quic, 40).unwrap();
    }

    #[test]
    fn retransmitted_bytes_are_not_new() {
        let tap = [
            packet(21, TCP, u32::MAX - 499, 1_000),
            packet(22, TCP, u32::MAX - 499, 1_000),
            packet(30, TCP, 500, 999),
        ];
        let error = check(&tap, Transport::Tcp, 50).unwrap_err();
        assert!(error.contains("had delivered 1999 B"), "{error}");
        let lost = Fate::Dropped(link::Cause::Loss);
        let recovered = [
            TapRecord {
                fate: lost,
                ..packet(21, TCP, 0, 1_000)
            },
            packet(22, TCP, 1_000, 1_000),
            packet(30, TCP, 0, 1_000),
        ];
        // The connection's first segment is not the lost one.
        let open = packet(1, TCP, u32::MAX, 1);
        let tap: Vec<_> = [open].into_iter().chain(recovered).collect();
        check(&tap, Transport::Tcp, 50).unwrap();
    }
}
