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
