//! Two captures.

use super::*;

/// Returns a request that the server answers after 80 ms.
fn slow_server() -> Talk {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected + 3 * MS, 200);
    talk.data(DOWN, asked + 80 * MS, 300);
    talk
}

const SLOW: [(Part, u64); 4] = [
    (Part::TcpHandshake, 50),
    (Part::Exchange, 50),
    (Part::Client, 3),
    (Part::Server, 80),
];

#[test]
fn captures_in_any_order_show_where_the_time_went() {
    let talk = slow_server();
    let captures = [talk.capture(0), talk.capture(1)];
    let found = explain(&captures, Some(1)).unwrap();
    assert_eq!(parts(&found, 0), SLOW);
    let connection = &found.connections[0];
    assert_eq!(connection.captured_at, End::Both);
    assert_eq!(
        (connection.packets, connection.lost, connection.missed),
        (5, Some(0), [0, 0])
    );
    assert_eq!(connection.missing_bytes, [0, 0]);
    let path = connection.exchanges[0].path.as_ref().unwrap();
    let syn = path.steps[0].packet.as_ref().unwrap();
    assert_eq!(found.packets[syn.number as usize], [Some(1), Some(1)]);
    let swapped = explain(&[captures[1].clone(), captures[0].clone()], Some(1)).unwrap();
    assert_eq!(swapped, found);
}

#[test]
fn clocks_that_are_apart_and_a_nat_change_nothing() {
    let mut talk = Talk::new();
    talk.ahead_ns = 3_600_000 * MS;
    talk.seen_client = [203, 0, 113, 9];
    let connected = talk.open(0);
    let asked = talk.data(UP, connected + 3 * MS, 200);
    talk.data(DOWN, asked + 80 * MS, 300);
    let found = talk.both();
    assert_eq!(parts(&found, 0), SLOW);
    let clock = found.clock.unwrap();
    assert_eq!(clock.server_ahead_ns as u64, talk.ahead_ns);
    assert_eq!(clock.least_rtt_ns, RTT);
    assert_eq!(found.connections[0].client, "10.0.0.1:4000");
}

#[test]
fn a_packet_that_only_its_sender_has_was_lost() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    let seq = talk.sent[DOWN];
    talk.push(DOWN, asked, ACK, 300, b'x', LOST);
    let answered = talk.push_at(
        DOWN,
        asked + 300 * MS,
        ACK,
        (seq, 300, b'x'),
        Luck::default(),
    );
    talk.ack(UP, answered);
    let found = explain(&[talk.capture(0), talk.capture(1)], Some(1)).unwrap();
    assert_eq!(found.connections[0].lost, Some(1));
    assert_eq!(found.connections[0].missed, [0, 0]);
    let path = found.connections[0].exchanges[0].path.as_ref().unwrap();
    let packets = path.steps.iter().filter_map(|step| step.packet.as_ref());
    assert!(packets.clone().any(|packet| packet.copy), "{path:?}");
    assert_eq!(
        parts(&found, 0),
        [
            (Part::TcpHandshake, 50),
            (Part::Exchange, 50),
            (Part::LossTimer, 300)
        ]
    );
}

/// So many copies are matched in order.
#[test]
fn many_copies_of_a_packet_are_matched() {
    let mut talk = slow_server();
    let last = talk.sent[DOWN].wrapping_sub(1);
    for probe in 0..500 {
        let at_ns = (1_000 + probe) * MS;
        talk.push_at(DOWN, at_ns, ACK, (last, 1, b'x'), Luck::default());
    }
    let found = talk.both();
    let connection = &found.connections[0];
    // The response is cut where its last byte begins.
    assert_eq!((connection.packets, connection.lost), (506, Some(0)));
    assert_eq!(connection.missed, [0, 0]);
}

