//! Pauses of an application in the middle of a transfer are no round trips.

use super::*;

/// Sends 14 packets of a response with a pause of the server in the middle, during which all is acknowledged.
fn with_pause(transport: Transport, pause_ns: u64, written_late: bool) -> (Tape, Parts) {
    let mut tape = Tape::new(transport);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = asked;
    for _ in 0..7 {
        delivered = tape.send(Down, asked, FULL);
    }
    tape.send(Up, delivered, 0);
    let resumed = asked + pause_ns;
    let mut end = resumed;
    for _ in 0..7 {
        end = tape.send(Down, resumed, FULL);
    }
    let written = if written_late { resumed } else { asked };
    let parts = tape.parts(&Request {
        served: responding(asked, asked, written),
        ..request(transport, start, end)
    });
    (tape, parts)
}

#[test]
fn a_server_that_pauses_within_a_response_is_charged_for_it() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let (_, parts) = with_pause(transport, 130 * MS, true);
        let expected = [(Part::Exchange, RTT), (Part::Server, 130 * MS)];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// An acknowledgement comes just before the server goes on. It allowed nothing: fewer packets were under way than a
/// connection may send at first.
#[test]
fn a_server_that_pauses_with_room_in_its_window_waits_for_no_acknowledgement() {
    let (_, parts) = with_pause(Transport::Tcp, RTT + MS, true);
    let expected = [(Part::Exchange, RTT), (Part::Server, RTT + MS)];
    assert_eq!(present(&parts), expected);
}

/// Returns how long a server waits for its congestion window, and for its application, in a response whose last packet
/// follows the acknowledgement of so many others. `prepare` sends what precedes the request.
fn waits_after(packets: u32, prepare: impl Fn(&mut Tape)) -> [u64; 2] {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    prepare(&mut tape);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..packets {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered, 0);
    let end = tape.send(Down, acked + MS, FULL);
    let parts = tape.parts(&Request {
        served: responding(asked, asked, acked + MS),
        ..request(Transport::Tcp, start, end)
    });
    [Part::CongestionWindow, Part::Server].map(|part| parts[part])
}

/// Ten packets fill the window that a connection begins with. A loss makes that window smaller, and so does a timer that
/// takes late packets for lost. A probe for a lost tail repeats the last packet and changes nothing (RFC 8985 section 7).
#[test]
fn a_sender_whose_window_may_be_full_waits_for_it() {
    let window = [RTT, MS];
    let application = [0, RTT + MS];
    assert_eq!(waits_after(9, |_| ()), application);
    assert_eq!(waits_after(10, |_| ()), window);
    let repeat = |tape: &mut Tape, packets_back: u32| {
        let again = tape.send(Down, 300 * MS, FULL);
        tape.last().seq -= packets_back * u32::from(FULL);
        tape.send(Up, again, 0);
    };
    let after_loss = waits_after(9, |tape| {
        tape.lose(Down, 200 * MS, FULL);
        repeat(tape, 1);
    });
    assert_eq!(after_loss, window);
    for (packets_back, expected) in [(2, window), (1, application)] {
        let after_copy = waits_after(9, |tape| {
            tape.send(Down, 200 * MS, FULL);
            tape.send(Down, 200 * MS, FULL);
            repeat(tape, packets_back);
        });
        assert_eq!(after_copy, expected, "{packets_back} packets back");
    }
}

/// A server probes an idle connection with the sequence number before the next (RFC 9293 section 3.8.4). It repeats nothing.
#[test]
fn a_probe_of_an_idle_connection_leaves_the_window_as_it_was() {
    let after_probe = waits_after(9, |tape| {
        let acked = tape.send(Up, 100 * MS, 0);
        tape.send(Down, acked, FULL);
        let probed = tape.send(Down, 300 * MS, 0);
        tape.last().seq -= 1;
        tape.send(Up, probed, 0);
    });
    assert_eq!(after_probe, [0, RTT + MS]);
}

/// Ten packets fill the window that a connection begins with. Two acknowledgements of half of them each come at once, and the
/// sender goes on after both.
#[test]
fn acknowledgements_that_come_together_leave_no_room_before_them() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let delivered = [0, 1].map(|half| {
        let sent = asked + half * MS;
        (0..5).map(|_| tape.send(Down, sent, FULL)).max().unwrap()
    });
    tape.send(Up, delivered[0], 0);
    let acked = tape.send(Up, delivered[1], 0);
    let end = tape.send(Down, acked + MS, FULL);
    let parts = tape.parts(&Request {
        served: responding(asked, asked, acked + MS),
        ..request(Transport::Tcp, start, end)
    });
    let waited = [Part::CongestionWindow, Part::Server].map(|part| parts[part]);
    assert_eq!(waited, [RTT, 2 * MS], "{parts:?}");
}

/// The same packets, but the server had handed over everything: its transport waited.
#[test]
fn a_sender_that_has_all_waits_for_its_window() {
    let (_, parts) = with_pause(Transport::Tcp, RTT + MS, false);
    assert_eq!(parts[Part::CongestionWindow], RTT, "{parts:?}");
}

