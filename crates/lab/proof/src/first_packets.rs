//! Checks that packets carried a call there and back: the request before the server read it, and the response before the
//! driver had its first byte.

use driver::protocol::Row;

use super::Traffic;
use super::traffic::{CLOCK_TICK_NS, Delivery, LOG_CLOCK_NS, Socket, micros_after_start};

impl Traffic {
    /// Checks that a connection carried data to the server between a call's start and `read_ns`, when the server had the
    /// request according to `what`. Returns when the first such packet was delivered.
    pub(super) fn check_request(
        &self,
        row: &Row,
        opened: Socket,
        what: &str,
        read_ns: u64,
    ) -> Result<u64, String> {
        let from_ns = self.earliest_since(row);
        let by_ns = read_ns.saturating_add(LOG_CLOCK_NS);
        carried(self.sent_on(opened), from_ns, by_ns).map_err(|late| {
            format!(
                "call {}: {what} {} µs after the driver's start, but {}",
                row.id,
                micros_after_start(row, read_ns),
                describe(row, late, "to the server since that start")
            )
        })
    }

    /// Checks that a connection carried data to the client between `from_ns`, when the server can have responded, and
    /// the first byte that the driver claims.
    pub(super) fn check_first_byte(
        &self,
        row: &Row,
        opened: Socket,
        from_ns: u64,
    ) -> Result<(), String> {
        let first_byte_ns = row.first_byte_ns.unwrap_or(row.end_ns);
        let from_ns = self.earliest_stamp(from_ns);
        match carried(self.received_on(opened), from_ns, first_byte_ns) {
            Ok(_) => Ok(()),
            Err(late) => Err(format!(
                "call {}: the driver's first byte is {} µs after its start, but {}",
                row.id,
                micros_after_start(row, first_byte_ns),
                describe(row, late, "to the client since the server had the request")
            )),
        }
    }
}

/// Returns when the first data was delivered of what came to the link from `from_ns` on. If that was later than `by_ns`,
/// returns the packet; `None` if there was no data.
fn carried<'a>(
    sockets: impl Iterator<Item = &'a [Delivery]>,
    from_ns: u64,
    by_ns: u64,
) -> Result<u64, Option<&'a Delivery>> {
    let by_ns = by_ns.saturating_add(CLOCK_TICK_NS);
    let later = |packets: &'a [Delivery]| {
        let from = packets.partition_point(|packet| packet.arrival_ns < from_ns);
        packets[from..].iter().filter(|packet| packet.has_payload)
    };
    let sockets: Vec<&[Delivery]> = sockets.collect();
    // Of a long connection, only the packets of this call are looked at.
    let in_time = sockets
        .iter()
        .flat_map(|packets| later(packets).take_while(|p| p.arrival_ns <= by_ns));
    let first_ns = in_time.map(|packet| packet.departure_ns).min();
    let first_ns = first_ns.filter(|&at_ns| at_ns <= by_ns);
    let all = || sockets.iter().flat_map(|packets| later(packets));
    first_ns.ok_or_else(|| all().min_by_key(|packet| packet.departure_ns))
}

/// Returns in words what a connection first carried, which was too late.
fn describe(row: &Row, packet: Option<&Delivery>, to_whom: &str) -> String {
    match packet {
        Some(packet) => format!(
            "packet {}, the first with data {to_whom}, was delivered {} µs after the driver's start",
            packet.number,
            micros_after_start(row, packet.departure_ns)
        ),
        None => format!("its connection carried no data {to_whom}"),
    }
}

#[cfg(test)]
mod tests {
    use driver::protocol::Clock;
    use link::Direction;
    use link::tap::{Fate, TapRecord, UDP};
    use record::server_log::{RequestEvent, ServerEvent, Transport};

    use super::super::tests::{claim, connection, delivered, request, row, workload};
    use super::super::{Claim, prove};
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns a packet of the connection that takes 10 ms across the link.
    fn packet(direction: Direction, arrival_ms: u64, seq: u32, payload_bytes: u16) -> TapRecord {
        let (src_port, dst_port) = match direction {
            Direction::Up => (4000, 443),
            Direction::Down => (443, 4000),
        };
        TapRecord {
            arrival_ns: arrival_ms * MS,
            departure_ns: (arrival_ms + 10) * MS,
            seq,
            src_port,
            dst_port,
            payload_bytes,
            direction,
            ..delivered()
        }
    }

    fn try_packets(tap: &[TapRecord], clock: Clock) -> Result<(), String> {
        try_traffic(Traffic::of(tap), clock)
    }

    /// Proves a call that starts at 100 ms, was read by the server at 130 ms and has its first byte at 160 ms, with
    /// these packets. The server has read its body of 2 bytes at 140 ms.
    fn try_traffic(traffic: Traffic, clock: Clock) -> Result<(), String> {
        let workload = workload();
        let ServerEvent::Request(hit) = request(1, 130 * MS) else {
            unreachable!()
        };
        let hit = RequestEvent {
            received_ns: Some(140 * MS),
            ..hit
        };
        let mut row = row(1, 100 * MS);
        (row.first_byte_ns, row.end_ns) = (Some(160 * MS), 200 * MS);
        let claim = Claim {
            run_ns: 0,
            clock,
            traffic,
            ..claim(&workload)
        };
        let mut opened = connection();
        if let ServerEvent::Connection(opened) = &mut opened {
            opened.at_ns = 125 * MS;
        }
        prove(&claim, &[row], &[opened, ServerEvent::Request(hit)]).map(|_| ())
    }

