//! What a server's congestion control reports.

use super::*;

/// Returns the parts of a response over QUIC in two flights. An acknowledgement allows the second 1 ms later. The server
/// reports what held it back so long after that acknowledgement, or before.
fn in_two_flights(told: Option<(i64, bool)>, was_blocked: bool) -> Parts {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered, 30);
    let end = tape.send(Down, acked + MS, FULL);
    let samples: Vec<SenderSample> = told
        .into_iter()
        .map(|(after_ns, app_limited)| SenderSample {
            at_ns: acked.saturating_add_signed(after_ns),
            app_limited,
        })
        .collect();
    tape.parts(&Request {
        served: responding(asked, asked, acked + MS),
        sender: Some(SenderLog {
            samples: &samples,
            was_blocked,
        }),
        ..request(Transport::Quic, start, end)
    })
}

/// Sends a response over QUIC in pieces, and may lose one. The acknowledgement of the others reports the loss, and the
/// server, which has nothing else to send, sends again so long after that. Returns the time until the loss was found, fast
/// or by a timer, and that of pacing, flow control and server.
fn with_nothing_left(
    lost: Option<u64>,
    written_ms: u64,
    waited_ms: u64,
    was_blocked: bool,
) -> [u64; 5] {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    // The last is too late after the first for one flight.
    for number in 0..6 {
        let at_ns = asked + 4 * number * MS;
        match lost == Some(number) {
            true => tape.lose(Down, at_ns, FULL),
            false => delivered = tape.send(Down, at_ns, FULL),
        }
    }
    let acked = tape.send(Up, delivered, 30);
    let end = tape.send(Down, acked + waited_ms * MS, FULL);
    let sample = SenderSample {
        at_ns: acked,
        app_limited: true,
    };
    let parts = tape.parts(&Request {
        served: responding(asked, asked, asked + written_ms * MS),
        sender: Some(SenderLog {
            samples: &[sample],
            was_blocked,
        }),
        ..request(Transport::Quic, start, end)
    });
    let of = [
        Part::LossFast,
        Part::LossTimer,
        Part::Timer,
        Part::FlowControl,
        Part::Server,
    ];
    of.map(|part| parts[part])
}

#[test]
fn a_server_with_nothing_left_repairs_a_loss() {
    for was_blocked in [false, true] {
        let repaired = with_nothing_left(Some(0), 0, 1, was_blocked);
        assert_eq!(repaired, [RTT, 0, 21 * MS, 0, 0]);
    }
    for lost in [0, 5] {
        let by_timer = with_nothing_left(Some(lost), 0, 100, false);
        let paced = if lost == 0 { 20 * MS } else { 16 * MS };
        assert_eq!(by_timer, [0, RTT + 100 * MS, paced, 0, 0], "{lost}");
    }
    // It may have written the rest of the response then.
    let written_late = with_nothing_left(Some(0), 71, 1, false);
    assert_eq!(written_late, [0, 0, 0, 0, RTT + 21 * MS]);
    // Nothing was to be repaired.
    let whole = with_nothing_left(None, 0, 1, false);
    assert_eq!(whole, [0, 0, 20 * MS, 0, RTT + MS]);
}

/// The first of two acknowledgements had reported the loss, which the server repaired at once.
#[test]
fn a_loss_is_repaired_once() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.lose(Down, asked, FULL);
    let delivered = (0..4).map(|_| tape.send(Down, asked, FULL)).max().unwrap();
    let acked = tape.send(Up, delivered, 30);
    let repaired = tape.send(Down, acked, FULL);
    let acked = tape.send(Up, repaired, 30);
    let end = tape.send(Down, acked + MS, FULL);
    let sample = SenderSample {
        at_ns: acked,
        app_limited: true,
    };
    let parts = tape.parts(&Request {
        served: responding(asked, asked, asked),
        sender: Some(SenderLog {
            samples: &[sample],
            was_blocked: false,
        }),
        ..request(Transport::Quic, start, end)
    });
    assert_eq!(parts[Part::LossFast], RTT, "{parts:?}");
    assert_eq!(parts[Part::Server], RTT + MS, "{parts:?}");
}

/// The server sends something else just before the request arrives, and the response long after it has handed over its
/// head, which no window held back.
#[test]
fn a_response_whose_server_is_slow_goes_back_to_the_request() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.send(Down, asked - 2 * MS, FULL);
    tape.send(Up, asked - 2 * MS, 30);
    let acked = tape.send(Up, start + 10 * MS, 30);
    let sample = SenderSample {
        at_ns: acked,
        app_limited: true,
    };
    let end = tape.send(Down, acked + MS, FULL);
    let parts = tape.parts(&Request {
        served: responding(asked, asked + MS, acked + MS),
        sender: Some(SenderLog {
            samples: &[sample],
            was_blocked: false,
        }),
        ..request(Transport::Quic, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::Server, 11 * MS)];
    assert_eq!(present(&parts), expected);
}

#[test]
fn a_server_tells_which_window_it_waited_for() {
    let waits = |told, was_blocked| {
        let parts = in_two_flights(told, was_blocked);
        assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
        let of = [Part::CongestionWindow, Part::FlowControl, Part::Server];
        of.map(|part| parts[part])
    };
    let ms = MS as i64;
    let window = [RTT, 0, MS];
    let credit = [0, RTT, MS];
    let application = [0, 0, RTT + MS];
    for was_blocked in [false, true] {
        assert_eq!(waits(Some((0, false)), was_blocked), window);
        // No sample is of that time.
        assert_eq!(waits(None, was_blocked), window);
        assert_eq!(waits(Some((ms + 1, true)), was_blocked), window);
        assert_eq!(waits(Some((-ms, true)), was_blocked), window);
    }
    assert_eq!(waits(Some((0, true)), true), credit);
    assert_eq!(waits(Some((ms, true)), true), credit);
    // The log left out the sample of that time, which was like the one shortly before.
    assert_eq!(waits(Some((1 - ms, true)), true), credit);
    assert_eq!(waits(Some((0, true)), false), application);
}

/// The server writes the end of its response, which is lost, 2 ms before an acknowledgement of what came before. Another
/// packet leaves then. The probe for a lost tail comes a round trip later, or more (RFC 9002 section 6.2).
#[test]
fn a_tail_that_was_just_lost_is_not_repaired() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let delivered = (0..5).map(|_| tape.send(Down, asked, FULL)).max().unwrap();
    let acked = tape.send(Up, delivered, 30);
    tape.lose(Down, acked - 2 * MS, FULL);
    let end = tape.send(Down, acked, FULL);
    let sample = SenderSample {
        at_ns: acked,
        app_limited: true,
    };
    let parts = tape.parts(&Request {
        served: responding(asked, asked, acked - 2 * MS),
        sender: Some(SenderLog {
            samples: &[sample],
            was_blocked: false,
        }),
        ..request(Transport::Quic, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::Server, RTT)];
    assert_eq!(present(&parts), expected);
}
