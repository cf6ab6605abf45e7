//! Captures that are larger than what is followed.

use super::*;

/// Returns a short connection beside one of many packets.
fn long_and_short() -> Talk {
    let mut long = Talk::new();
    long.client_port = 4_001;
    long.sent = [5_000, 9_000];
    let connected = long.open(0);
    let asked = long.data(UP, connected, 200);
    for _ in 0..100 {
        long.data(DOWN, asked, 1_400);
    }
    let mut short = Talk::new();
    let connected = short.open(10 * MS);
    let asked = short.data(UP, connected, 200);
    short.data(DOWN, asked, 300);
    long.add(&short);
    long
}

fn within(talk: &Talk, limits: Limits) -> [Capture; 2] {
    [0, 1].map(|end: usize| {
        let mut frames = talk.frames[end].clone();
        frames.sort_by_key(|(at_ns, _)| *at_ns);
        Capture::read_within("a", &pcap(ETHERNET, &frames), limits).unwrap()
    })
}

#[test]
fn a_long_connection_leaves_room_for_others() {
    let talk = long_and_short();
    let few_segments = Limits {
        of_ends: 50,
        ..LIMITS
    };
    let few_pieces = Limits {
        pieces: 50,
        ..LIMITS
    };
    for (limits, expected) in [
        (few_segments, "more than 50 segments"),
        (few_pieces, "more than 50 pieces"),
    ] {
        let captures = within(&talk, limits);
        for captures in [&captures[..1], &captures[..]] {
            let found = explain(captures, None).unwrap();
            let [long, short] = &found.connections[..] else {
                panic!("{} connections", found.connections.len());
            };
            let reason = long.not_explained.as_ref().unwrap();
            assert!(reason.contains(expected), "{reason}");
            assert_eq!((long.exchanges.len(), short.exchanges.len()), (0, 1));
            assert_eq!(short.exchanges[0].duration_ns, 2 * RTT);
        }
    }
}

/// Both captures of the long connection have 208 pieces, and those of the short one 10.
#[test]
fn short_connections_are_followed_first() {
    let limits = Limits {
        pieces: 212,
        ..LIMITS
    };
    let found = explain(&within(&long_and_short(), limits), None).unwrap();
    let exchanges = found.connections.iter().map(|of| of.exchanges.len());
    assert_eq!(exchanges.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_capture_with_too_many_segments_is_refused_with_the_bound() {
    let mut talk = Talk::new();
    talk.open(0);
    talk.data(UP, RTT, 200);
    let limits = Limits {
        segments: 3,
        ..LIMITS
    };
    let file = pcap(ETHERNET, &talk.frames[0]);
    let error = Capture::read_within("a", &file, limits).unwrap_err();
    let expected = "a: packet 4: more than 3 TCP segments: keep some connections";
    assert!(error.to_string().starts_with(expected), "{error}");
}