    /// Returns the packets of an earlier call, and of this one.
    fn honest() -> Vec<TapRecord> {
        vec![
            packet(Direction::Up, 50, 0, 300),
            packet(Direction::Down, 70, 0, 300),
            packet(Direction::Up, 110, 300, 300),
            packet(Direction::Up, 112, 600, 0),
            packet(Direction::Down, 121, 300, 0),
            packet(Direction::Down, 140, 300, 300),
        ]
    }

    #[test]
    fn packets_of_a_call_come_between_its_start_and_its_first_byte() {
        try_packets(&honest(), Clock::Monotonic).unwrap();
        type Change = fn(&mut Vec<TapRecord>);
        let refused: [(Change, &str); 7] = [
            (
                // The request left before its call.
                |tap| tap[2].arrival_ns = 98 * MS,
                "call 1: the server had read the request 30000 µs after the driver's start, but its connection carried \
                 no data to the server since that start",
            ),
            (
                |tap| tap[2].payload_bytes = 0,
                "but its connection carried no data to the server since that start",
            ),
            (
                |tap| (tap[2].payload_bytes, tap[3].seq) = (1, 301),
                "the link had delivered 1 B, up to packet 3, of its 2 B",
            ),
            (
                |tap| tap[2].departure_ns = 141 * MS + 1,
                "but packet 2, the first with data to the server since that start, was delivered 41000 µs after the \
                 driver's start",
            ),
            (
                |tap| tap[5].departure_ns = 161 * MS + 1,
                "call 1: the driver's first byte is 60000 µs after its start, but packet 5, the first with data to the \
                 client since the server had the request, was delivered 61000 µs after the driver's start",
            ),
            (
                |tap| tap[5].arrival_ns = 130 * MS - 1,
                "but its connection carried no data to the client since the server had the request",
            ),
            (
                |tap| tap[5].fate = Fate::Dropped(link::Cause::Loss),
                "but its connection carried no data to the client",
            ),
        ];
        for (change, reason) in refused {
            let mut tap = honest();
            change(&mut tap);
            let error = try_packets(&tap, Clock::Monotonic).unwrap_err();
            assert!(error.contains(reason), "{error:?} should say {reason:?}");
            // Packets say nothing of times by another clock.
            try_packets(&tap, Clock::Own).unwrap();
        }
        let accepted: [Change; 4] = [
            // Within the tick of the driver's clock, and what the server's may be off.
            |tap| tap[2].arrival_ns = 99 * MS,
            |tap| tap[2].departure_ns = 141 * MS,
            |tap| tap[5].departure_ns = 161 * MS,
            // A copy of what was lost carries the request as well.
            |tap| {
                tap[2].fate = Fate::Dropped(link::Cause::Loss);
                tap[3] = packet(Direction::Up, 115, 300, 300);
            },
        ];
        for (number, change) in accepted.into_iter().enumerate() {
            let mut tap = honest();
            change(&mut tap);
            assert_eq!(try_packets(&tap, Clock::Monotonic), Ok(()), "{number}");
        }
    }

    /// The wall clock was set back by 40 ms: all packets of the call seem to come so much earlier.
    #[test]
    fn a_step_of_the_clock_that_stamps_packets_is_no_contradiction() {
        let mut tap = honest();
        for packet in &mut tap {
            packet.arrival_ns -= 40 * MS;
        }
        let try_step = |step_ms: u64| {
            try_traffic(
                Traffic::of(&tap).with_clock_step(step_ms * MS),
                Clock::Monotonic,
            )
        };
        let reasons = [(28, "no data to the server"), (29, "no data to the client")];
        for (step_ms, reason) in reasons {
            let error = try_step(step_ms).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        try_step(30).unwrap();
    }

    /// 0-RTT data may share a datagram with the Initial that opens its connection (RFC 9000 section 12.2), and a
    /// connection may move to another port.
    #[test]
    fn a_request_over_quic_may_be_in_any_datagram_of_its_connection() {
        let quic = |port: u16, first_byte: u8| TapRecord {
            protocol: UDP,
            src_port: port,
            first_byte,
            ..packet(Direction::Up, 110, 0, 1_200)
        };
        let check = |tap: &[TapRecord]| {
            let socket = Socket {
                transport: Transport::Quic,
                port: 4000,
            };
            let row = row(1, 100 * MS);
            let found =
                Traffic::of(tap).check_request(&row, socket, "it had the request", 130 * MS);
            found.ok()
        };
        assert_eq!(check(&[quic(4000, 0xc3)]), Some(120 * MS));
        assert_eq!(check(&[quic(4001, 0x43)]), Some(120 * MS));
        // That is another connection.
        assert_eq!(check(&[quic(4001, 0xc3)]), None);
    }
}
