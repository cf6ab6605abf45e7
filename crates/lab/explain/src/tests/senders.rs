//! Senders that look as if they had waited for something, and what tells them apart.

use super::*;

/// A request whose head went with the preface, and whose body right after the server's SETTINGS.
#[test]
fn a_client_whose_head_was_read_does_not_wait_for_settings() {
    for http in [Http::One, Http::Two] {
        let mut tape = Tape::new(Transport::Tcp);
        let (secured, settings) = tape.open_until_settings();
        let body = tape.send(Up, settings, 300);
        let answered = tape.send(Down, body, 150);
        let parts = tape.parts(&Request {
            http,
            secured_ns: Some(secured),
            nodelay: [true; 2],
            request_bytes: 200,
            served: Some(Served {
                received_ns: Some(body),
                ..served(settings - DELAY, body).unwrap()
            }),
            ..request(Transport::Tcp, 0, answered)
        });
        assert_eq!(parts[Part::Settings], 0, "{http:?} {parts:?}");
        assert_eq!(parts[Part::Client], RTT, "{http:?} {parts:?}");
    }
}

/// Over HTTP/1.1 the server's first packet after the handshake, e.g. a ticket, is nothing to wait for.
#[test]
fn a_client_over_http_1_does_not_wait_for_settings() {
    let mut tape = Tape::new(Transport::Tcp);
    let (secured, ticket) = tape.open_until_settings();
    let asked = tape.send(Up, ticket, 300);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        http: Http::One,
        secured_ns: Some(secured),
        served: served(asked, asked),
        ..request(Transport::Tcp, 0, answered)
    });
    assert_eq!(parts[Part::Settings], 0, "{parts:?}");
}

/// A sender whose window was reduced by a loss of this call.
#[test]
fn a_window_after_a_loss_of_the_call_is_named_so() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = 0;
        for _ in 0..5 {
            delivered = tape.send(Down, asked, FULL);
        }
        tape.lose(Down, asked, FULL);
        let acked = tape.send(Up, delivered, 30);
        for _ in 0..5 {
            delivered = tape.send(Down, acked, FULL);
        }
        let acked = tape.send(Up, delivered, 30);
        let end = tape.send(Down, acked, FULL);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(transport, start, end)
        });
        // Over TCP, data of the client with everything acknowledged would be credit.
        let named = parts[Part::WindowAfterLoss] + parts[Part::LossFast];
        assert_eq!(named + parts[Part::FlowControl], 2 * RTT, "{parts:?}");
        assert!(parts[Part::WindowAfterLoss] > 0, "{parts:?}");
        assert_eq!(parts[Part::CongestionWindow], 0, "{parts:?}");
    }
}

/// An application that is blocked by a full socket, and hands the rest over when an acknowledgement makes room.
#[test]
fn a_sender_that_is_blocked_waits_for_its_window() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered, 0);
    let end = tape.send(Down, acked + MS, FULL);
    let parts = tape.parts(&Request {
        served: responding(asked, asked, acked + MS),
        ..request(Transport::Tcp, start, end)
    });
    let expected = [
        (Part::Exchange, RTT),
        (Part::CongestionWindow, RTT),
        (Part::Server, MS),
    ];
    assert_eq!(present(&parts), expected);
}

/// A server that reports neither when it had read a body nor when it responded.
#[test]
fn a_sparse_log_still_tells_the_server_from_the_path() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    // The client acknowledges something of another response meanwhile.
    tape.send(Up, start + 30 * MS, 30);
    let answered = tape.send(Down, asked + 80 * MS, 150);
    let sparse = Served {
        read_ns: asked,
        received_ns: None,
        responded_ns: None,
        written_ns: asked + 80 * MS,
    };
    let parts = tape.parts(&Request {
        served: Some(sparse),
        ..request(Transport::Tcp, start, answered)
    });
    assert_eq!(
        present(&parts),
        [(Part::Exchange, RTT), (Part::Server, 80 * MS)]
    );

    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let mut received = 0;
    for _ in 0..10 {
        received = tape.send(Up, start, FULL);
    }
    let acked = tape.send(Down, received, 0);
    let body = tape.send(Up, acked, FULL);
    let answered = tape.send(Down, body + 2 * MS, 150);
    let parts = tape.parts(&Request {
        sent_ns: Some(start),
        request_bytes: 11 * u64::from(FULL),
        served: Some(Served {
            read_ns: start + DELAY,
            written_ns: body + 2 * MS,
            ..sparse
        }),
        ..request(Transport::Tcp, start, answered)
    });
    assert_eq!(parts[Part::CongestionWindow], RTT, "{parts:?}");
    assert_eq!(parts[Part::Server], 2 * MS, "{parts:?}");
}

/// Packets of connections that opened before the window, and of those that the link refused, are none of a call's.
#[test]
fn strays_and_refused_packets_do_not_count() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked, 150);
    for fate in [Fate::Delivered, Fate::Refused, Fate::Unmapped] {
        tape.send(Down, asked + 5 * MS, 150);
        let last = tape.last();
        (last.stray, last.fate) = (fate == Fate::Delivered, fate);
    }
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered + 30 * MS)
    });
    assert_eq!(
        present(&parts),
        [(Part::Exchange, RTT), (Part::Client, 30 * MS)]
    );
}

/// A response that was handed over at once, and whose first packet left when another response's was acknowledged.
#[test]
fn a_response_that_its_transport_holds_back_waits_for_a_window() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = 0;
        for _ in 0..10 {
            delivered = tape.send(Down, asked - 2 * MS, FULL);
        }
        let acked = tape.send(Up, delivered, 0);
        let end = tape.send(Down, acked, FULL);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(transport, start, end)
        });
        // The other response had left 2 ms before this request arrived.
        let expected = [
            (Part::Exchange, RTT - 2 * MS),
            (Part::CongestionWindow, RTT),
        ];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// Without a log the server is the reason also if it received an acknowledgement while it worked.
#[test]
fn an_acknowledgement_is_no_request() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        tape.send(Up, start + 30 * MS, 0);
        let answered = tape.send(Down, asked + 80 * MS, 150);
        let parts = tape.parts(&request(transport, start, answered));
        let expected = [(Part::Exchange, RTT), (Part::Server, 80 * MS)];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// Data that follows a receipt 40 ms later is no acknowledgement, also if it acknowledges.
#[test]
fn late_data_is_no_delayed_acknowledgement() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..5 {
        delivered = tape.send(Down, asked, FULL);
    }
    // The client's own HTTP/2 window, which it opens when the application has read.
    let credited = tape.send(Up, delivered + 40 * MS, 30);
    let end = tape.send(Down, credited, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    assert_eq!(parts[Part::DelayedAck], 0, "{parts:?}");
    assert_eq!(parts[Part::Client], 40 * MS, "{parts:?}");
}
