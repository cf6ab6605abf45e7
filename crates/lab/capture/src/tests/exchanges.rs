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
