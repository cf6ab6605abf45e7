//! Checks that the bytes of a call crossed the link while it ran: those of its request before the server had read them,
//! and those of its response before the driver's end.

use std::fmt;

use driver::protocol::Row;
use record::server_log::{ConnectionEvent, RequestEvent};

use super::Traffic;
use super::traffic::{CLOCK_TICK_NS, Delivery, LOG_CLOCK_NS, Socket, micros_after_start};

impl Traffic {
    /// Checks that the bytes of a call's request and response crossed the link while it ran. Those of other
    /// calls on the connection count, too.
    pub(super) fn check_bytes(&self, row: &Row, socket: Socket) -> Result<(), String> {
        let from_ns = self.earliest_since(row);
        // The user's own server may compress, and many clients decompress by themselves.
        let hint = "; where its client decompresses by itself, set headers = { accept-encoding = \"identity\" }";
        let sent = Delivered::within(self.sent_on(socket), from_ns, row.end_ns);
        let received = Delivered::within(self.received_on(socket), from_ns, row.end_ns);
        for (delivered, bytes, what, hint) in [
            (sent, row.request_bytes, "request", ""),
            (received, row.response_bytes, "response", hint),
        ] {
            if delivered.bytes < bytes {
                return Err(format!(
                    "call {}: by the driver's end, {} µs after its start, the link had delivered {delivered} of its \
                     {what} of {bytes} B{hint}",
                    row.id,
                    micros_after_start(row, row.end_ns)
                ));
            }
        }
        Ok(())
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
        let received = self.received_on(Socket::of(connection));
        let from_ns = self.earliest_stamp(hit.start_ns);
        let received = Delivered::within(received, from_ns, row.end_ns);
        if received.bytes < row.response_bytes {
            return Err(format!(
                "call {}: by the driver's end, {} µs after its start, the link had delivered {received} of its \
                 response of {} B",
                row.id,
                micros_after_start(row, row.end_ns),
                row.response_bytes
            ));
        }
        Ok(())
    }

    /// Checks that the link had delivered the whole body of a request when the server had read it. Those of other
    /// requests on the connection count, too.
    pub(super) fn check_upload(
        &self,
        row: &Row,
        hit: &RequestEvent,
        connection: &ConnectionEvent,
    ) -> Result<(), String> {
        let Some(read_ns) = hit.received_ns else {
            return Ok(());
        };
        let from_ns = self.earliest_since(row);
        let sent = self.sent_on(Socket::of(connection));
        let sent = Delivered::within(sent, from_ns, read_ns + LOG_CLOCK_NS);
        if sent.bytes < hit.request_bytes {
            return Err(format!(
                "call {}: when the server had read the request, {} µs after the driver's start, the link had delivered \
                 {sent} of its {} B",
                row.id,
                micros_after_start(row, read_ns),
                hit.request_bytes
            ));
        }
        Ok(())
    }
}

/// What the link delivered in some time.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    /// New bytes.
    bytes: u64,
    /// The last packet that counts, by its index in the tap.
    last: Option<usize>,
}

impl Delivered {
    /// Returns what came to the link from `from_ns` on and left it until `end_ns`, over the sockets of a connection.
    fn within<'a>(
        sockets: impl Iterator<Item = &'a [Delivery]>,
        from_ns: u64,
        end_ns: u64,
    ) -> Delivered {
        let end_ns = end_ns.saturating_add(CLOCK_TICK_NS);
        let mut delivered = Delivered::default();
        for packets in sockets {
            let from = packets.partition_point(|p| p.arrival_ns < from_ns);
            let packets = &packets[from..];
            // A packet departs after it has arrived, so none behind these counts.
            let in_time = packets.iter().take_while(|p| p.arrival_ns <= end_ns);
            let mut in_time: Vec<&Delivery> =
                in_time.filter(|p| p.departure_ns <= end_ns).collect();
            in_time.sort_by_key(|packet| packet.place.start);
            // Of copies of the same bytes, whichever came in time counts.
            let mut end = packets.first().map_or(0, |packet| packet.before);
            for packet in in_time {
                delivered.bytes += packet.place.end.saturating_sub(packet.place.start.max(end));
                delivered.last = delivered.last.max(Some(packet.number));
                end = end.max(packet.place.end);
            }
        }
        delivered
    }
}

