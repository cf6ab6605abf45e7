//! What a request waits for at its ends.

use super::*;

/// Two small writes: the second waits for the acknowledgement of the first, which the server delays by 40 ms. Meanwhile the
/// client's own acknowledgement of an earlier response may arrive, to which the server owes nothing.
#[test]
fn nagle_meets_a_delayed_acknowledgement() {
    for acknowledges in [false, true] {
        let mut tape = Tape::new(Transport::Tcp);
        let opened = tape.open(0);
        let start = opened + 500 * MS;
        let head = tape.send(Up, start, 100);
        if acknowledges {
            tape.send(Up, start + 38 * MS, 0);
        }
        let acked = tape.send(Down, head + 40 * MS, 0);
        let asked = tape.send(Up, acked, 300);
        let answered = tape.send(Down, asked + 2 * MS, 150);
        let parts = tape.parts(&Request {
            served: served(asked, asked + 2 * MS),
            request_bytes: 200,
            ..request(Transport::Tcp, start, answered)
        });
        assert_eq!(
            present(&parts),
            [
                (Part::Nagle, RTT),
                (Part::DelayedAck, 40 * MS),
                (Part::Exchange, RTT),
                (Part::Server, 2 * MS),
            ]
        );
    }
}

#[test]
fn what_server_and_client_take_is_theirs() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start + 40 * MS, 200);
        // The request's acknowledgement comes first, and the client acknowledges something meanwhile.
        tape.send(Down, asked + MS, 0);
        tape.send(Up, asked + 30 * MS, 0);
        let answered = tape.send(Down, asked + 80 * MS, 150);
        let parts = tape.parts(&Request {
            served: served(asked, asked + 80 * MS),
            ..request(transport, start, answered)
        });
        let expected = [
            (Part::Exchange, RTT),
            (Part::Client, 40 * MS),
            (Part::Server, 80 * MS),
        ];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// The server reads the head of an upload at once, and answers when it has the body.
#[test]
fn the_response_to_an_upload_waits_for_its_last_byte() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let head = tape.send(Up, start, 200);
    let body = tape.send(Up, start + 70 * MS, FULL);
    let answered = tape.send(Down, body + 2 * MS, 150);
    let parts = tape.parts(&Request {
        served: Some(Served {
            received_ns: Some(body),
            ..served(head, body + 2 * MS).unwrap()
        }),
        request_bytes: u64::from(FULL),
        sent_ns: Some(start + 70 * MS),
        ..request(Transport::Tcp, start, answered)
    });
    assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
    assert_eq!(parts[Part::Server], 2 * MS, "{parts:?}");
    assert_eq!(parts[Part::Client], 70 * MS, "{parts:?}");
}

/// An acknowledgement that comes some milliseconds after the data is late by its host. TCP delays one for less than 500 ms
/// (RFC 1122 section 4.2.3.2), and QUIC for 25 ms unless it says otherwise (RFC 9000 section 18.2).
#[test]
fn an_acknowledgement_is_delayed_for_a_time_that_its_transport_allows() {
    for (transport, waited_ms, is_delayed) in [
        (Transport::Tcp, 3, false),
        (Transport::Tcp, 40, true),
        (Transport::Tcp, 200, true),
        (Transport::Tcp, 600, false),
        (Transport::Quic, 3, false),
        (Transport::Quic, 25, true),
        (Transport::Quic, 40, false),
    ] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = 0;
        for _ in 0..10 {
            delivered = tape.send(Down, asked, FULL);
        }
        // In one packet or in two.
        tape.send(Up, delivered + waited_ms * MS, 0);
        let acked = tape.send(Up, delivered + waited_ms * MS, 0);
        let end = tape.send(Down, acked, FULL);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(transport, start, end)
        });
        let waited = match is_delayed {
            true => Part::DelayedAck,
            false => Part::Client,
        };
        assert_eq!(parts[waited], waited_ms * MS, "{transport:?} {parts:?}");
        assert_eq!(parts[Part::CongestionWindow], RTT, "{parts:?}");
    }
}

/// The client decodes the response for 52 ms. The server's acknowledgement of its credit arrives just before the end.
#[test]
fn an_acknowledgement_just_before_the_end_completes_nothing() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked, FULL);
    let credited = tape.send(Up, answered, 100);
    let acked = tape.send(Down, credited, 30);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Quic, start, acked + 2 * MS)
    });
    let expected = [(Part::Exchange, RTT), (Part::Client, RTT + 2 * MS)];
    assert_eq!(present(&parts), expected);
}

/// A receiver acknowledges a segment beyond a gap at once (RFC 5681 section 4.2). Such an acknowledgement that comes 20 ms
/// later is late by its host.
#[test]
fn an_acknowledgement_of_a_segment_beyond_a_gap_is_not_delayed() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let first = tape.send(Down, asked, FULL);
    tape.send(Up, first, 0);
    tape.lose(Down, asked + MS, FULL);
    let lost = tape.last().seq;
    let beyond = tape.send(Down, asked + MS, FULL);
    let acked = tape.send(Up, beyond + 20 * MS, 0);
    tape.last().ack = lost;
    let end = tape.send(Down, acked, FULL);
    tape.last().seq = lost;
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    let of = [Part::LossFast, Part::DelayedAck, Part::Client].map(|part| parts[part]);
    assert_eq!(of, [RTT, 0, 20 * MS], "{parts:?}");
}

/// An acknowledgement of QUIC with a few ranges has at most 55 bytes (RFC 9000 section 17.3, RFC 9001 section 5.3).
#[test]
fn a_packet_of_quic_is_an_acknowledgement_up_to_its_size() {
    let mut tape = Tape::new(Transport::Quic);
    tape.send(Up, 0, 55);
    tape.send(Up, 0, 56);
    let packets = tape.crossings().packets;
    assert_eq!(
        [&packets[0], &packets[1]].map(|p| p.has_data),
        [false, true]
    );
}
