//! Where exchanges begin and end.

use super::*;

/// Returns the start and the duration of each exchange, in ms.
fn spans(talk: &Talk) -> Vec<(u64, u64)> {
    let found = talk.both();
    let exchanges = found.connections[0].exchanges.iter();
    exchanges
        .map(|of| (of.start_ns / MS, of.duration_ns / MS))
        .collect()
}

/// Returns the same from both captures, and from each alone.
fn all_spans(talk: &Talk) -> [Vec<(u64, u64)>; 3] {
    let of = |found: &Explained| {
        let exchanges = found.connections[0].exchanges.iter();
        let spans = exchanges.map(|of| (of.start_ns / MS, of.duration_ns / MS));
        spans.collect()
    };
    [of(&talk.both()), of(&talk.at(0)), of(&talk.at(1))]
}

fn idle_talk(is_tls: bool) -> Talk {
    let mut talk = Talk::new();
    match is_tls {
        true => {
            let secured = talk.secure(0);
            let asked = talk.tls(UP, secured, TLS_DATA, 200);
            talk.tls(DOWN, asked, TLS_DATA, 300);
        }
        false => {
            let connected = talk.open(0);
            let asked = talk.data(UP, connected, 200);
            talk.data(DOWN, asked, 300);
        }
    }
    talk
}

#[test]
fn what_a_server_sends_before_it_closes_an_idle_connection_is_no_response() {
    // Alerts of TLS 1.2 and 1.3; GOAWAY with each, with an alert in the same segment, and without TLS.
    for (is_tls, record, bytes) in [
        (true, 21, 31),
        (true, TLS_DATA, 24),
        (true, TLS_DATA, 39),
        (true, TLS_DATA, 46),
        (true, TLS_DATA, 63),
        (false, 0, 17),
    ] {
        for is_answered in [false, true] {
            let mut talk = idle_talk(is_tls);
            let ms = if is_tls { 150 } else { 100 };
            // A client that has updated a window meanwhile, or that closes the connection when asked to.
            if is_answered {
                let update = if is_tls { 35 } else { 13 };
                talk.tls(UP, (ms + 1) * MS, record, update);
            }
            let told = talk.tls(DOWN, 60_000 * MS, record, bytes);
            match is_answered {
                true => talk.push(UP, told, FIN | ACK, 0, 0, Luck::default()),
                false => talk.push(DOWN, 60_000 * MS, FIN | ACK, 0, 0, Luck::default()),
            };
            let [both, client, server] = all_spans(&talk);
            assert_eq!(both, [(0, ms)], "{is_tls} {record} {bytes}");
            assert_eq!(client, both);
            assert_eq!(server.len(), 1);
            assert_eq!(server[0].1, ms);
        }
    }
}

/// Both ends of TLS send an alert (RFC 8446 section 6.1).
#[test]
fn a_client_that_closes_a_connection_asks_for_nothing() {
    for (record, bytes) in [(TLS_DATA, 24), (21, 31)] {
        let mut talk = idle_talk(true);
        let told = talk.tls(UP, 5_000 * MS, record, bytes);
        talk.push(UP, 5_000 * MS, FIN | ACK, 0, 0, Luck::default());
        talk.tls(DOWN, told, record, bytes);
        talk.push(DOWN, told, FIN | ACK, 0, 0, Luck::default());
        let [both, client, server] = all_spans(&talk);
        assert_eq!((both.len(), client.len(), server.len()), (1, 1, 1));
        assert_eq!(both, [(0, 150)]);
    }
}

/// Over TLS 1.3 two bytes of a body are as long as an alert.
#[test]
fn a_response_can_end_with_a_record_as_short_as_an_alert() {
    let mut talk = idle_talk(true);
    talk.tls(DOWN, 150 * MS, TLS_DATA, 24);
    assert_eq!(spans(&talk), [(0, 175)]);
}

/// HTTP/1.1 ends a response in chunks so.
#[test]
fn a_late_end_of_a_response_belongs_to_it() {
    let mut talk = idle_talk(false);
    talk.data(DOWN, 3_000 * MS, 5);
    talk.push(DOWN, 3_000 * MS, FIN | ACK, 0, 0, Luck::default());
    assert_eq!(spans(&talk), [(0, 3_025)]);
}

#[test]
fn a_server_that_probes_an_idle_client_answers_nothing() {
    let mut talk = idle_talk(true);
    for at_ms in [5_000, 35_000] {
        let probed = talk.tls(DOWN, at_ms * MS, TLS_DATA, 39);
        talk.tls(UP, probed, TLS_DATA, 39);
    }
    let asked = talk.tls(UP, 60_000 * MS, TLS_DATA, 200);
    talk.tls(DOWN, asked, TLS_DATA, 300);
    assert_eq!(spans(&talk), [(0, 150), (60_000, 50)]);
}