impl fmt::Display for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.bytes)?;
        match self.last {
            Some(number) => write!(f, ", up to packet {number},"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use link::Direction;
    use link::tap::{Fate, TCP, TapRecord};
    use record::server_log::{ServerEvent, Transport};

    use super::super::tests::{request, row};
    use super::super::traffic::tests::{MS, PORT, from, packet};
    use super::*;

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
            first_byte: 0xc3,
            ..packet(1, UDP, 0, 1_200)
        };
        check(&[opens, elsewhere(UDP)], Transport::Quic, 60).unwrap_err();
        // Another connection opens from that port later.
        let opens_later = TapRecord {
            arrival_ns: 50 * MS,
            departure_ns: 60 * MS,
            ..opens
        };
        check(&[elsewhere(UDP), opens_later], Transport::Quic, 60).unwrap();
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
            error.contains("had delivered 1000 B, up to packet 1, of its response of 2000 B"),
            "{error}"
        );
        check(&tap, Transport::Quic, 40).unwrap_err();
        let udp = tap.map(|p| TapRecord { protocol: 17, ..p });
        check(&udp, Transport::Quic, 40).unwrap();
    }

    #[test]
    fn a_request_was_read_when_its_bytes_had_arrived() {
        let up = |arrival_ms: u64, seq: u32| TapRecord {
            direction: Direction::Up,
            src_port: PORT,
            dst_port: 443,
            ..packet(arrival_ms, TCP, seq, 1_000)
        };
        // The first packet precedes the call.
        let tap = [up(3, 0), up(4, 1_000), up(20, 2_000)];
        let check = |received_ns: Option<u64>| {
            let ServerEvent::Request(hit) = request(1, 14 * MS) else {
                unreachable!()
            };
            let hit = RequestEvent {
                received_ns,
                request_bytes: 2_000,
                ..hit
            };
            let row = row(1, 5 * MS);
            Traffic::of(&tap).check_upload(&row, &hit, &from(PORT, Transport::Tcp))
        };
        // At 30 ms all had arrived. A log's clock may be off.
        check(Some(30 * MS - LOG_CLOCK_NS - CLOCK_TICK_NS)).unwrap();
        check(None).unwrap();
        let error = check(Some(18 * MS)).unwrap_err();
        let expected = "call 1: when the server had read the request, 13000 µs after the driver's start, the link had \
                        delivered 1000 B, up to packet 1, of its 2000 B";
        assert_eq!(error, expected);
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

    /// The link holds the first segment back for so long that its sender repeats it, and the copy comes first.
    #[test]
    fn a_copy_that_overtakes_its_segment_counts() {
        let held_back = TapRecord {
            departure_ns: 90 * MS,
            ..packet(21, TCP, 0, 1_000)
        };
        let tap = [
            packet(1, TCP, u32::MAX, 1),
            held_back,
            packet(22, TCP, 1_000, 1_000),
            packet(35, TCP, 0, 1_000),
        ];
        check(&tap, Transport::Tcp, 44).unwrap();
        let error = check(&tap, Transport::Tcp, 43).unwrap_err();
        assert!(
            error.contains("had delivered 1000 B, up to packet 2,"),
            "{error}"
        );
        // Both copies together are not more than one.
        check(&tap[1..], Transport::Tcp, 100).unwrap();
        check(&[tap[1], tap[3]], Transport::Tcp, 100).unwrap_err();
    }

    /// The second connection begins with a lower sequence number.
    #[test]
    fn a_port_that_is_used_again_has_other_sequence_numbers() {
        let syn = TapRecord {
            tcp_flags: link::tap::SYN,
            ..packet(15, TCP, 500, 0)
        };
        let tap = [
            packet(10, TCP, 9_000, 1_000),
            syn,
            packet(21, TCP, 501, 1_000),
            packet(22, TCP, 1_501, 1_000),
        ];
        check(&tap, Transport::Tcp, 40).unwrap();
    }
}
