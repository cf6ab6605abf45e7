//! Senders that wait for room in TCP's receive window, and senders whose window had room.

use super::*;

/// As many full segments as a window of 64 KiB holds.
const HELD: u32 = 46;

/// Opens a connection, and sends a request when that is long done. Returns when the request is delivered.
fn ask(tape: &mut Tape) -> (u64, u64) {
    let opened = tape.open(0);
    tape.send(Up, opened, 0);
    let start = 500 * MS;
    (start, tape.send(Up, start, 200))
}

/// Sends full segments of a response at once, and their acknowledgement. Returns when the server has that.
fn flight(tape: &mut Tape, at_ns: u64, segments: u32) -> u64 {
    let mut delivered = at_ns;
    for _ in 0..segments {
        delivered = tape.send(Down, at_ns, FULL);
    }
    tape.send(Up, delivered, 0)
}

/// Returns the parts of a response that the server had handed over when it had the request.
fn of_response(tape: &Tape, start: u64, asked: u64, end: u64) -> Parts {
    tape.parts(&Request {
        http: Http::One,
        served: served(asked, asked),
        ..request(Transport::Tcp, start, end)
    })
}

/// Returns the parts of a response of 100 segments that `in_flight` at a time leave the server.
fn download(mut tape: Tape, in_flight: u32) -> Vec<(Part, u64)> {
    let (start, asked) = ask(&mut tape);
    let first = flight(&mut tape, asked, in_flight);
    let second = flight(&mut tape, first, in_flight);
    let end = tape.send(Down, second, FULL);
    present(&of_response(&tape, start, asked, end))
}

fn with_options(syn_options: [TcpOptions; 2]) -> Tape {
    Tape {
        syn_options,
        ..Tape::new(Transport::Tcp)
    }
}

const UNSCALED: TcpOptions = TcpOptions {
    window_shift: None,
    sack: Sack::Absent,
};

#[test]
fn a_window_of_64_kib_costs_a_round_trip_each_time_it_is_full() {
    let expected = [(Part::Exchange, RTT), (Part::ReceiveWindow, 2 * RTT)];
    assert_eq!(download(with_options([UNSCALED; 2]), HELD), expected);
    // The room of 1,135 bytes that is left holds no full segment.
    assert_eq!(65_535 - HELD * u32::from(FULL), 1_135);
}

#[test]
fn windows_are_scaled_only_if_both_ends_offer_it() {
    let full = [(Part::Exchange, RTT), (Part::ReceiveWindow, 2 * RTT)];
    for options in [[scaled(7), UNSCALED], [UNSCALED, scaled(7)]] {
        assert_eq!(download(with_options(options), HELD), full, "{options:?}");
    }
    let has_room = [(Part::Exchange, RTT), (Part::CongestionWindow, 2 * RTT)];
    assert_eq!(download(with_options([scaled(7); 2]), HELD), has_room);
    // The shift is that of the window's sender: 511 << 7 is 65,408.
    let small = Tape {
        windows: [511, u16::MAX],
        ..with_options([scaled(7), scaled(0)])
    };
    assert_eq!(download(small, HELD), full);
}

/// A connection whose begin was not seen: its windows may be scaled.
#[test]
fn a_window_of_unknown_scale_is_not_named() {
    let mut tape = with_options([UNSCALED; 2]);
    flight(&mut tape, 0, 1);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    let first = flight(&mut tape, asked, HELD);
    let end = tape.send(Down, first, FULL);
    let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, RTT)];
    assert_eq!(present(&of_response(&tape, start, asked, end)), expected);
}

/// Up to the last segment that fits.
#[test]
fn a_congestion_window_smaller_than_the_receive_window_is_named() {
    for in_flight in [10, HELD - 1] {
        let tape = with_options([UNSCALED; 2]);
        let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, 2 * RTT)];
        assert_eq!(download(tape, in_flight), expected, "{in_flight}");
    }
}

