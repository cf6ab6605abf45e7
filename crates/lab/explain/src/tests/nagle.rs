//! Segments that Nagle's algorithm held back, and those that wait for something else.

use super::*;

/// Sends a request in two short packets, the second on a receipt, with what the client and its socket report.
fn in_two_packets(receipt_bytes: u16, sent_after_ns: Option<u64>, is_nodelay: bool) -> Parts {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let head = tape.send(Up, start, 100);
    let received = tape.send(Down, head, receipt_bytes);
    let asked = tape.send(Up, received, 300);
    let answered = tape.send(Down, asked, 150);
    tape.parts(&Request {
        sent_ns: sent_after_ns.map(|ns| start + ns),
        nodelay: [is_nodelay; 2],
        request_bytes: 200,
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    })
}

#[test]
fn nagle_needs_bytes_that_wait_and_a_socket_that_holds_them() {
    // The acknowledgement has no data, or comes with data after the application had written.
    for (receipt_bytes, sent_after_ns) in [(0, None), (40, Some(MS)), (40, Some(RTT - 1))] {
        let parts = in_two_packets(receipt_bytes, sent_after_ns, false);
        assert_eq!(parts[Part::Nagle], RTT, "{parts:?}");
    }
    // The application wrote when it had read, or nothing says when, or its socket holds nothing back.
    let written_later = [
        in_two_packets(40, Some(RTT), false),
        in_two_packets(40, Some(RTT + MS), false),
        in_two_packets(40, None, false),
        in_two_packets(0, None, true),
    ];
    for parts in written_later {
        let expected = [(Part::Exchange, RTT), (Part::Client, RTT)];
        assert_eq!(present(&parts), expected);
    }
}

/// Sends a request in two segments, the second so long after the first was acknowledged. Another connection has longer
/// segments, e.g. over IPv4 beside IPv6.
fn beside_longer_segments(payload: u16, pause_ns: u64, longest: Option<u16>) -> Parts {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    tape.push(OTHER_PORT, Up, 10 * MS, FULL, false, 0x40);
    let start = 500 * MS;
    let head = tape.send(Up, start, payload);
    let acked = tape.send(Down, head, 0);
    let asked = tape.send(Up, acked + pause_ns, payload);
    let answered = tape.send(Down, asked, 150);
    tape.parts(&Request {
        longest: [longest; 2],
        request_bytes: 2 * u64::from(payload),
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    })
}

#[test]
fn full_segments_are_those_of_their_own_connection() {
    assert_eq!(beside_longer_segments(FULL - 20, 0, None)[Part::Nagle], 0);
    // Nothing shows that short segments are full, unless the ends' maximum is known.
    assert_eq!(beside_longer_segments(536, 0, None)[Part::Nagle], RTT);
    assert_eq!(beside_longer_segments(536, 0, Some(536))[Part::Nagle], 0);
    assert_eq!(beside_longer_segments(500, 0, Some(536))[Part::Nagle], RTT);
}

/// Sends a request whose short head precedes so many full segments and a short one, which leaves on the acknowledgement
/// of the head.
fn short_after_full(full: usize, is_nodelay: bool) -> Parts {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let head = tape.send(Up, start, 200);
    for _ in 0..full {
        tape.send(Up, start, FULL);
    }
    let acked = tape.send(Down, head, 0);
    let asked = tape.send(Up, acked, 300);
    let answered = tape.send(Down, asked, 150);
    tape.parts(&Request {
        sent_ns: Some(start),
        nodelay: [is_nodelay; 2],
        request_bytes: 500 + full as u64 * u64::from(FULL),
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    })
}

/// Linux lets full segments go, and holds the last one back as long as a short one is not acknowledged.
#[test]
fn nagle_holds_the_last_segment_back_behind_full_ones() {
    for full in [0, 1, 8, 17] {
        let parts = short_after_full(full, false);
        assert_eq!(parts[Part::Nagle], RTT, "{full}: {parts:?}");
    }
    // Fewer packets than every window holds: the client paused, or its kernel did.
    let parts = short_after_full(8, true);
    assert_eq!(
        present(&parts),
        [(Part::Exchange, RTT), (Part::Client, RTT)]
    );
    let parts = short_after_full(9, true);
    assert_eq!(parts[Part::CongestionWindow], RTT, "{parts:?}");
}

/// An acknowledgement of earlier bytes arrives meanwhile, and the application writes more.
#[test]
fn nagle_ends_with_the_acknowledgement_of_the_short_segment() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    tape.send(Up, start - DELAY, 100);
    tape.send(Up, start, 200);
    let acked = tape.send(Down, start, 0);
    let asked = tape.send(Up, acked, 300);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        sent_ns: Some(start),
        request_bytes: 500,
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    });
    assert_eq!(parts[Part::Nagle], 0, "{parts:?}");
}

/// A response of a server whose socket may hold segments back: a short one, full ones and a short one.
#[test]
fn a_full_window_of_a_server_is_not_nagle() {
    for (full, part) in [(8, Part::Nagle), (9, Part::CongestionWindow)] {
        let mut tape = Tape::new(Transport::Tcp);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = tape.send(Down, asked, 100);
        let head = delivered;
        for _ in 0..full {
            delivered = delivered.max(tape.send(Down, asked, FULL));
        }
        let acked = tape.send(Up, head, 0);
        let end = tape.send(Down, acked, 300);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Tcp, start, end)
        });
        assert_eq!(parts[part], RTT, "{full}: {parts:?}");
    }
}

/// A kernel that held a segment back sends it at once.
#[test]
fn an_application_may_write_shortly_after_an_acknowledgement() {
    assert_eq!(beside_longer_segments(300, 2 * MS, None)[Part::Nagle], 0);
}

/// Short packets of QUIC wait for no acknowledgement.
#[test]
fn quic_has_no_nagle() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let head = tape.send(Up, start, 100);
    let received = tape.send(Down, head, 30);
    let asked = tape.send(Up, received, 300);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        request_bytes: 200,
        served: served(asked, asked),
        ..request(Transport::Quic, start, answered)
    });
    assert_eq!(parts[Part::Nagle], 0, "{parts:?}");
}
