//! Requests that share a connection, and ports that several connections use.

use super::*;

/// Calls that wait for a connection which another call opens wait for the same things.
#[test]
fn calls_that_wait_for_a_connection_share_its_parts() {
    let mut tape = Tape::new(Transport::Tcp);
    let (secured, settings) = tape.open_until_settings();
    tape.send(Up, settings, 300);
    let asked = tape.send(Up, settings, 300);
    tape.send(Down, asked, 150);
    let answered = tape.send(Down, asked + 3 * MS, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        served: served(asked, asked + 3 * MS),
        ..request(Transport::Tcp, 0, answered)
    });
    let expected = [
        (Part::TcpHandshake, RTT),
        (Part::TlsHandshake, RTT),
        (Part::Settings, RTT),
        (Part::Exchange, RTT),
        (Part::Server, 3 * MS),
    ];
    assert_eq!(present(&parts), expected);
}

/// A client over HTTP/1.1 whose connection carries another response until 60 ms after the call.
#[test]
fn a_call_over_http_1_waits_for_its_turn() {
    let mut tape = Tape::new(Transport::Tcp);
    let start = tape.open(0) + 500 * MS;
    tape.send(Up, start - 20 * MS, 200);
    let free = tape.send(Down, start + 60 * MS - DELAY, FULL);
    let asked = tape.send(Up, free, 200);
    let answered = tape.send(Down, asked, 150);
    let waiting = Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    };
    let parts = tape.parts(&Request {
        http: Http::One,
        ..waiting
    });
    assert_eq!(parts[Part::Settings] + parts[Part::Nagle], 0, "{parts:?}");
    assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
    assert!(parts[Part::ConnectionBusy] >= DELAY, "{parts:?}");
    // Over HTTP/2 the other response is no reason, and the client is.
    let expected = [(Part::Exchange, RTT), (Part::Client, 60 * MS)];
    assert_eq!(present(&tape.parts(&waiting)), expected);
}

/// A client over HTTP/1.1 sends its request 10 ms after an earlier response, or when a bare acknowledgement has come. It
/// waited for its application.
#[test]
fn a_client_whose_connection_is_free_does_not_wait_for_its_turn() {
    for (payload, late_ms) in [(FULL, 10), (0, 0)] {
        let mut tape = Tape::new(Transport::Tcp);
        let start = tape.open(0) + 500 * MS;
        tape.send(Up, start - 20 * MS, 200);
        let received = tape.send(Down, start + 60 * MS - DELAY, payload);
        let asked = tape.send(Up, received + late_ms * MS, 200);
        let answered = tape.send(Down, asked, 150);
        let parts = tape.parts(&Request {
            http: Http::One,
            nodelay: [true; 2],
            served: served(asked, asked),
            ..request(Transport::Tcp, start, answered)
        });
        let expected = [(Part::Exchange, RTT), (Part::Client, (60 + late_ms) * MS)];
        assert_eq!(present(&parts), expected);
    }
}

/// A request on an open connection that is sent right after something of another response had come.
#[test]
fn a_warm_request_never_waits_for_settings() {
    let mut tape = Tape::new(Transport::Tcp);
    let (secured, settings) = tape.open_until_settings();
    let asked = tape.send(Up, settings, 300);
    tape.send(Down, asked, 150);
    let start = asked + DELAY - 10 * MS;
    let again = tape.send(Up, asked + DELAY, 300);
    let answered = tape.send(Down, again, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        served: served(again, again),
        ..request(Transport::Tcp, start, answered)
    });
    let expected = [(Part::Exchange, RTT), (Part::Client, 10 * MS)];
    assert_eq!(present(&parts), expected);
}

