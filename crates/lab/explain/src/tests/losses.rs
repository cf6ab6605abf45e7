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
        tape.last().seq = tape.packets[copied].seq;
    }
    tape.parts(&Request {
        served: served(asked, asked),
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
    tape.last().seq = copied;
    let parts = tape.parts(&Request {
        served: served(asked, asked),
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
        served: served(asked, asked),
        ..request(Transport::Tcp, 0, answered)
    });
    let expected = [
        (Part::TcpHandshake, RTT),
        (Part::Exchange, RTT),
        (Part::LossTimer, 1_000 * MS),
    ];
    assert_eq!(present(&parts), expected);
}

/// The server's answer to a SYN or a first flight is lost: the client repeats what had arrived.
#[test]
fn a_lost_answer_is_repaired_by_the_clients_timer() {
    for transport in [Transport::Tcp, Transport::Quic] {
        let mut tape = Tape::new(transport);
        let repeated = 300 * MS;
        let asked = match transport {
            Transport::Tcp => {
                let arrived = tape.send(Up, 0, 0);
                tape.packets[0].tcp_flags = SYN;
                tape.lose(Down, arrived, 0);
                tape.packets[1].tcp_flags = SYN | ACK;
                let connected = tape.open(repeated);
                tape.packets[2].seq = 0;
                tape.packets[3].seq = 0;
                tape.send(Up, connected, 200)
            }
            Transport::Quic => {
                let hello = tape.shake(Up, 0, 1_200);
                tape.push(PORT, Down, hello, 1_200, true, 0xc0);
                let hello = tape.shake(Up, repeated, 1_200);
                let secured = tape.shake(Down, hello, 1_200);
                tape.send(Up, secured, 200)
            }
        };
        let answered = tape.send(Down, asked, 150);
        let parts = tape.parts(&Request {
            secured_ns: (transport == Transport::Quic).then_some(asked - DELAY),
            served: served(asked, asked),
            ..request(transport, 0, answered)
        });
        assert_eq!(parts[Part::LossTimer], repeated, "{parts:?}");
        assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
        assert_eq!(parts[Part::Client], 0, "{parts:?}");
    }
}

/// A QUIC server that pauses after an acknowledgement was lost repairs nothing: it worked.
#[test]
fn a_lost_acknowledgement_is_not_repaired() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.lose(Down, asked, 30);
    let answered = tape.send(Down, asked + 40 * MS, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked + 40 * MS),
        ..request(Transport::Quic, start, answered)
    });
    let expected = [(Part::Exchange, RTT), (Part::Server, 40 * MS)];
    assert_eq!(present(&parts), expected);
}

/// QUIC finds a loss an eighth of a round trip after the acknowledgement that shows it (RFC 9002 section 6.1.2).
#[test]
fn the_time_threshold_of_quic_is_no_timer() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.lose(Down, asked, FULL);
    let delivered = tape.send(Down, asked, FULL);
    let acked = tape.send(Up, delivered, 30);
    let end = tape.send(Down, acked + RTT / 8, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Quic, start, end)
    });
    assert_eq!(parts[Part::LossFast], RTT, "{parts:?}");
    assert_eq!(parts[Part::LossTimer], 0, "{parts:?}");
}

/// The window of a response is reduced by losses of its own, and not by those of the connection's past.
#[test]
fn losses_of_earlier_requests_do_not_name_the_window() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    tape.lose(Down, 100 * MS, FULL);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered, 0);
    let end = tape.send(Down, acked, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, RTT)];
    assert_eq!(present(&parts), expected);
}

/// A sender waits a quarter of a round trip and 2 ms for packets that are late (RFC 8985 section 6.2), and no timer.
#[test]
fn a_sender_that_allows_for_reordering_repairs_fast() {
    for (waited, part) in [(14 * MS, Part::LossFast), (15 * MS, Part::LossTimer)] {
        let mut tape = Tape::new(Transport::Tcp);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        tape.lose(Down, asked, FULL);
        let lost = tape.packets.last().unwrap().seq;
        let delivered = tape.send(Down, asked, FULL);
        let acked = tape.send(Up, delivered, 0);
        let end = tape.send(Down, acked + waited, FULL);
        tape.last().seq = lost;
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Tcp, start, end)
        });
        assert!(parts[part] >= RTT, "{waited}: {parts:?}");
    }
}

/// A QUIC sender spreads a flight over 8 ms, loses its first packet, and pauses.
#[test]
fn a_flight_that_is_paced_is_one() {
    let mut tape = Tape::new(Transport::Quic);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.lose(Down, asked, FULL);
    for number in 1..=4 {
        tape.send(Down, asked + 2 * number * MS, FULL);
    }
    let end = tape.send(Down, asked + 200 * MS, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Quic, start, end)
    });
    assert_eq!(parts[Part::LossTimer], 192 * MS, "{parts:?}");
}

/// The bottleneck sends a copy of what was lost.
#[test]
fn the_time_that_copies_take_is_their_own() {
    let mut tape = Tape::at_rate(Transport::Tcp, 1_000_000);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.lose(Down, asked, FULL);
    let lost = tape.packets.last().unwrap().seq;
    let delivered = tape.send(Down, asked, FULL);
    let acked = tape.send(Up, delivered, 0);
    let end = tape.send(Down, acked, FULL);
    tape.last().seq = lost;
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    assert_eq!(parts[Part::LinkBusyCopies], 1_440 * 8_000, "{parts:?}");
}

/// The last two of three segments are lost. A timeout repeats the first of them, and its acknowledgement the other
/// (RFC 5681 section 3.1), unless a later segment has come, which SACK reports.
#[test]
fn a_loss_that_no_sack_has_reported_was_found_by_a_timer() {
    let permitted = TcpOptions {
        sack: Sack::Permitted,
        ..scaled(14)
    };
    let slow = 200 * MS + RTT;
    let beyond = Some(2 * u32::from(FULL));
    for (syn_options, reported, fast_ns, timer_ns) in [
        ([permitted; 2], None, 0, slow + RTT),
        ([permitted; 2], Some(0), 0, slow + RTT),
        ([permitted; 2], beyond, RTT, slow),
        ([permitted, scaled(14)], None, RTT, slow),
    ] {
        let mut tape = Tape {
            syn_options,
            ..Tape::new(Transport::Tcp)
        };
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let acked = tape.send(Down, asked, FULL) + DELAY;
        tape.send(Up, acked - DELAY, 0);
        let lost = tape.packets.len();
        tape.lose(Down, asked, FULL);
        tape.lose(Down, asked, FULL);
        let [second, third] = [lost, lost + 1].map(|at| tape.packets[at].seq);
        let repeated = tape.send(Down, acked + 200 * MS, FULL);
        tape.last().seq = second;
        let acked = tape.send(Up, repeated, 0);
        if let Some(bytes) = reported {
            tape.last().options.sack = Sack::UpTo(third + bytes);
        }
        let end = tape.send(Down, acked, FULL);
        tape.last().seq = third;
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Tcp, start, end)
        });
        let found = [Part::LossFast, Part::LossTimer].map(|part| parts[part]);
        assert_eq!(found, [fast_ns, timer_ns], "{syn_options:?}");
    }
}
