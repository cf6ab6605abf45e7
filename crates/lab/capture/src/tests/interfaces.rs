//! Captures of all interfaces of a host.

use super::*;

const LINUX_SLL: u16 = 113;
const LINUX_SLL2: u16 = 276;

/// Returns a talk over IPv6, or without identification, whose client repeats an acknowledgement at once.
fn with_repeated_acks() -> Talk {
    let mut talk = Talk::new();
    talk.ids = None;
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    let first = talk.data(DOWN, asked, 1_400);
    talk.ack(UP, first);
    talk.ack(UP, first + MS / 10);
    talk.data(DOWN, asked + 10 * MS, 1_400);
    talk
}

/// Returns a capture that has each packet on so many interfaces.
fn on_interfaces(frames: &[(u64, Vec<u8>)], link: u16, interfaces: u8) -> Capture {
    let mut all = Vec::new();
    for (at_ns, frame) in frames {
        for interface in 0..interfaces {
            let header = match link {
                LINUX_SLL2 => [&[8, 0, 0, 0, 0, 0, 0, interface][..], &[0; 12]].concat(),
                _ => [&[0; 14][..], &[8, 0]].concat(),
            };
            let at_ns = at_ns + u64::from(interface) * 20_000;
            all.push((at_ns, [&header[..], &frame[14..]].concat()));
        }
    }
    Capture::read("any", &pcap(link, &all)).unwrap()
}

#[test]
fn a_packet_on_two_interfaces_is_one_without_identification() {
    let talk = with_repeated_acks();
    for end in [UP, DOWN] {
        let captures = |link| {
            let any = on_interfaces(&talk.frames[end], link, 2);
            explain(&[any, talk.capture(1 - end)], None).unwrap()
        };
        let named = captures(LINUX_SLL2);
        let connection = &named.connections[0];
        assert_eq!((connection.lost, connection.missed), (Some(0), [0, 0]));
        assert_eq!((connection.seen_twice, connection.packets), (8, 8));
        // Interfaces that have no names: an acknowledgement that is repeated looks like one that is seen twice.
        let unnamed = captures(LINUX_SLL);
        let connection = &unnamed.connections[0];
        assert_eq!((connection.lost, connection.missed), (Some(0), [0, 0]));
    }
}

/// On a short path a packet may be sent again within a millisecond.
#[test]
fn a_packet_that_is_sent_twice_on_an_interface_is_two() {
    let mut talk = with_repeated_acks();
    let seq = talk.sent[DOWN].wrapping_sub(1_400);
    let again_ns = 85 * MS + MS / 2;
    talk.push_at(DOWN, again_ns, ACK, (seq, 1_400, b'x'), Luck::default());
    for (interfaces, seen_twice) in [(1, 0), (2, 9)] {
        let mut frames = talk.frames[DOWN].clone();
        frames.sort_by_key(|(at_ns, _)| *at_ns);
        let any = on_interfaces(&frames, LINUX_SLL2, interfaces);
        let found = explain(&[any], None).unwrap();
        let connection = &found.connections[0];
        assert_eq!((connection.seen_twice, connection.packets), (seen_twice, 9));
    }
}