/// A message of a full segment waits for SETTINGS as a small one does.
#[test]
fn a_large_message_waits_for_settings_too() {
    let mut tape = Tape::new(Transport::Tcp);
    let (secured, settings) = tape.open_until_settings();
    tape.send(Up, settings, 300);
    let asked = tape.send(Up, settings, FULL);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        secured_ns: Some(secured),
        request_bytes: u64::from(FULL),
        served: served(asked, asked),
        ..request(Transport::Tcp, 0, answered)
    });
    assert_eq!(parts[Part::Settings], RTT, "{parts:?}");
}

/// TLS 1.2: the server is done before its last message has arrived, so that only the records tell.
#[test]
fn the_second_round_trip_of_tls_1_2_is_its_handshake() {
    let mut tape = Tape::new(Transport::Tcp);
    let connected = tape.open(0);
    let hello = tape.shake(Up, connected, 500);
    let chain = tape.shake(Down, hello, FULL);
    let finished = tape.shake(Up, chain, 200);
    let secured = tape.shake(Down, finished, 60);
    let asked = tape.push(PORT, Up, secured, 200, false, 23);
    let answered = tape.push(PORT, Down, asked, 150, false, 23);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, 0, answered)
    });
    let expected = [
        (Part::TcpHandshake, RTT),
        (Part::TlsHandshake, 2 * RTT),
        (Part::Exchange, RTT),
    ];
    assert_eq!(present(&parts), expected);
}

/// The server works on this request while it answers others on the connection, which the client acknowledges.
#[test]
fn the_server_is_charged_for_its_time_beside_other_responses() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        for number in 1..8 {
            let other = tape.send(Down, asked + 10 * number * MS, FULL);
            tape.send(Up, other, 30);
        }
        let answered = tape.send(Down, asked + 150 * MS, 700);
        let parts = tape.parts(&Request {
            served: Some(Served {
                received_ns: Some(asked),
                ..served(asked, asked + 150 * MS).unwrap()
            }),
            ..request(transport, start, answered)
        });
        let expected = [(Part::Exchange, RTT), (Part::Server, 150 * MS)];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// The server responds after 20 ms, while another response has filled the window: its work takes none of the time.
#[test]
fn a_response_waits_for_the_window_that_another_filled() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        for _ in 0..10 {
            tape.send(Down, asked, FULL);
        }
        let freed = tape.send(Up, asked + DELAY, 0);
        let answered = tape.send(Down, freed, 700);
        let own = Request {
            served: responding(asked, asked + 20 * MS, asked + 20 * MS),
            ..request(transport, start, answered)
        };
        let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, RTT)];
        assert_eq!(present(&tape.parts(&own)), expected, "{transport:?}");
        // One that responds once the window is free again has worked until then.
        let late = Request {
            served: responding(asked, freed, freed),
            ..own
        };
        let expected = [(Part::Exchange, RTT), (Part::Server, RTT)];
        assert_eq!(present(&tape.parts(&late)), expected, "{transport:?}");
    }
}

/// A port that an earlier connection had used, whose losses and acknowledgements are not this one's.
#[test]
fn a_port_can_carry_several_connections() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    tape.lose(Down, 60 * MS, FULL);
    let start = 500 * MS;
    let begin = tape.packets.len();
    let connected = tape.open(start);
    let asked = tape.send(Up, connected, 200);
    let answered = tape.send(Down, asked, 150);
    // Sequence numbers of its own, and none of the bytes before.
    for packet in &mut tape.packets[begin..] {
        packet.seq = packet.seq.wrapping_add(1_000_000);
    }
    let request = Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    };
    let expected = [(Part::TcpHandshake, RTT), (Part::Exchange, RTT)];
    assert_eq!(present(&tape.parts(&request)), expected);
    // A call that had ended before has the earlier connection.
    let crossings = tape.crossings();
    let early = crossings.flow_of(Transport::Tcp, PORT, start - 1);
    assert_ne!(early, crossings.flow_of(Transport::Tcp, PORT, answered));
    assert_eq!(crossings.flow_of(Transport::Tcp, PORT + 1, answered), None);
}
