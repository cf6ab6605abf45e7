//! What holds for every request.

use proptest::prelude::*;

use super::*;

#[test]
fn without_packets_all_is_unexplained() {
    let tape = Tape::new(Transport::Tcp);
    let parts = tape.parts(&request(Transport::Tcp, 5, 9));
    assert_eq!(present(&parts), [(Part::Unexplained, 4)]);
    // A call that takes no time, or less by clocks that disagree, leaves nothing to explain.
    for end_ns in [9, 5] {
        assert_eq!(
            tape.parts(&request(Transport::Tcp, 9, end_ns)).total_ns(),
            0
        );
    }
}

proptest! {
    /// Whatever crossed the link, and whatever the request claims: the steps tile it.
    #[test]
    fn steps_tile_any_request(
        packets in prop::collection::vec(
            (any::<bool>(), 0..400 * MS, 0..FULL, 0..9_u8, any::<u8>()),
            0..60,
        ),
        tcp in any::<bool>(),
        rate in any::<bool>(),
        start in 0..300 * MS,
        took in 0..300 * MS,
        read in 0..500 * MS,
        wrote in 0..100 * MS,
        bytes in 0..5_000_u64,
    ) {
        let transport = if tcp { Transport::Tcp } else { Transport::Quic };
        let mut tape = match rate {
            true => Tape::at_rate(transport, 2_000_000),
            false => Tape::new(transport),
        };
        let mut packets = packets;
        packets.sort_by_key(|packet| packet.1);
        for (down, at_ns, payload, kind, first_byte) in packets {
            let direction = if down { Down } else { Up };
            let port = if kind == 7 { OTHER_PORT } else { PORT };
            tape.push(port, direction, at_ns, payload, kind == 6, first_byte);
            let last = tape.last();
            last.seq = last.seq.wrapping_sub(u32::from(kind == 5) * u32::from(payload));
            last.tcp_flags = if kind == 4 { SYN } else { ACK };
            last.window = u16::from(first_byte) * u16::from(kind);
            last.options = scaled(first_byte % 15);
            if kind == 8 {
                last.options.sack = Sack::UpTo(last.ack + u32::from(payload));
            }
        }
        let request = Request {
            secured_ns: (bytes % 2 == 0).then_some(start + took / 2),
            served: served(read, read + wrote).filter(|_| bytes % 3 > 0),
            request_bytes: bytes / 2,
            ..request(transport, start, start + took)
        };
        tape.parts(&request);
    }
}
