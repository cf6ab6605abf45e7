//! The server's first flight: what it sends in answer to the client's first flight alone.

use link::Direction;
use link::tap::{Fate, TapRecord};

/// Returns the IP bytes of the packets with data in the first flight of the server, on the
/// connection with this port of the client. The first flight is what the server sent before
/// anything that the client sent in answer to it had arrived. Acknowledgements count as such an
/// answer.
pub(super) fn first_flight_bytes(tap: &[TapRecord], client_port: u16) -> Option<u64> {
    let of = |direction| {
        tap.iter().filter(move |packet| {
            !packet.stray && packet.client_port() == client_port && packet.direction == direction
        })
    };
    let delivered = |packet: &&TapRecord| packet.fate == Fate::Delivered;
    // Over TCP, the SYN-ACK belongs to no flight of TLS.
    let sent = || of(Direction::Down).filter(|packet| packet.payload_bytes > 0);
    let answered_ns = sent().filter(delivered).map(|p| p.departure_ns).min()?;
    let answers = of(Direction::Up).filter(|packet| packet.arrival_ns > answered_ns);
    let ended_ns = answers.filter(delivered).map(|p| p.departure_ns).min();
    let first = sent().filter(|packet| ended_ns.is_none_or(|end| packet.arrival_ns < end));
    Some(first.map(|packet| u64::from(packet.ip_bytes)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Down, Up};

    /// Returns a packet on a link with a delay of 10 ns.
    fn packet(direction: Direction, arrival_ns: u64, payload_bytes: u16) -> TapRecord {
        let (src_port, dst_port) = match direction {
            Up => (50, 443),
            Down => (443, 50),
        };
        TapRecord {
            arrival_ns,
            departure_ns: arrival_ns + 10,
            seq: 0,
            ack: 0,
            ip_bytes: payload_bytes + 40,
            src_port,
            dst_port,
            payload_bytes,
            protocol: 6,
            tcp_flags: 0,
            first_byte: 0,
            direction,
            fate: Fate::Delivered,
            ip_version: 4,
            ecn: 0,
            stray: false,
            window: 0,
            options: Default::default(),
        }
    }

    #[test]
    fn first_flight_ends_with_the_first_answer_to_it() {
        let lost = TapRecord {
            fate: Fate::Dropped(link::Cause::Loss),
            departure_ns: 31,
            ..packet(Up, 44, 0)
        };
        let mut tap = vec![
            packet(Up, 0, 0),
            packet(Down, 11, 0),
            packet(Up, 22, 500),
            packet(Down, 33, 1000),
            packet(Down, 34, 1000),
            // In answer to the packet delivered at 43, but it never arrives.
            lost,
            // Sent again, before the answer of 55 arrives.
            packet(Down, 60, 300),
            packet(Up, 55, 0),
            packet(Down, 66, 5000),
        ];
        assert_eq!(first_flight_bytes(&tap, 50), Some(2 * 1040 + 340));
        assert_eq!(first_flight_bytes(&tap, 51), None);
        tap.truncate(5);
        assert_eq!(first_flight_bytes(&tap, 50), Some(2 * 1040));
    }
}
