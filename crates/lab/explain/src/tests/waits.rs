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

/// A server of the user's own has no log.
#[test]
fn without_a_log_the_server_is_between_its_packets() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked + 7 * MS, 150);
    let parts = tape.parts(&request(Transport::Tcp, start, answered));
    assert_eq!(parts[Part::Server], 7 * MS);
    assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
}

/// A server without a log sends session tickets before its response. They fill no window, whatever they are followed by:
/// the request, or their acknowledgement.
#[test]
fn without_a_log_a_response_after_tickets_is_an_answer() {
    for think_ms in [1, 51] {
        let mut tape = Tape::new(Transport::Tcp);
        let connected = tape.open(0);
        let hello = tape.shake(Up, connected, 500);
        let first = tape.shake(Down, hello, FULL);
        // The client answers the hello before it has the rest of the flight.
        let flight = tape.send(Down, hello + MS, 500);
        tape.change_cipher(Up, first);
        tape.data(Up, flight + MS, 80);
        let asked = tape.data(Up, flight + MS, 200);
        let tickets = tape.data(Down, asked, FULL);
        tape.send(Up, tickets, 0);
        let answered = tape.data(Down, asked + think_ms * MS, 150);
        let parts = tape.parts(&request(Transport::Tcp, 0, answered));
        assert_eq!(
            present(&parts),
            [
                (Part::TcpHandshake, RTT),
                (Part::TlsHandshake, RTT),
                (Part::Exchange, RTT),
                (Part::Client, MS),
                (Part::Server, (think_ms + 1) * MS),
            ],
            "{think_ms} ms"
        );
    }
}

/// Without a log, the window of a long response is known by its pauses; the round trip of its request is the exchange.
#[test]
fn without_a_log_a_long_response_waits_for_its_window() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut last = 0;
    for _ in 0..10 {
        last = tape.send(Down, asked + MS, FULL);
    }
    let acked = tape.send(Up, last, 0);
    let answered = tape.send(Down, acked, FULL);
    let parts = tape.parts(&request(Transport::Tcp, start, answered));
    assert_eq!(
        present(&parts),
        [
            (Part::Exchange, RTT),
            (Part::CongestionWindow, RTT),
            (Part::Server, MS),
        ]
    );
}
