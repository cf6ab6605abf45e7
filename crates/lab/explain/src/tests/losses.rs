//! Losses, and copies of what was not lost.

use super::*;

/// Sends a response of five packets with one lost, and its copy on the third later one, or by a timer.
fn with_loss(transport: Transport, lost: usize) -> Parts {
    let mut tape = Tape::new(transport);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = asked;
    let mut copied = 0;
    for number in 0..5 {
        if number == lost {
            copied = tape.packets.len();
            tape.lose(Down, asked, FULL);
        } else {
            delivered = tape.send(Down, asked, FULL);
            tape.send(Up, delivered, 0);
        }
    }
    let repaired = match lost {
        4 => delivered + DELAY + 200 * MS,
        _ => delivered + DELAY,
    };
    let end = tape.send(Down, repaired, FULL);
    if transport == Transport::Tcp {
        tape.packets.last_mut().unwrap().seq = tape.packets[copied].seq;
    }
    tape.parts(&Request {
        server_ns: Some((asked, asked)),
        response_bytes: 5 * u64::from(FULL),
        ..request(transport, start, end)
    })
}

#[test]
fn losses_are_repaired_fast_or_by_a_timer() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let expected = [(Part::Exchange, RTT), (Part::LossFast, RTT)];
        assert_eq!(present(&with_loss(transport, 1)), expected, "{transport:?}");
        let expected = [(Part::Exchange, RTT), (Part::LossTimer, RTT + 200 * MS)];
        assert_eq!(present(&with_loss(transport, 4)), expected, "{transport:?}");
    }
}

/// A pause between two requests is no pause of a sender that waits for a loss.
#[test]
fn a_loss_of_an_earlier_request_is_not_repaired_by_this_one() {
    let mut tape = Tape::new(Transport::Quic);
    tape.lose(Down, 0, FULL);
    tape.send(Down, MS, FULL);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked, FULL);
    let parts = tape.parts(&Request {
        response_bytes: u64::from(FULL),
        ..request(Transport::Quic, start, answered)
    });
    assert_eq!(
        parts[Part::LossFast] + parts[Part::LossTimer],
        0,
        "{parts:?}"
    );
}

/// A copy of bytes that had arrived completes nothing: the client has been busy since they did.
#[test]
fn a_copy_of_delivered_bytes_completes_nothing() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let answered = tape.send(Down, asked, 150);
    let copied = tape.packets.last().unwrap().seq;
    tape.send(Down, asked + 5 * MS, 150);
    tape.packets.last_mut().unwrap().seq = copied;
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        ..request(Transport::Tcp, start, answered + 9 * MS)
    });
    let expected = [(Part::Exchange, RTT), (Part::Client, 9 * MS)];
    assert_eq!(present(&parts), expected);
}

#[test]
fn a_lost_syn_is_repaired_by_a_timer() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.lose(Up, 0, 0);
    tape.packets[0].tcp_flags = SYN;
    let connected = tape.open(1_000 * MS);
    tape.packets[1].seq = 0;
    tape.packets[2].ack = 1;
    let asked = tape.send(Up, connected, 200);
    let answered = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        server_ns: Some((asked, asked)),
        ..request(Transport::Tcp, 0, answered)
    });
    let expected = [
        (Part::TcpHandshake, RTT),
        (Part::Exchange, RTT),
        (Part::LossTimer, 1_000 * MS),
    ];
    assert_eq!(present(&parts), expected);
}