/// The first copy arrives, and then the second is lost; or the other way round. Copies that are sent soon after each other
/// are told apart by their headers.
#[test]
fn a_copy_that_arrives_is_told_from_one_that_is_lost() {
    for (apart_ms, ids) in [(10, Some(0)), (10, None), (1, Some(0))] {
        for arrives in [0, 1] {
            let mut talk = Talk::new();
            talk.ids = ids;
            let connected = talk.open(0);
            let seq = talk.sent[UP];
            let luck = [0, 1].map(|copy| {
                if copy == arrives {
                    Luck::default()
                } else {
                    LOST
                }
            });
            let first = talk.push(UP, connected, ACK, 200, b'x', luck[0]);
            let again = connected + apart_ms * MS;
            talk.push_at(UP, again, ACK, (seq, 200, b'x'), luck[1]);
            let asked = first + arrives * apart_ms * MS;
            let answered = talk.data(DOWN, asked, 300);
            talk.ack(UP, answered);
            let found = explain(&[talk.capture(0), talk.capture(1)], Some(1)).unwrap();
            let connection = &found.connections[0];
            assert_eq!(connection.lost, Some(1));
            assert_eq!(
                connection.exchanges[0].duration_ns,
                2 * RTT + arrives * apart_ms * MS
            );
            // The fourth and the fifth packet of the client, of which the server has one.
            let number = Some(4 + arrives as u32);
            assert!(
                found.packets.contains(&[number, Some(4)]),
                "{:?}",
                found.packets
            );
        }
    }
}

#[test]
fn a_gap_in_a_capture_is_no_loss() {
    for (luck, missed) in [(NOT_AT_CLIENT, [1, 0]), (NOT_AT_SERVER, [0, 1])] {
        for side in [UP, DOWN] {
            let mut talk = Talk::new();
            let connected = talk.open(0);
            let luck_of = |of: usize| if of == side { luck } else { Luck::default() };
            let asked = talk.push(UP, connected, ACK, 200, b'x', luck_of(UP));
            let answered = talk.push(DOWN, asked + 80 * MS, ACK, 300, b'x', luck_of(DOWN));
            talk.ack(UP, answered);
            let asked = talk.data(UP, answered + 10 * MS, 100);
            talk.data(DOWN, asked, 100);
            let found = talk.both();
            let connection = &found.connections[0];
            assert_eq!((connection.lost, connection.missed), (Some(0), missed));
            let bytes = [200, 300][side];
            assert_eq!(connection.missing_bytes, missed.map(|of| of as u64 * bytes));
            let named: Vec<Part> = parts(&found, 0).into_iter().map(|(part, _)| part).collect();
            assert!(
                !named.contains(&Part::LossTimer) && !named.contains(&Part::LossFast),
                "{named:?}"
            );
            assert!(named.contains(&Part::Unexplained), "{named:?}");
            // When the server received or sent what its capture missed is unknown, and with it how long it took.
            assert_eq!(named.contains(&Part::Server), missed == [1, 0], "{named:?}");
        }
    }
}

#[test]
fn what_comes_after_a_capture_ends_is_not_lost() {
    let mut talk = slow_server();
    talk.push(UP, 300 * MS, ACK, 700, b'x', NOT_AT_SERVER);
    let found = talk.both();
    assert_eq!(
        (found.connections[0].lost, found.connections[0].missed),
        (Some(0), [0, 0])
    );
}

#[test]
fn segments_of_an_offloading_sender_are_those_on_the_wire() {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    let seq = talk.sent[DOWN];
    talk.push(DOWN, asked, ACK, 2_920, b'x', NOT_AT_CLIENT);
    for (place, payload) in [(0, 1_000), (1_000, 1_000), (2_000, 920)] {
        let segment = (seq.wrapping_add(place), payload, b'x');
        talk.push_at(DOWN, asked, ACK, segment, NOT_AT_SERVER);
    }
    let found = talk.both();
    let connection = &found.connections[0];
    assert!(connection.has_offload);
    assert_eq!(
        (connection.lost, connection.missed, connection.packets),
        (Some(0), [0, 0], 7)
    );
    assert_eq!(
        parts(&found, 0),
        [(Part::TcpHandshake, 50), (Part::Exchange, 50)]
    );
}

