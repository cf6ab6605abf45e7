//! Senders that look as if they had waited for something, and what tells them apart.

use super::*;

/// Sends a request in two short packets, the second on a receipt, with what the client and its socket report.
fn in_two_packets(receipt_bytes: u16, sent_after_ns: Option<u64>, is_nodelay: bool) -> Parts {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let head = tape.send(Up, start, 100);
    let received = tape.send(Down, head, receipt_bytes);
    let asked = tape.send(Up, received, 300);
    let answered = tape.send(Down, asked, 150);
    tape.parts(&Request {
        sent_ns: sent_after_ns.map(|ns| start + ns),
        nodelay: [is_nodelay; 2],
        request_bytes: 200,
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    })
}

#[test]
fn nagle_needs_bytes_that_wait_and_a_socket_that_holds_them() {
    // The acknowledgement has no data, or comes with data after the application had written.
    for (receipt_bytes, sent_after_ns) in [(0, None), (40, Some(MS)), (40, Some(RTT - 1))] {
        let parts = in_two_packets(receipt_bytes, sent_after_ns, false);
        assert_eq!(parts[Part::Nagle], RTT, "{parts:?}");
    }
    // The application wrote when it had read, or nothing says when, or its socket holds nothing back.
    let written_later = [
        in_two_packets(40, Some(RTT), false),
        in_two_packets(40, Some(RTT + MS), false),
        in_two_packets(40, None, false),
        in_two_packets(0, None, true),
    ];
    for parts in written_later {
        let expected = [(Part::Exchange, RTT), (Part::Client, RTT)];
        assert_eq!(present(&parts), expected);
    }
}

/// Sends a request in two segments, the second so long after the first was acknowledged. Another connection has longer
/// segments, e.g. over IPv4 beside IPv6.
fn beside_longer_segments(payload: u16, pause_ns: u64, longest: Option<u16>) -> Parts {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    tape.push(OTHER_PORT, Up, 10 * MS, FULL, false, 0x40);
    let start = 500 * MS;
    let head = tape.send(Up, start, payload);
    let acked = tape.send(Down, head, 0);
    let asked = tape.send(Up, acked + pause_ns, payload);
    let answered = tape.send(Down, asked, 150);
    tape.parts(&Request {
        longest: [longest; 2],
        request_bytes: 2 * u64::from(payload),
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    })
}

#[test]
fn full_segments_are_those_of_their_own_connection() {
    assert_eq!(beside_longer_segments(FULL - 20, 0, None)[Part::Nagle], 0);
    // Nothing shows that short segments are full, unless the ends' maximum is known.
    assert_eq!(beside_longer_segments(536, 0, None)[Part::Nagle], RTT);
    assert_eq!(beside_longer_segments(536, 0, Some(536))[Part::Nagle], 0);
    assert_eq!(beside_longer_segments(500, 0, Some(536))[Part::Nagle], RTT);
}

/// Sends a request whose short head precedes so many full segments and a short one, which leaves on the acknowledgement
/// of the head.
fn short_after_full(full: usize, is_nodelay: bool) -> Parts {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let head = tape.send(Up, start, 200);
    for _ in 0..full {
        tape.send(Up, start, FULL);
    }
    let acked = tape.send(Down, head, 0);
    let asked = tape.send(Up, acked, 300);
    let answered = tape.send(Down, asked, 150);
    tape.parts(&Request {
        sent_ns: Some(start),
        nodelay: [is_nodelay; 2],
        request_bytes: 500 + full as u64 * u64::from(FULL),
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered)
    })
}

/// Linux lets full segments go, and holds the last one back as long as a short one is not acknowledged.
#[test]
fn nagle_holds_the_last_segment_back_behind_full_ones() {
    for full in [0, 1, 8, 17] {
        let parts = short_after_full(full, false);
        assert_eq!(parts[Part::Nagle], RTT, "{full}: {parts:?}");
    }
    // Fewer packets than every window holds: the client paused, or its kernel did.
    let parts = short_after_full(8, true);
    assert_eq!(
        present(&parts),
        [(Part::Exchange, RTT), (Part::Client, RTT)]
    );
    let parts = short_after_full(9, true);
    assert_eq!(parts[Part::CongestionWindow], RTT, "{parts:?}");
}

/// A response of a server whose socket may hold segments back: a short one, full ones and a short one.
#[test]
fn a_full_window_of_a_server_is_not_nagle() {
    for (full, part) in [(8, Part::Nagle), (9, Part::CongestionWindow)] {
        let mut tape = Tape::new(Transport::Tcp);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = tape.send(Down, asked, 100);
        let head = delivered;
        for _ in 0..full {
            delivered = delivered.max(tape.send(Down, asked, FULL));
        }
        let acked = tape.send(Up, head, 0);
        let end = tape.send(Down, acked, 300);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Tcp, start, end)
        });
        assert_eq!(parts[part], RTT, "{full}: {parts:?}");
    }
}

/// A kernel that held a segment back sends it at once.
#[test]
fn an_application_may_write_shortly_after_an_acknowledgement() {
    assert_eq!(beside_longer_segments(300, 2 * MS, None)[Part::Nagle], 0);
}

/// Short packets of QUIC wait for no acknowledgement.
#[test]
fn quic_has_no_nagle() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let head = tape.send(Up, start, 100);
    let received = tape.send(Down, head, 30);
    let asked = tape.send(Up, received, 300);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        request_bytes: 200,
        served: served(asked, asked),
        ..request(Transport::Quic, start, answered)
    });
    assert_eq!(parts[Part::Nagle], 0, "{parts:?}");
}

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