/// An acknowledgement lets three segments follow, and another one 0.5 ms later a fourth, which goes beyond the edge from
/// before both.
#[test]
fn a_burst_beyond_an_earlier_edge_is_no_full_window() {
    let mut tape = with_options([UNSCALED; 2]);
    let (start, asked) = ask(&mut tape);
    let mut acked = [0; 2];
    for (at_ns, acked) in [asked, asked + MS / 2].into_iter().zip(&mut acked) {
        *acked = flight(&mut tape, at_ns, (HELD - 2) / 2);
    }
    for _ in 0..3 {
        tape.send(Down, acked[0], FULL);
    }
    let end = tape.send(Down, acked[1], FULL);
    let parts = of_response(&tape, start, asked, end);
    assert_eq!(parts[Part::ReceiveWindow], 0, "{parts:?}");
}

/// The last segment that fits leaves 0.5 ms before an acknowledgement makes room for another one.
#[test]
fn a_window_that_fills_at_the_last_moment_is_full() {
    let mut tape = with_options([UNSCALED; 2]);
    let (start, asked) = ask(&mut tape);
    let acked = flight(&mut tape, asked, HELD - 1);
    tape.send(Down, acked - MS / 2, FULL);
    let end = tape.send(Down, acked, FULL);
    let parts = of_response(&tape, start, asked, end);
    assert_eq!(parts[Part::ReceiveWindow], RTT, "{parts:?}");
}

/// A server that sends more than the window of which the link knows.
#[test]
fn a_segment_beyond_the_window_did_not_wait_for_it() {
    let mut tape = with_options([UNSCALED; 2]);
    tape.windows[0] = 10 * FULL;
    let (start, asked) = ask(&mut tape);
    tape.windows[0] = 0;
    let acked = flight(&mut tape, asked, 10);
    let end = tape.send(Down, acked, FULL);
    let expected = [(Part::Exchange, RTT), (Part::CongestionWindow, RTT)];
    assert_eq!(present(&of_response(&tape, start, asked, end)), expected);
}

/// A short last segment would have fitted into the room that was left.
#[test]
fn room_for_the_next_segment_is_room() {
    for (last, part) in [
        (1_135, Part::CongestionWindow),
        (1_136, Part::ReceiveWindow),
    ] {
        let mut tape = with_options([UNSCALED; 2]);
        let (start, asked) = ask(&mut tape);
        let first = flight(&mut tape, asked, HELD);
        let end = tape.send(Down, first, last);
        let parts = of_response(&tape, start, asked, end);
        assert_eq!(present(&parts), [(Part::Exchange, RTT), (part, RTT)]);
    }
}

/// Data of the client opens the window. The server acknowledges it in a packet of its own before it goes on.
#[test]
fn an_acknowledgement_of_the_sender_takes_no_room() {
    let mut tape = with_options([UNSCALED; 2]);
    let (start, asked) = ask(&mut tape);
    let mut delivered = 0;
    for _ in 0..HELD {
        delivered = tape.send(Down, asked, FULL);
    }
    let opened = tape.send(Up, delivered, 30);
    tape.send(Down, opened, 0);
    let end = tape.send(Down, opened, FULL);
    let parts = of_response(&tape, start, asked, end);
    let expected = [(Part::Exchange, RTT), (Part::ReceiveWindow, RTT)];
    assert_eq!(present(&parts), expected);
}

/// The window holds ten segments. The acknowledgement of the first makes room for just one more.
#[test]
fn a_segment_that_just_fits_waited_for_its_room() {
    let mut tape = with_options([UNSCALED; 2]);
    tape.windows[0] = 10 * FULL;
    let (start, asked) = ask(&mut tape);
    let first = tape.send(Down, asked, FULL);
    for _ in 0..9 {
        tape.send(Down, asked + 5 * MS, FULL);
    }
    let acked = tape.send(Up, first, 0);
    let end = tape.send(Down, acked, FULL);
    let parts = of_response(&tape, start, asked, end);
    let expected = [(Part::Exchange, RTT), (Part::ReceiveWindow, RTT)];
    assert_eq!(present(&parts), expected);
}

