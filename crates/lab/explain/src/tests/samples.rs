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

/// A packet of a response is lost, and its server had sent all of it. The acknowledgement of what came after reports the
/// loss, and the server paces the repair.
#[test]
fn a_server_with_nothing_left_repairs_a_loss() {
    let found = |is_lost: bool, written_ms: u64| {
        let mut tape = Tape::new(Transport::Quic);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        if is_lost {
            tape.lose(Down, asked, FULL);
        }
        // The last is too late after the loss for one flight.
        let sent = (1..=5).map(|number| asked + 4 * number * MS);
        let delivered = sent.map(|at| tape.send(Down, at, FULL)).max().unwrap();
        let acked = tape.send(Up, delivered, 30);
        let end = tape.send(Down, acked + MS, FULL);
        let sample = SenderSample {
            at_ns: acked,
            app_limited: true,
        };
        let parts = tape.parts(&Request {
            served: responding(asked, asked, asked + written_ms * MS),
            sender: Some(SenderLog {
                samples: &[sample],
                was_blocked: false,
            }),
            ..request(Transport::Quic, start, end)
        });
        [Part::LossFast, Part::Timer, Part::Server].map(|part| parts[part])
    };
    assert_eq!(found(true, 0), [RTT, 21 * MS, 0]);
    // It may have written the rest of the response then.
    assert_eq!(found(true, 71), [0, 0, RTT + 21 * MS]);
    // Nothing was to be repaired.
    assert_eq!(found(false, 0), [0, 16 * MS, RTT + 5 * MS]);
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