/// An application that writes the second half of its request 40 ms after the first.
#[test]
fn a_client_that_writes_late_is_charged_for_it() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let head = tape.send(Up, start, 200);
        let body = tape.send(Up, start + 40 * MS, FULL);
        let answered = tape.send(Down, body, 150);
        let told = Request {
            sent_ns: Some(start + 40 * MS),
            request_bytes: u64::from(FULL),
            served: Some(Served {
                received_ns: Some(body),
                ..served(head, body).unwrap()
            }),
            ..request(transport, start, answered)
        };
        let expected = [(Part::Exchange, RTT), (Part::Client, 40 * MS)];
        assert_eq!(present(&tape.parts(&told)), expected, "{transport:?}");
        // If it had written everything before, its transport paused.
        let parts = tape.parts(&Request {
            sent_ns: Some(start),
            ..told
        });
        assert_eq!(parts[Part::Timer], 40 * MS, "{parts:?}");
    }
}

/// A request of less than a full packet fits into every window (RFC 9002 section 7.2): its client writes its second part when
/// an acknowledgement comes.
#[test]
fn a_small_request_in_two_packets_waits_for_no_window() {
    let mut tape = Tape::new(Transport::Quic);
    tape.send(Down, 400 * MS, FULL);
    let start = 500 * MS;
    let head = tape.send(Up, start, 500);
    let acked = tape.send(Down, head, 30);
    let asked = tape.send(Up, acked, 800);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        request_bytes: 1_300,
        served: Some(Served {
            received_ns: Some(asked),
            ..served(head, asked).unwrap()
        }),
        ..request(Transport::Quic, start, answered)
    });
    let expected = [(Part::Exchange, RTT), (Part::Client, RTT)];
    assert_eq!(present(&parts), expected);
}

/// An upload of more than one window: its rounds are those of a window, and no exchange.
#[test]
fn an_upload_waits_for_its_window() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        tape.open(0);
        let start = 500 * MS;
        let (mut at_ns, mut received) = (start, 0);
        for window in [10, 20] {
            for _ in 0..window {
                received = tape.send(Up, at_ns, FULL);
            }
            at_ns = tape.send(Down, received, 0);
        }
        let answered = tape.send(Down, received + MS, 150);
        let parts = tape.parts(&Request {
            sent_ns: Some(start),
            request_bytes: 30 * u64::from(FULL),
            served: Some(Served {
                received_ns: Some(received),
                ..served(start + DELAY, received + MS).unwrap()
            }),
            ..request(transport, start, answered)
        });
        let expected = [
            (Part::Exchange, RTT),
            (Part::CongestionWindow, RTT),
            (Part::Server, MS),
        ];
        assert_eq!(present(&parts), expected, "{transport:?}");
    }
}

/// The client reads late, and opens TCP's window with an acknowledgement that acknowledges nothing new.
#[test]
fn an_update_of_the_window_is_no_delayed_acknowledgement() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..5 {
        delivered = tape.send(Down, asked, FULL);
    }
    tape.send(Up, delivered, 0);
    let opened = tape.send(Up, delivered + 30 * MS, 0);
    let end = tape.send(Down, opened, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    assert_eq!(parts[Part::DelayedAck], 0, "{parts:?}");
    assert_eq!(parts[Part::Client], 30 * MS, "{parts:?}");
}

/// What the client does after the last byte has come, e.g. decode.
#[test]
fn nothing_that_comes_after_the_last_byte_counts() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked, 150);
    tape.send(Down, asked + 20 * MS, 150);
    let parts = tape.parts(&Request {
        received_ns: Some(answered),
        served: served(asked, asked),
        ..request(Transport::Tcp, start, answered + 30 * MS)
    });
    let expected = [(Part::Exchange, RTT), (Part::Client, 30 * MS)];
    assert_eq!(present(&parts), expected);
}

/// A response of 118 packets on a connection that was idle for 3 s: the server starts again from ten packets (RFC 5681
/// section 4.1), or keeps the window that it had.
#[test]
fn a_window_that_starts_again_after_a_pause_costs_round_trips() {
    // 10 + 20 + 40 + 80 packets.
    for (window, round_trips) in [(10, 3), (320, 0)] {
        let mut tape = Tape::new(Transport::Tcp);
        tape.open(0);
        let early = tape.send(Up, 500 * MS, 200);
        let quiet = super::transfers::slow_start(&mut tape, early, 118, 10);
        let start = quiet + 3_000 * MS;
        let asked = tape.send(Up, start, 200);
        let end = super::transfers::slow_start(&mut tape, asked, 118, window);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Tcp, start, end)
        });
        let waited = (Part::CongestionWindow, round_trips * RTT);
        let expected = [(Part::Exchange, RTT), waited].into_iter();
        let expected: Vec<_> = expected.filter(|&(_, ns)| ns > 0).collect();
        assert_eq!(present(&parts), expected);
    }
}

/// Ten chunks of a few bytes over QUIC, 50 ms apart: packets as small as acknowledgements.
#[test]
fn small_chunks_of_a_server_that_sleeps_are_data() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 40);
    let mut end = 0;
    for number in 0..10 {
        end = tape.send(Down, asked + 50 * number * MS, 36);
        tape.send(Up, end, 33);
    }
    let parts = tape.parts(&Request {
        served: responding(asked, asked, asked + 450 * MS),
        ..request(Transport::Quic, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::Server, 450 * MS)];
    assert_eq!(present(&parts), expected);
}