/// Two acknowledgements come 0.5 ms apart, and the server handles both together.
#[test]
fn acknowledgements_that_are_handled_together_open_the_window_together() {
    let mut tape = with_options([UNSCALED; 2]);
    let (start, asked) = ask(&mut tape);
    for _ in 0..HELD {
        tape.send(Down, asked, FULL);
    }
    tape.send(Up, asked + DELAY, 0);
    let second = tape.send(Up, asked + DELAY + MS / 2, 0);
    let end = tape.send(Down, second, FULL);
    let parts = of_response(&tape, start, asked, end);
    assert_eq!(parts[Part::ReceiveWindow], RTT, "{parts:?}");
}

/// The client acknowledges the segments that filled its window late: its host is late, or delays the acknowledgement.
#[test]
fn a_late_acknowledgement_that_opens_the_window_is_late_itself() {
    for (late_ms, part) in [(3, Part::Client), (40, Part::DelayedAck)] {
        let mut tape = with_options([UNSCALED; 2]);
        let (start, asked) = ask(&mut tape);
        let mut delivered = 0;
        for _ in 0..HELD {
            delivered = tape.send(Down, asked, FULL);
        }
        let acked = tape.send(Up, delivered + late_ms * MS, 0);
        let end = tape.send(Down, acked, FULL);
        let parts = of_response(&tape, start, asked, end);
        assert_eq!(parts[part], late_ms * MS, "{parts:?}");
        assert_eq!(parts[Part::ReceiveWindow], RTT, "{parts:?}");
    }
}

/// The request fills the server's receive window, which does not open. What the client acknowledges then probes nothing.
#[test]
fn an_acknowledgement_into_a_full_window_is_no_probe_that_anyone_awaits() {
    let mut tape = with_options([UNSCALED; 2]);
    tape.windows[1] = 200;
    let opened = tape.open(0);
    tape.send(Up, opened, 0);
    let start = 500 * MS;
    let asked = tape.send(Up, start, 200);
    tape.windows[1] = 0;
    let mut delivered = 0;
    for _ in 0..10 {
        delivered = tape.send(Down, asked, FULL);
    }
    let acked = tape.send(Up, delivered + 3 * MS, 0);
    let end = tape.send(Down, acked, FULL);
    let parts = of_response(&tape, start, asked, end);
    assert_eq!(
        present(&parts),
        [
            (Part::Exchange, RTT),
            (Part::CongestionWindow, RTT),
            (Part::Client, 3 * MS),
        ]
    );
}

/// The client's application reads 400 ms late: its window is closed until then. The server may probe it meanwhile, with
/// or without a byte.
#[test]
fn a_client_that_reads_late_is_charged_until_it_opens_its_window() {
    for probe_bytes in [None, Some(0), Some(1)] {
        let mut tape = with_options([UNSCALED; 2]);
        tape.windows[0] = 10 * FULL;
        let (start, asked) = ask(&mut tape);
        tape.windows[0] = 0;
        let closed = flight(&mut tape, asked, 10);
        let next = asked_bytes(&tape);
        for at_ns in [closed + 100 * MS, closed + 300 * MS] {
            let Some(bytes) = probe_bytes else { continue };
            let probed = tape.send(Down, at_ns, bytes);
            tape.last().seq = next - 1 + u32::from(bytes);
            tape.send(Up, probed, 0);
            tape.last().ack = next;
        }
        tape.windows[0] = u16::MAX;
        let opened = tape.send(Up, asked + DELAY + 400 * MS, 0);
        tape.last().ack = next;
        let end = tape.send(Down, opened, FULL);
        tape.last().seq = next;
        let expected = [
            (Part::Exchange, RTT),
            (Part::ReceiveWindow, RTT),
            (Part::Client, 400 * MS),
        ];
        let parts = of_response(&tape, start, asked, end);
        assert_eq!(present(&parts), expected, "{probe_bytes:?}");
    }
}

