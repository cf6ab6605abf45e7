//! Packets that look like repairs of a loss, and what tells them apart.

use super::*;

/// The server sends a packet on an acknowledgement, 2 ms after one that is lost. Nothing can have reported that loss
/// (RFC 9002 section 6.1).
#[test]
fn a_loss_of_the_last_moment_is_not_repaired() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered, 30);
    tape.lose(Down, acked - 2 * MS, FULL);
    let end = tape.send(Down, acked, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Quic, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, RTT)];
    assert_eq!(present(&parts), expected);
}

/// The same, but the server's application writes the last packet 1 ms after the acknowledgement. Its window has room.
#[test]
fn a_loss_of_the_last_moment_leaves_the_window_as_it_was() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..5 {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered, 0);
    tape.lose(Down, acked - 2 * MS, FULL);
    let end = tape.send(Down, acked + MS, FULL);
    let parts = tape.parts(&Request {
        served: responding(asked, asked, acked + MS),
        ..request(Transport::Tcp, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::Server, RTT + MS)];
    assert_eq!(present(&parts), expected);
}

/// The request is lost at first. Later the server's application pauses within the response, in which nothing is lost.
#[test]
fn a_loss_that_is_repaired_explains_no_later_pause() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    tape.lose(Up, start, 200);
    let asked = tape.send(Up, start + 200 * MS, 200);
    tape.send(Down, asked, FULL);
    let end = tape.send(Down, asked + 40 * MS, FULL);
    let parts = tape.parts(&Request {
        served: responding(asked, asked, asked + 40 * MS),
        ..request(Transport::Quic, start, end)
    });
    assert_eq!(
        present(&parts),
        [
            (Part::Exchange, RTT),
            (Part::LossTimer, 200 * MS),
            (Part::Server, 40 * MS),
        ]
    );
}

/// The end of another response is lost before the call, or during it. The client's application takes its time to send
/// the request, and repairs nothing: it has sent nothing that the server could have answered.
#[test]
fn a_client_repairs_no_loss_of_another_response() {
    for (lost, received) in [(450, Some(505)), (505, None)] {
        let mut tape = Tape::new(Transport::Quic);
        tape.send(Up, 400 * MS, 30);
        tape.lose(Down, lost * MS, FULL);
        if let Some(at_ms) = received {
            tape.send(Down, at_ms * MS - DELAY, FULL);
        }
        let start = 500 * MS;
        let asked = tape.send(Up, start + 40 * MS, 200);
        let answered = tape.send(Down, asked, 150);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Quic, start, answered)
        });
        let expected = [(Part::Exchange, RTT), (Part::Client, 40 * MS)];
        assert_eq!(present(&parts), expected, "{lost}");
    }
}

/// The client's application sends the request late, after an acknowledgement of its own is lost, or a packet of an earlier
/// call. The first is never repaired (RFC 9002 section 2), and the other is no part of this call.
#[test]
fn what_a_client_lost_before_a_late_request_is_not_repaired_by_it() {
    let start = 500 * MS;
    let lost = [(start + MS, 30), (start - 3 * MS, FULL)];
    for (lost_ns, payload) in lost {
        let mut tape = Tape::new(Transport::Quic);
        tape.lose(Up, lost_ns, payload);
        tape.send(Up, start + 2 * MS, 30);
        let asked = tape.send(Up, start + 40 * MS, 200);
        let answered = tape.send(Down, asked, 150);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Quic, start, answered)
        });
        let expected = [(Part::Exchange, RTT), (Part::Client, 40 * MS)];
        assert_eq!(present(&parts), expected, "{payload}");
    }
}

/// The client's credit is lost, and its acknowledgement arrives, on which the server sends at once: no timer has expired.
#[test]
fn an_answer_that_arrives_ends_a_wait_although_another_is_lost() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.send(Down, asked, FULL);
    }
    tape.lose(Up, delivered, 100);
    let acked = tape.send(Up, delivered, 30);
    let end = tape.send(Down, acked, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Quic, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, RTT)];
    assert_eq!(present(&parts), expected);
}
