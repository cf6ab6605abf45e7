//! One capture.

use super::*;

#[test]
fn a_capture_at_the_client_shows_the_client_and_least_round_trips() {
    let mut talk = Talk::new();
    let secured = talk.secure(0);
    let asked = talk.tls(UP, secured + 3 * MS, TLS_DATA, 200);
    let answered = talk.tls(DOWN, asked + 80 * MS, TLS_DATA, 300);
    talk.ack(UP, answered);
    let found = talk.at(0);
    assert_eq!(found.connections[0].captured_at, End::Client);
    assert_eq!(found.connections[0].rtt_ns, RTT);
    assert_eq!(
        parts(&found, 0),
        [
            (Part::TcpHandshake, 50),
            (Part::TlsHandshake, 50),
            (Part::Exchange, 50),
            (Part::Client, 3),
            (Part::Unexplained, 80),
        ]
    );
    let found = talk.at(1);
    assert_eq!(found.connections[0].captured_at, End::Server);
    assert_eq!(
        parts(&found, 0),
        [
            (Part::TcpHandshake, 50),
            (Part::TlsHandshake, 50),
            (Part::Exchange, 50),
            (Part::Server, 80),
            (Part::Unexplained, 3),
        ]
    );
}

/// Parts that would name a cause beyond the capture's end.
fn named(found: &Explained) -> Vec<Part> {
    let known = [
        Part::TcpHandshake,
        Part::TlsHandshake,
        Part::Exchange,
        Part::Unexplained,
    ];
    let parts = parts(found, 0).into_iter().map(|(part, _)| part);
    parts.filter(|part| !known.contains(part)).collect()
}

#[test]
fn a_loss_is_no_time_of_an_end() {
    // The request, the response and the SYN are lost in turn, and sent again after 300 ms.
    for lost in 0..3 {
        let mut talk = Talk::new();
        let luck = |number| {
            if number == lost {
                LOST
            } else {
                Luck::default()
            }
        };
        let repaired = |number| if number == lost { 300 * MS } else { 0 };
        let again = |talk: &mut Talk, side, at_ns, flags, place, number| {
            if number == lost {
                talk.push_at(side, at_ns + 300 * MS, flags, place, Luck::default());
            }
        };
        let isn = talk.sent[UP];
        let asked = talk.push(UP, 0, SYN, 0, 0, luck(2));
        again(&mut talk, UP, 0, SYN, (isn, 0, 0), 2);
        let connected = talk.push(DOWN, asked + repaired(2), SYN | ACK, 0, 0, Luck::default());
        talk.ack(UP, connected);
        let seq = talk.sent[UP];
        let asked = talk.push(UP, connected, ACK, 200, b'x', luck(0));
        again(&mut talk, UP, connected, ACK, (seq, 200, b'x'), 0);
        let answering = asked + repaired(0);
        let seq = talk.sent[DOWN];
        let answered = talk.push(DOWN, answering, ACK, 300, b'x', luck(1));
        again(&mut talk, DOWN, answering, ACK, (seq, 300, b'x'), 1);
        talk.ack(UP, answered + repaired(1));
        for end in [0, 1] {
            let found = talk.at(end);
            assert_eq!(named(&found), [], "packet {lost} lost, captured at {end}");
            let unexplained = parts(&found, 0)
                .into_iter()
                .find(|(part, _)| *part == Part::Unexplained);
            // A server does not see that a SYN was lost.
            let expected = (lost, end) != (2, 1);
            assert_eq!(
                unexplained.is_some_and(|(_, ms)| ms >= 300),
                expected,
                "{lost} {end}"
            );
        }
    }
}

/// Nothing tells a full window from a busy link there.
#[test]
fn a_long_transfer_is_unexplained() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    let mut flight = asked;
    for _ in 0..3 {
        let mut last = 0;
        for _ in 0..10 {
            last = talk.data(DOWN, flight, 1_400);
        }
        flight = talk.ack(UP, last);
    }
    for end in [0, 1] {
        let found = talk.at(end);
        assert_eq!(named(&found), []);
        assert_eq!(
            parts(&found, 0),
            [
                (Part::TcpHandshake, 50),
                (Part::Exchange, 50),
                (Part::Unexplained, 100)
            ]
        );
    }
}

#[test]
fn a_capture_without_a_handshake_or_between_the_ends_is_not_explained() {
    let mut talk = Talk::new();
    talk.data(UP, 0, 200);
    talk.data(DOWN, RTT, 200);
    let error = explain(&[talk.capture(0)], None).unwrap_err().to_string();
    assert!(
        error.starts_with("client: no TCP connection with its handshake"),
        "{error}"
    );
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    talk.data(DOWN, asked, 200);
    for (from_client_ms, [to_server, to_client]) in [(10, ["30", "20"]), (3, ["44", "6"])] {
        let mut between = talk.frames[0].clone();
        for (at_ns, frame) in &mut between {
            *at_ns = match frame[26..30] == CLIENT {
                true => *at_ns + from_client_ms * MS,
                false => *at_ns - from_client_ms * MS,
            };
        }
        let capture = Capture::read("between", &pcap(ETHERNET, &between)).unwrap();
        let found = explain(&[capture], None).unwrap();
        let connection = &found.connections[0];
        assert_eq!(
            (connection.captured_at, connection.exchanges.len()),
            (End::Unknown, 0)
        );
        let reason = connection.not_explained.as_ref().unwrap();
        let expected = format!(
            "SYN was answered after {to_server}.000 ms and the SYN-ACK after {to_client}.000 ms"
        );
        assert!(reason.contains(&expected), "{reason}");
    }
}