#[test]
fn idle_time_after_an_update_of_a_window_is_not_the_clients() {
    // Over TLS 1.2 an update is as long as a request can be, so that it is unknown what the client waited for.
    for (is_tls, record, bytes, expected) in [
        (true, TLS_DATA, 42, (151, 4_899)),
        (true, TLS_DATA, 55, (151, 4_899)),
        (false, 0, 13, (5_000, 50)),
        (false, 0, 26, (5_000, 50)),
    ] {
        let mut talk = idle_talk(is_tls);
        talk.tls(UP, 151 * MS, record, bytes);
        let asked = talk.tls(UP, 5_000 * MS, record, 200);
        talk.tls(DOWN, asked, record, 300);
        assert_eq!(spans(&talk)[1], expected);
        for found in [talk.both(), talk.at(0), talk.at(1)] {
            assert_eq!(part_ms(&found, 1, Part::Client), 0);
            assert_eq!(part_ms(&found, 1, Part::Server), 0);
        }
    }
}

#[test]
fn a_request_without_a_response_is_no_exchange() {
    for is_tls in [true, false] {
        let mut talk = idle_talk(is_tls);
        let asked = talk.tls(UP, 5_000 * MS, if is_tls { TLS_DATA } else { b'x' }, 700);
        talk.ack(DOWN, asked);
        for found in [talk.both(), talk.at(0), talk.at(1)] {
            let connection = &found.connections[0];
            assert_eq!(connection.exchanges.len(), 1);
            assert_eq!(connection.unanswered_bytes, 700);
            assert!(connection.exchanges[0].request_bytes < 700);
        }
    }
}

/// A server asks for another hello (RFC 8446 section 4.1.4), which comes after a change of cipher.
#[test]
fn a_handshake_with_another_hello_takes_two_round_trips() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let hello = talk.tls(UP, connected, TLS_HANDSHAKE, 517);
    let retry = talk.tls(DOWN, hello, TLS_HANDSHAKE, 99);
    let again = talk.tls(UP, retry, 20, 560);
    let flight = talk.tls(DOWN, again, TLS_HANDSHAKE, 1_200);
    talk.tls(UP, flight, TLS_DATA, 74);
    let asked = talk.tls(UP, flight, TLS_DATA, 200);
    talk.tls(DOWN, asked, TLS_DATA, 300);
    for found in [talk.both(), talk.at(0)] {
        assert_eq!(
            parts(&found, 0),
            [
                (Part::TcpHandshake, 50),
                (Part::TlsHandshake, 100),
                (Part::Exchange, 50)
            ]
        );
        assert_eq!(found.connections[0].exchanges[0].request_bytes, 274);
    }
}

#[test]
fn an_idle_connection_is_no_exchange() {
    let mut talk = Talk::new();
    let secured = talk.secure(0);
    let asked = talk.tls(UP, secured, TLS_DATA, 200);
    talk.tls(DOWN, asked, TLS_DATA, 300);
    let asked = talk.tls(UP, 5_000 * MS, TLS_DATA, 200);
    talk.tls(DOWN, asked + 10 * MS, TLS_DATA, 300);
    assert_eq!(spans(&talk), [(0, 150), (5_000, 60)]);
}

#[test]
fn an_update_of_a_window_begins_no_exchange() {
    let mut talk = Talk::new();
    let secured = talk.secure(0);
    let asked = talk.tls(UP, secured, TLS_DATA, 200);
    talk.tls(DOWN, asked, TLS_DATA, 1_000);
    // In the middle of the response, and after its end.
    talk.tls(UP, asked + 26 * MS, TLS_DATA, 35);
    let answered = talk.tls(DOWN, asked + 5 * MS, TLS_DATA, 1_000);
    talk.tls(UP, answered + MS, TLS_DATA, 35);
    let asked = talk.tls(UP, 5_000 * MS, TLS_DATA, 200);
    talk.tls(DOWN, asked, TLS_DATA, 300);
    assert_eq!(spans(&talk), [(0, 155), (5_000, 50)]);
}

#[test]
fn concurrent_requests_are_one_exchange() {
    let mut talk = Talk::new();
    let secured = talk.secure(0);
    let first = talk.tls(UP, secured, TLS_DATA, 200);
    talk.tls(DOWN, first, TLS_DATA, 500);
    talk.tls(DOWN, first + 20 * MS, TLS_DATA, 500);
    let second = talk.tls(UP, first + 30 * MS, TLS_DATA, 200);
    talk.tls(DOWN, second, TLS_DATA, 500);
    assert_eq!(spans(&talk), [(0, 205)]);
}

#[test]
fn an_alert_at_the_end_is_no_response() {
    let mut talk = Talk::new();
    let secured = talk.secure(0);
    let asked = talk.tls(UP, secured, TLS_DATA, 200);
    talk.tls(DOWN, asked, TLS_DATA, 300);
    talk.tls(DOWN, 60_000 * MS, TLS_DATA, 24);
    assert_eq!(spans(&talk), [(0, 150)]);
}

/// A client of TLS 1.3 sends a change of cipher before it has all of the server's flight.
#[test]
fn the_handshake_ends_with_the_clients_last_message() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let hello = talk.tls(UP, connected, TLS_HANDSHAKE, 500);
    let first = talk.tls(DOWN, hello, TLS_HANDSHAKE, 1_200);
    talk.tls(UP, first, 20, 6);
    let flight = talk.tls(DOWN, hello + 5 * MS, 0, 1_200);
    let asked = talk.tls(UP, flight, TLS_DATA, 300);
    talk.tls(DOWN, asked, TLS_DATA, 300);
    assert_eq!(spans(&talk), [(0, 155)]);
}
