//! What a request waits for at its ends.

use super::*;

/// Two small writes: the second waits for the acknowledgement of the first, which the server delays by 40 ms.
#[test]
fn nagle_meets_a_delayed_acknowledgement() {
    let mut tape = Tape::new(Transport::Tcp);
    let opened = tape.open(0);
    let start = opened + 500 * MS;
    let head = tape.send(Up, start, 100);
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
