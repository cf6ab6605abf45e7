//! How long connections take to open.

use super::*;

/// A first request over TCP and TLS 1.3: a round trip each for TCP, TLS and the exchange.
#[test]
fn a_first_request_over_tcp_takes_three_round_trips() {
    let mut tape = Tape::new(Transport::Tcp);
    let start = 10 * MS;
    let connected = tape.open(start + MS);
    tape.send(Up, connected, 0);
    let hello = tape.shake(Up, connected + 2 * MS, 500);
    let flight = tape.shake(Down, hello + 3 * MS, FULL);
    let secured = flight + MS;
    tape.send(Up, secured, 80);
    let asked = tape.send(Up, secured, 200);
    let answered = tape.send(Down, asked + 5 * MS, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        served: served(asked, asked + 5 * MS),
        ..request(Transport::Tcp, start, answered + MS)
    });
    assert_eq!(
        present(&parts),
        [
            (Part::TcpHandshake, RTT),
            (Part::TlsHandshake, RTT),
            (Part::Exchange, RTT),
            (Part::Client, 5 * MS),
            (Part::Server, 8 * MS),
        ]
    );
}

#[test]
fn a_first_request_over_quic_takes_two_round_trips() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 10 * MS;
    let hello = tape.shake(Up, start + MS, 1_200);
    tape.shake(Down, hello + MS, 1_200);
    let flight = tape.shake(Down, hello + MS, 800);
    let secured = flight + MS;
    let asked = tape.send(Up, secured, 200);
    // An acknowledgement of its own precedes the response.
    tape.send(Down, asked + MS, 30);
    let answered = tape.send(Down, asked + 80 * MS, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        served: served(asked, asked + 80 * MS),
        ..request(Transport::Quic, start, answered)
    });
    assert_eq!(
        present(&parts),
        [
            (Part::QuicHandshake, RTT),
            (Part::Exchange, RTT),
            (Part::Client, 2 * MS),
            (Part::Server, 81 * MS),
        ]
    );
}

/// A chain of 5,000 bytes: the server may send 3,600 on a hello of 1,200, and waits for the client.
#[test]
fn a_long_chain_over_quic_meets_the_amplification_limit() {
    let mut tape = Tape::new(Transport::Quic);
    let hello = tape.shake(Up, 0, 1_200);
    for _ in 0..3 {
        tape.shake(Down, hello, 1_200);
    }
    // Three packets acknowledge it, and the server reads them together.
    tape.shake(Up, hello + DELAY, 1_200);
    tape.shake(Up, hello + DELAY, 50);
    let acked = tape.shake(Up, hello + DELAY, 50);
    let flight = tape.shake(Down, acked, 1_200);
    let asked = tape.send(Up, flight, 200);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(flight),
        served: served(asked, asked),
        ..request(Transport::Quic, 0, answered)
    });
    let expected = [
        (Part::QuicHandshake, RTT),
        (Part::AmplificationLimit, RTT),
        (Part::Exchange, RTT),
    ];
    assert_eq!(present(&parts), expected);
}

/// A server that waits for its client although it may send as much as it has, and one over TCP, which may always.
#[test]
fn a_server_within_its_limit_does_not_meet_it() {
    for (transport, packets) in [(Transport::Quic, 2), (Transport::Tcp, 5)] {
        let mut tape = Tape::new(transport);
        let begun = match transport {
            Transport::Tcp => tape.open(0),
            Transport::Quic => 0,
        };
        let hello = tape.shake(Up, begun, 1_200);
        for _ in 0..packets {
            tape.shake(Down, hello, 1_200);
        }
        let finished = tape.shake(Up, hello + DELAY, 1_200);
        // Exactly three times 1,200 bytes over QUIC.
        let secured = tape.shake(Down, finished, 1_200);
        let asked = tape.send(Up, secured, 200);
        let answered = tape.send(Down, asked, 150);
        let parts = tape.parts(&Request {
            secured_ns: Some(secured),
            served: served(asked, asked),
            ..request(transport, 0, answered)
        });
        let handshake = parts[Part::QuicHandshake] + parts[Part::TlsHandshake];
        assert_eq!(handshake, 2 * RTT, "{parts:?}");
    }
}