/// A part of the server's first flight is lost and sent again, which the client's acknowledgements seem to cause.
#[test]
fn a_loss_beyond_the_capture_is_no_round_trip_of_the_handshake() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let hello = talk.tls(UP, connected, TLS_HANDSHAKE, 500);
    let first = talk.tls(DOWN, hello, TLS_HANDSHAKE, 1_200);
    let seq = talk.sent[DOWN];
    talk.push(DOWN, hello, ACK, 1_200, b'x', LOST);
    let acked = talk.ack(UP, first);
    let flight = talk.push_at(DOWN, acked, ACK, (seq, 1_200, b'x'), Luck::default());
    let asked = talk.tls(UP, flight, TLS_DATA, 200);
    talk.tls(DOWN, asked, TLS_DATA, 300);
    assert_eq!(
        parts(&talk.at(0), 0),
        [
            (Part::TcpHandshake, 50),
            (Part::TlsHandshake, 50),
            (Part::Exchange, 50),
            (Part::Unexplained, 50),
        ]
    );
}

/// The client seems to wait where it received what the capture missed.
#[test]
fn a_capture_with_a_gap_charges_no_end() {
    for (luck, client_ms) in [(Luck::default(), Some(1)), (NOT_AT_CLIENT, None)] {
        let mut talk = Talk::new();
        let connected = talk.open(0);
        let hello = talk.tls(UP, connected, TLS_HANDSHAKE, 500);
        talk.tls(DOWN, hello, TLS_HANDSHAKE, 1_200);
        let flight = talk.push(DOWN, hello + 30 * MS, ACK, 600, b'x', luck);
        let asked = talk.tls(UP, flight + MS, TLS_DATA, 200);
        talk.tls(DOWN, asked, TLS_DATA, 100);
        let found = talk.at(0);
        let missing = client_ms.map_or(600, |_| 0);
        assert_eq!(found.connections[0].missing_bytes, [missing, 0]);
        let client = parts(&found, 0)
            .into_iter()
            .find(|(part, _)| *part == Part::Client);
        assert_eq!(client.map(|(_, ms)| ms), client_ms);
    }
}

/// Some systems probe an idle connection with its last byte (RFC 9293 section 3.8.4).
#[test]
fn a_probe_of_an_idle_connection_is_no_repair() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    let answered = talk.data(DOWN, asked + 80 * MS, 300);
    talk.ack(UP, answered);
    for side in [UP, DOWN] {
        let last = talk.sent[side].wrapping_sub(1);
        talk.push_at(side, 20_000 * MS, ACK, (last, 1, b'x'), Luck::default());
    }
    for end in [0, 1] {
        let found = talk.at(end);
        assert_eq!(found.connections[0].copies, Some(0));
        let exchanges = &found.connections[0].exchanges;
        assert_eq!(
            (exchanges.len(), exchanges[0].duration_ns),
            (1, 2 * RTT + 80 * MS)
        );
    }
}

/// The server may hold its second short segment back until the first is acknowledged, or have nothing to send before.
#[test]
fn what_the_other_end_waited_for_is_unexplained() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    let answered = talk.data(DOWN, asked, 100);
    let acked = talk.ack(UP, answered);
    talk.data(DOWN, acked, 100);
    assert_eq!(named(&talk.at(0)), []);
}

/// The client sends a packet again 1 ms before it is acknowledged. Which copy the answer acknowledges is unknown (Karn's
/// rule).
#[test]
fn a_packet_that_was_sent_twice_shows_no_round_trip() {
    for is_syn in [false, true] {
        let mut talk = Talk::new();
        let isn = talk.sent[UP];
        let connected = talk.open(0);
        let seq = talk.sent[UP];
        let asked = talk.data(UP, connected, 200);
        let answered = talk.data(DOWN, asked, 300);
        match is_syn {
            true => talk.push_at(UP, connected - MS, SYN, (isn, 0, 0), LOST),
            false => talk.push_at(UP, answered - MS, ACK, (seq, 200, b'x'), LOST),
        };
        assert_eq!(talk.at(0).connections[0].rtt_ns, RTT, "{is_syn}");
    }
}

#[test]
fn only_the_exchange_of_a_repair_is_unexplained() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let seq = talk.sent[UP];
    talk.push(UP, connected, ACK, 200, b'x', LOST);
    let asked = talk.push_at(
        UP,
        connected + 300 * MS,
        ACK,
        (seq, 200, b'x'),
        Luck::default(),
    );
    let answered = talk.data(DOWN, asked, 300);
    talk.ack(UP, answered);
    let asked = talk.data(UP, 5_000 * MS, 200);
    talk.data(DOWN, asked + 20 * MS, 300);
    let found = talk.at(0);
    assert_eq!(
        parts(&found, 0),
        [(Part::TcpHandshake, 50), (Part::Unexplained, 350)]
    );
    assert_eq!(
        parts(&found, 1),
        [(Part::Exchange, 50), (Part::Unexplained, 20)]
    );
    let found = talk.at(1);
    assert_eq!(parts(&found, 1), [(Part::Exchange, 50), (Part::Server, 20)]);
}
