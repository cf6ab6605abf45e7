//! Servers that keep no log, e.g. those of the user: only packets show what they waited for.

use super::*;

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
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut last = 0;
        for _ in 0..10 {
            last = tape.send(Down, asked + MS, FULL);
        }
        let acked = tape.send(Up, last, 0);
        let answered = tape.send(Down, acked, FULL);
        let parts = tape.parts(&request(transport, start, answered));
        let expected = [
            (Part::Exchange, RTT),
            (Part::CongestionWindow, RTT),
            (Part::Server, MS),
        ];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// A ticket after the handshake, which the client acknowledges, and a request that the client's application makes later.
#[test]
fn without_a_log_a_request_after_tickets_is_answered() {
    let mut tape = Tape::new(Transport::Tcp);
    let connected = tape.open(0);
    let hello = tape.shake(Up, connected, 500);
    let flight = tape.shake(Down, hello, FULL);
    let finished = tape.data(Up, flight, 80);
    let tickets = tape.data(Down, finished, 500);
    tape.send(Up, tickets, 0);
    let asked = tape.data(Up, tickets + 60 * MS, 200);
    let answered = tape.data(Down, asked + 2 * MS, 150);
    let parts = tape.parts(&request(Transport::Tcp, 0, answered));
    assert_eq!(
        present(&parts),
        [
            (Part::TcpHandshake, RTT),
            (Part::TlsHandshake, RTT),
            (Part::Exchange, RTT),
            (Part::Client, RTT + 60 * MS),
            (Part::Server, 2 * MS),
        ]
    );
}

/// The first request of a connection. While the server works, the client acknowledges something.
#[test]
fn without_a_log_the_response_to_a_first_request_waits_for_the_request() {
    for has_tls in [false, true] {
        let mut tape = Tape::new(Transport::Tcp);
        let mut ready = tape.open(0);
        if has_tls {
            let hello = tape.shake(Up, ready, 500);
            ready = tape.shake(Down, hello, FULL);
            tape.data(Up, ready, 80);
        }
        let asked = tape.data(Up, ready, 200);
        tape.send(Up, ready + 30 * MS, 0);
        let answered = tape.data(Down, asked + 80 * MS, 150);
        let parts = tape.parts(&request(Transport::Tcp, 0, answered));
        // The handshake's last round trip ends with the request.
        let round_trips = match has_tls {
            true => vec![(Part::TcpHandshake, RTT), (Part::TlsHandshake, RTT)],
            false => vec![(Part::TcpHandshake, RTT)],
        };
        let rest = [(Part::Exchange, RTT), (Part::Server, 80 * MS)];
        let expected: Vec<_> = round_trips.into_iter().chain(rest).collect();
        assert_eq!(present(&parts), expected, "{has_tls}");
    }
}

/// The server works for 80 ms. Its kernel acknowledges the request meanwhile (RFC 1122 section 4.2.3.2, RFC 9000 section
/// 13.2.1), for which the response does not wait.
#[test]
fn without_a_log_a_response_waits_for_no_acknowledgement_of_its_server() {
    for (transport, delayed) in [(Transport::Tcp, 40 * MS), (Transport::Quic, 25 * MS)] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        tape.send(Down, asked + delayed, 0);
        let answered = tape.send(Down, asked + 80 * MS, 150);
        let parts = tape.parts(&request(transport, start, answered));
        let expected = [(Part::Exchange, RTT), (Part::Server, 80 * MS)];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// The server acknowledges another packet of the client just before it responds.
#[test]
fn without_a_log_a_response_waits_for_nothing_that_its_server_acknowledged() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        tape.send(Up, start + 30 * MS, 0);
        tape.send(Down, asked + 30 * MS, 0);
        let answered = tape.send(Down, asked + 31 * MS, 150);
        let parts = tape.parts(&request(transport, start, answered));
        let expected = [(Part::Exchange, RTT), (Part::Server, 31 * MS)];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// No receiver in use gives less credit than 16 KiB, and what an earlier response has used was given again. A message of
/// the client that comes sooner is answered.
#[test]
fn without_a_log_credit_ends_a_wait_only_after_16_kib() {
    for (bytes, is_credit) in [(16_384, false), (16_385, true)] {
        let mut tape = Tape::new(Transport::Tcp);
        tape.open(0);
        let early = tape.send(Up, 100 * MS, 200);
        let early = (0..20).map(|_| tape.send(Down, early, FULL)).max().unwrap();
        tape.send(Up, early, 0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = 0;
        for _ in 0..bytes / FULL {
            delivered = tape.send(Down, asked, FULL);
        }
        tape.send(Down, asked, bytes % FULL);
        tape.send(Up, delivered, 0);
        let credited = tape.send(Up, delivered + MS, 30);
        let end = tape.send(Down, credited, FULL);
        let parts = tape.parts(&request(Transport::Tcp, start, end));
        assert_eq!(parts[Part::FlowControl] > 0, is_credit, "{parts:?}");
    }
}

/// Every sender may have three segments of 1,460 bytes under way (RFC 3390 section 1): a message that comes then is answered.
#[test]
fn without_a_log_a_message_after_two_segments_is_answered() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.send(Down, asked, 1_460);
    let delivered = tape.send(Down, asked, 1_460);
    let message = tape.send(Up, delivered, 200);
    let end = tape.send(Down, message, 1_460);
    let parts = tape.parts(&request(Transport::Tcp, start, end));
    assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
    assert_eq!(parts[Part::Server], 0, "{parts:?}");
}

/// After a timeout the window holds one segment (RFC 5681 section 3.1), so that little is under way.
#[test]
fn without_a_log_a_window_after_a_loss_may_hold_little() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let first = tape.send(Down, asked, FULL);
    tape.lose(Down, asked, FULL);
    let lost = tape.last().seq;
    let acked = tape.send(Up, first, 0);
    let copied = tape.send(Down, acked + 200 * MS, FULL);
    tape.last().seq = lost;
    let acked = tape.send(Up, copied, 0);
    let end = tape.send(Down, acked, FULL);
    tape.last().seq = lost + u32::from(FULL);
    let parts = tape.parts(&request(Transport::Tcp, start, end));
    assert_eq!(
        present(&parts),
        [
            (Part::Exchange, RTT),
            (Part::WindowAfterLoss, RTT),
            (Part::LossTimer, RTT + 200 * MS),
        ]
    );
}
