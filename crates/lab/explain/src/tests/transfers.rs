//! What limits a transfer: windows, credit, the link.

use super::*;

/// Sends `window` full packets down at once on every acknowledgement of the earlier ones, doubling the window, until all
/// are sent; returns when the last is delivered.
pub(super) fn slow_start(tape: &mut Tape, at_ns: u64, mut left: u32, mut window: u32) -> u64 {
    let mut at_ns = at_ns;
    loop {
        let mut delivered = at_ns;
        for _ in 0..window.min(left) {
            delivered = tape.send(Down, at_ns, FULL);
        }
        left = left.saturating_sub(window);
        if left == 0 {
            return delivered;
        }
        at_ns = tape.send(Up, delivered, 0);
        window *= 2;
    }
}

#[test]
fn a_window_that_grows_costs_round_trips() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    // 10 + 20 + 40 of 70 packets.
    let end = slow_start(&mut tape, asked, 70, 10);
    // Not every server reports when it began to respond.
    for responded_ns in [Some(asked), None] {
        let parts = tape.parts(&Request {
            served: Some(Served {
                responded_ns,
                ..served(asked, asked).unwrap()
            }),
            ..request(Transport::Tcp, start, end)
        });
        let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, 2 * RTT)];
        assert_eq!(present(&parts), expected, "{responded_ns:?}");
    }
}

/// The client acknowledges everything, and gives credit later. The server may acknowledge that in a packet of its own.
#[test]
fn a_sender_with_everything_acknowledged_waits_for_credit() {
    for acknowledges_first in [false, true] {
        let mut tape = Tape::new(Transport::Tcp);
        tape.open(0);
        let start = 500 * MS;
        let asked = tape.send(Up, start, 200);
        let mut delivered = 0;
        for _ in 0..40 {
            delivered = tape.send(Down, asked, FULL);
        }
        tape.send(Up, delivered, 0);
        let credited = tape.send(Up, delivered + 3 * MS, 30);
        if acknowledges_first {
            tape.send(Down, credited, 0);
        }
        let end = tape.send(Down, credited + MS, FULL);
        let parts = tape.parts(&Request {
            served: served(asked, asked),
            ..request(Transport::Tcp, start, end)
        });
        let expected = match acknowledges_first {
            // All had been handed over: the packet after the acknowledgement is paced.
            true => (Part::Timer, MS),
            false => (Part::Server, MS),
        };
        assert_eq!(parts[expected.0], expected.1, "{parts:?}");
        assert_eq!(parts[Part::Exchange], RTT, "{parts:?}");
        assert_eq!(parts[Part::FlowControl], RTT, "{parts:?}");
        assert_eq!(parts[Part::Client], 3 * MS, "{parts:?}");
    }
}

/// A window of credit that is smaller than the congestion window: acknowledgements come without credit for a while.
#[test]
fn credit_for_half_a_window_is_flow_control() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    for number in 0..40 {
        tape.send(Down, asked + number * MS / 10, FULL);
    }
    for number in 0..20 {
        tape.send(Up, asked + DELAY + 2 * number * MS / 10, 0);
    }
    let credited = tape.send(Up, asked + DELAY + 4 * MS, 30);
    let end = tape.send(Down, credited, FULL);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    assert_eq!(parts[Part::FlowControl], RTT, "{parts:?}");
    assert_eq!(parts[Part::CongestionWindow], 0, "{parts:?}");
}

/// 2 MB at 10 Mbit/s: the link is the reason, and not the round trips during which it was busy.
#[test]
fn a_saturated_link_is_charged_as_bytes_over_rate() {
    let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let end = slow_start(&mut tape, asked, 1_430, 10);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    assert!(parts[Part::LinkBusy] * 100 > 95 * (end - start - RTT - parts[Part::CongestionWindow]));
    assert!(parts[Part::LinkBusy] > 1_600 * MS, "{parts:?}");
    assert_eq!(parts[Part::Unexplained], 0);
}

#[test]
fn another_flow_in_the_queue_is_charged_as_such() {
    let mut tape = Tape::at_rate(Transport::Tcp, 10_000_000);
    tape.open(0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    for _ in 0..100 {
        tape.push(OTHER_PORT, Down, asked - MS, FULL, false, 0x40);
    }
    let end = tape.send(Down, asked, 150);
    let parts = tape.parts(&Request {
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    });
    // 100 packets of 1,440 bytes take 115.2 ms, of which 1 ms had passed; the request's own two take a little.
    let others = 100 * 1_440 * 800 - MS;
    assert_eq!(parts[Part::LinkBusyOthers], others);
    assert_eq!(parts[Part::Exchange], RTT);
    assert_eq!(parts[Part::LinkBusy], (240 + 190) * 800);
    assert_eq!(parts.present().count(), 3, "{parts:?}");
}

/// Sequence numbers are used again after 4 GiB.
#[test]
fn bytes_after_four_gibibytes_are_no_copies() {
    let mut tape = Tape::new(Transport::Tcp);
    tape.open(0);
    let asked = tape.send(Up, 500 * MS, 200);
    let mut delivered = asked;
    for seq in [1, 1 << 30, 2 << 30, 3 << 30, 0] {
        delivered = tape.send(Down, delivered, FULL);
        tape.last().seq = seq;
        delivered = tape.send(Up, delivered, 0);
        tape.last().ack = seq.wrapping_add(FULL.into());
    }
    let crossings = tape.crossings();
    assert!(
        crossings
            .packets
            .iter()
            .all(|packet| packet.first_copy.is_none())
    );
    let acked = crossings.packets.iter().filter_map(|packet| packet.acked);
    assert_eq!(acked.max(), Some((1 << 32) + u64::from(FULL)));
}