/// The last packets of QUIC's handshake have short headers; what comes by the time it is done belongs to it.
#[test]
fn short_headers_may_belong_to_the_handshake() {
    let mut tape = Tape::new(Transport::Quic);
    let hello = tape.shake(Up, 0, 1_200);
    let flight = tape.send(Down, hello, 1_200);
    let asked = tape.send(Up, flight, 200);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(flight),
        served: served(asked, asked),
        ..request(Transport::Quic, 0, answered)
    });
    let expected = [(Part::QuicHandshake, RTT), (Part::Exchange, RTT)];
    assert_eq!(present(&parts), expected);
}

/// A client that waits for the server's first frame before it sends its request.
#[test]
fn a_client_waits_for_settings() {
    let mut tape = Tape::new(Transport::Tcp);
    let (secured, settings) = tape.open_until_settings();
    let asked = tape.send(Up, settings, 300);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        served: served(asked, asked),
        ..request(Transport::Tcp, 0, answered)
    });
    let expected = [
        (Part::TcpHandshake, RTT),
        (Part::TlsHandshake, RTT),
        (Part::Settings, RTT),
        (Part::Exchange, RTT),
    ];
    assert_eq!(present(&parts), expected);
}

/// A chain beyond the initial window, whose end the client awaits long after it has sent its change of cipher.
#[test]
fn a_lone_change_of_cipher_is_no_end_of_the_handshake() {
    let mut tape = Tape::new(Transport::Tcp);
    let connected = tape.open(0);
    let hello = tape.shake(Up, connected, 500);
    let first = tape.shake(Down, hello, FULL);
    for _ in 0..9 {
        tape.send(Down, hello, FULL);
    }
    let acked = tape.change_cipher(Up, first);
    let flight = tape.send(Down, acked, 500);
    tape.data(Up, flight, 80);
    let asked = tape.data(Up, flight, 200);
    let answered = tape.data(Down, asked, 150);
    let parts = tape.parts(&request(Transport::Tcp, 0, answered));
    assert_eq!(
        present(&parts),
        [
            (Part::TcpHandshake, RTT),
            (Part::TlsHandshake, 2 * RTT),
            (Part::Exchange, RTT),
        ]
    );
}

/// The server sends a chain beyond its initial window (RFC 6928), and the rest on a bare acknowledgement.
#[test]
fn a_chain_beyond_the_initial_window_takes_a_round_trip_of_the_handshake() {
    let mut tape = Tape::new(Transport::Tcp);
    let connected = tape.open(0);
    let hello = tape.shake(Up, connected, 500);
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.shake(Down, hello, FULL);
    }
    let acked = tape.send(Up, delivered, 0);
    let flight = tape.send(Down, acked, 500);
    tape.data(Up, flight, 80);
    let asked = tape.data(Up, flight, 200);
    let answered = tape.data(Down, asked, 150);
    let parts = tape.parts(&request(Transport::Tcp, 0, answered));
    assert_eq!(
        present(&parts),
        [
            (Part::TcpHandshake, RTT),
            (Part::TlsHandshake, 2 * RTT),
            (Part::Exchange, RTT),
        ]
    );
}

/// A client sends its request when a bare acknowledgement has come, or after more than a preface. It waited for its
/// application.
#[test]
fn only_a_frame_after_a_preface_can_be_settings() {
    for (preface_bytes, frame_bytes, waited) in [
        (150, 60, Part::Settings),
        (150, 0, Part::Client),
        (600, 60, Part::Settings),
        (601, 60, Part::Client),
    ] {
        let mut tape = Tape::new(Transport::Tcp);
        let connected = tape.open(0);
        let hello = tape.shake(Up, connected, 500);
        let secured = tape.shake(Down, hello, FULL);
        let preface = tape.send(Up, secured + MS, preface_bytes);
        let frame = tape.send(Down, preface, frame_bytes);
        let asked = tape.send(Up, frame, 300);
        let answered = tape.send(Down, asked, 150);
        let parts = tape.parts(&Request {
            secured_ns: Some(secured),
            nodelay: [true; 2],
            served: served(asked, asked),
            ..request(Transport::Tcp, 0, answered)
        });
        let client_ns = match waited {
            Part::Settings => MS,
            _ => RTT + MS,
        };
        let of = [Part::Settings, Part::Client].map(|part| parts[part]);
        let expected = [RTT + MS - client_ns, client_ns];
        assert_eq!(of, expected, "{preface_bytes} {frame_bytes}");
    }
}