#[test]
fn captures_that_cannot_be_compared_are_refused() {
    let talk = slow_server();
    let refused = |captures: [Capture; 2]| explain(&captures, None).unwrap_err().to_string();
    let same = refused([talk.capture(0), talk.capture(0)]);
    assert!(
        same.starts_with("client and client: both were made at the same end"),
        "{same}"
    );
    let mut other = Talk::new();
    other.sent[DOWN] = 12;
    other.open(0);
    let other = refused([talk.capture(0), other.capture(1)]);
    assert!(other.contains("no connection is in both"), "{other}");
    let mut drifting = Talk::new();
    let connected = drifting.open(0);
    let asked = drifting.data(UP, connected, 200);
    let answered = drifting.data(DOWN, asked, 300);
    // Within a minute the server's clock falls 60 ms behind.
    let later = answered + 60_000 * MS;
    drifting.ahead_ns = 0;
    drifting.frames[1]
        .iter_mut()
        .for_each(|(at_ns, _)| *at_ns += 60 * MS);
    let asked = drifting.data(UP, later, 100);
    drifting.data(DOWN, asked, 100);
    let drift = refused([drifting.capture(0), drifting.capture(1)]);
    assert!(drift.contains("the clocks drift"), "{drift}");
    assert!(drift.contains("10.000 ms before they were sent"), "{drift}");
}

#[test]
fn a_packet_that_is_captured_on_two_interfaces_is_one() {
    let mut talk = slow_server();
    for frames in &mut talk.frames {
        let again = frames
            .iter()
            .map(|(at_ns, frame)| (at_ns + 20_000, frame.clone()));
        let again: Vec<_> = again.collect();
        frames.extend(again);
    }
    let found = talk.both();
    let connection = &found.connections[0];
    assert_eq!(
        (connection.seen_twice, connection.packets, connection.lost),
        (10, 5, Some(0))
    );
    assert_eq!(parts(&found, 0), SLOW);
    assert_eq!(talk.at(0).connections[0].copies, Some(0));
}

#[test]
fn an_end_may_have_waited_for_what_both_captures_missed() {
    for (luck, server) in [(Luck::default(), Some(20)), (NOWHERE, None)] {
        let mut talk = Talk::new();
        let connected = talk.open(0);
        talk.data(UP, connected, 200);
        let body = talk.push(UP, connected + 60 * MS, ACK, 100, b'x', luck);
        let answered = talk.data(DOWN, body + 20 * MS, 300);
        talk.ack(UP, answered);
        let found = talk.both();
        let missing = server.map_or(100, |_| 0);
        assert_eq!(found.connections[0].missing_bytes, [missing; 2]);
        let of_server = parts(&found, 0)
            .into_iter()
            .find(|(part, _)| *part == Part::Server);
        assert_eq!(of_server.map(|(_, ms)| ms), server);
    }
}

#[test]
fn connections_of_a_port_in_turn_are_told_apart_and_those_the_other_way_left_out() {
    let mut first = slow_server();
    let mut second = Talk::new();
    second.sent = [5_000, 9_000];
    let connected = second.open(1_000 * MS);
    let asked = second.data(UP, connected, 200);
    second.data(DOWN, asked, 300);
    let mut third = Talk::new();
    third.sent = [6_000, 10_000];
    third.open(2_000 * MS);
    third.frames.reverse();
    for other in [second, third] {
        for (frames, others) in first.frames.iter_mut().zip(other.frames) {
            frames.extend(others);
        }
    }
    let found = first.both();
    let exchanges = found.connections.iter().map(|of| of.exchanges.len());
    assert_eq!(exchanges.collect::<Vec<_>>(), [1, 1]);
    assert_eq!(found.connections[1].exchanges[0].number, 2);
    assert_eq!(
        (found.left_out.reversed, found.left_out.in_one_capture),
        (1, 0)
    );
}
