//! Pauses of senders that pace their packets, and pauses that look like it.

use super::*;

/// Gaps of 2 ms between packets that the server had handed over together.
#[test]
fn packets_that_leave_one_by_one_are_paced() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut end = 0;
    for number in 0..9 {
        end = tape.send(Down, asked + 2 * number * MS, FULL);
    }
    let request = request(Transport::Quic, start, end);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request
    });
    assert_eq!(
        present(&parts),
        [(Part::Exchange, RTT), (Part::Timer, 16 * MS)]
    );
    let written_one_by_one = tape.parts(&Request {
        served: responding(asked, asked, asked + 16 * MS),
        ..request
    });
    assert_eq!(written_one_by_one[Part::Server], 16 * MS);
}

/// A host that is busy sends packets of a burst up to 0.5 ms apart.
#[test]
fn gaps_within_a_burst_are_not_paced() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut end = 0;
    for number in 0..9 {
        end = tape.send(Down, asked + number * MS / 4, FULL);
    }
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Quic, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::Server, 2 * MS)];
    assert_eq!(present(&parts), expected);
}

/// Acknowledgements are not paced (RFC 9002 section 7.7), also those of a client that still uploads when the server
/// begins to respond.
#[test]
fn an_acknowledgement_during_an_upload_is_not_paced() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let mut asked = 0;
    for _ in 0..10 {
        asked = tape.send(Up, start, FULL);
    }
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered + MS, 30);
    let end = tape.send(Down, acked, FULL);
    let rest = tape.send(Up, acked, FULL);
    let parts = tape.parts(&Request {
        sent_ns: Some(start),
        request_bytes: 11 * u64::from(FULL),
        served: Some(Served {
            received_ns: Some(rest),
            ..served(asked, asked).unwrap()
        }),
        ..request(Transport::Quic, start, end)
    });
    let expected = [
        (Part::Exchange, RTT),
        (Part::CongestionWindow, RTT),
        (Part::Client, MS),
    ];
    assert_eq!(present(&parts), expected);
}

/// The client has sent its whole request, and sends credit when its application has read. Without a log it is unknown
/// that this is credit.
#[test]
fn credit_of_a_client_is_not_paced() {
    for has_log in [false, true] {
        let mut tape = Tape::new(Transport::Quic);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = 0;
        for _ in 0..10 {
            delivered = tape.send(Down, asked, FULL);
        }
        tape.send(Up, delivered, 30);
        let credited = tape.send(Up, delivered + 3 * MS, 100);
        let end = tape.send(Down, credited, FULL);
        let parts = tape.parts(&Request {
            sent_ns: Some(start),
            served: served(asked, asked).filter(|_| has_log),
            ..request(Transport::Quic, start, end)
        });
        assert_eq!(parts[Part::Timer], 0, "{has_log} {parts:?}");
        if has_log {
            assert_eq!(parts[Part::Client], 3 * MS, "{parts:?}");
        }
    }
}

/// Two segments are lost, which an acknowledgement reports. The server repeats the first at once and the other 2 ms later.
#[test]
fn repairs_that_leave_one_by_one_are_paced() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let lost = [0, 1].map(|_| {
        tape.lose(Down, asked, FULL);
        tape.last().seq
    });
    let delivered = (0..3).map(|_| tape.send(Down, asked, FULL)).max().unwrap();
    let acked = tape.send(Up, delivered, 0);
    tape.send(Down, acked, FULL);
    tape.last().seq = lost[0];
    let end = tape.send(Down, acked + 2 * MS, FULL);
    tape.last().seq = lost[1];
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    assert_eq!(
        present(&parts),
        [
            (Part::Exchange, RTT),
            (Part::LossFast, RTT),
            (Part::Timer, 2 * MS),
        ]
    );
}