/// The segments that fill the window come 2 ms apart: the client's application is late from the last of them on.
#[test]
fn a_client_reads_late_after_all_that_it_acknowledges() {
    let mut tape = with_options([UNSCALED; 2]);
    tape.windows[0] = 10 * FULL;
    let (start, asked) = ask(&mut tape);
    tape.windows[0] = 0;
    let mut delivered = 0;
    for number in 0..10 {
        delivered = tape.send(Down, asked + 2 * number * MS, FULL);
    }
    tape.send(Up, delivered, 0);
    tape.windows[0] = u16::MAX;
    let opened = tape.send(Up, delivered + 400 * MS, 0);
    let end = tape.send(Down, opened, FULL);
    let parts = of_response(&tape, start, asked, end);
    assert_eq!(parts[Part::Client], 400 * MS, "{parts:?}");
    assert_eq!(parts[Part::ReceiveWindow], RTT, "{parts:?}");
}

/// Returns the sequence number that the server sends next.
fn asked_bytes(tape: &Tape) -> u32 {
    let down = tape
        .packets
        .iter()
        .filter(|packet| packet.direction == Down);
    down.map(TapRecordExt::bytes).sum()
}

/// The client opens its window only when it is asked: a timer of the server is what made it.
#[test]
fn a_window_that_a_probe_opens_was_full() {
    for (first_is_lost, probe_bytes) in [(false, 0), (true, 0), (false, 1)] {
        let mut tape = with_options([UNSCALED; 2]);
        tape.windows[0] = 10 * FULL;
        let (start, asked) = ask(&mut tape);
        tape.windows[0] = 0;
        let closed = flight(&mut tape, asked, 10);
        if first_is_lost {
            tape.lose(Down, closed + 100 * MS, 0);
        }
        let next = asked_bytes(&tape);
        let probed = tape.send(Down, closed + 200 * MS, probe_bytes);
        tape.windows[0] = u16::MAX;
        let opened = tape.send(Up, probed, 0);
        tape.last().ack = next;
        let end = tape.send(Down, opened, FULL);
        tape.last().seq = next;
        let parts = of_response(&tape, start, asked, end);
        let expected = [
            (Part::Exchange, RTT),
            (Part::ReceiveWindow, 2 * RTT + 200 * MS),
        ];
        assert_eq!(present(&parts), expected, "{first_is_lost} {probe_bytes}");
        // The byte of a probe comes again with those after it.
        let is_copy = |packet: &packet::Packet| packet.first_copy.is_some();
        assert!(!tape.crossings().packets.last().is_some_and(is_copy));
    }
}

/// Sends an upload of `HELD` segments and as many again, the second half on an acknowledgement.
fn upload(mut tape: Tape, window_of_syn: u16) -> Vec<(Part, u64)> {
    let window = std::mem::replace(&mut tape.windows[1], window_of_syn);
    let opened = tape.open(0);
    tape.windows[1] = window;
    tape.send(Up, opened, 0);
    tape.send(Down, opened + DELAY, 0);
    let start = 500 * MS;
    let (mut at_ns, mut received) = (start, 0);
    for _ in 0..2 {
        for _ in 0..HELD {
            received = tape.send(Up, at_ns, FULL);
        }
        at_ns = tape.send(Down, received, 0);
    }
    let answered = tape.send(Down, received + MS, 150);
    let parts = tape.parts(&Request {
        http: Http::One,
        sent_ns: Some(start),
        request_bytes: 2 * u64::from(HELD) * u64::from(FULL),
        served: Some(Served {
            received_ns: Some(received),
            ..served(start + DELAY, received + MS).unwrap()
        }),
        ..request(Transport::Tcp, start, answered)
    });
    present(&parts)
}

#[test]
fn an_upload_waits_for_the_servers_window() {
    let expected = [
        (Part::Exchange, RTT),
        (Part::ReceiveWindow, RTT),
        (Part::Server, MS),
    ];
    let full = upload(with_options([UNSCALED; 2]), u16::MAX);
    assert_eq!(full, expected);
    // The window of a SYN is never scaled (RFC 7323 section 2.2). Later ones are 511 << 7, which is 65,408.
    let small = Tape {
        windows: [u16::MAX, 511],
        ..with_options([scaled(7); 2])
    };
    assert_eq!(upload(small, u16::MAX), expected);
}
