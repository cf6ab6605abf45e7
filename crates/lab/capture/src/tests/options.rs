//! TCP's options: cut off, and maximum segment sizes.

use super::*;

/// A shift of windows by 7.
const SCALED: &[u8] = &[1, 3, 3, 7];
/// A maximum segment size of 1,000.
const SHORT: &[u8] = &[2, 4, 3, 0xe8];
/// Ethernet's, IP's and TCP's headers without options.
const FIXED_BYTES: usize = 54;

/// Returns a download in three flights, with windows that are small unless they are scaled.
fn scaled() -> Talk {
    let mut talk = Talk::new();
    talk.options = [SCALED; 2];
    let connected = talk.open(0);
    talk.windows = [1_000; 2];
    let mut flight = talk.data(UP, connected, 200);
    for _ in 0..3 {
        let mut last = 0;
        for _ in 0..10 {
            last = talk.data(DOWN, flight, 1_400);
        }
        flight = talk.ack(UP, last);
    }
    talk
}

fn cut(talk: &Talk, kept: usize) -> Explained {
    let captures = [0, 1].map(|end: usize| {
        let mut frames = talk.frames[end].clone();
        frames.sort_by_key(|(at_ns, _)| *at_ns);
        Capture::read("cut", &pcap_cut(ETHERNET, &frames, kept)).unwrap()
    });
    explain(&captures, None).unwrap()
}

#[test]
fn no_window_is_named_whose_scale_is_cut_off() {
    let talk = scaled();
    let whole = talk.both();
    assert!(!whole.connections[0].lacks_options);
    assert_eq!(part_ms(&whole, 0, Part::CongestionWindow), 100);
    let found = cut(&talk, FIXED_BYTES);
    assert!(found.connections[0].lacks_options);
    assert_eq!(
        parts(&found, 0),
        [
            (Part::TcpHandshake, 50),
            (Part::Exchange, 50),
            (Part::Unexplained, 100)
        ]
    );
}

#[test]
fn no_repair_is_named_whose_report_is_cut_off() {
    let mut talk = Talk::new();
    talk.options = [SCALED; 2];
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    let seq = talk.sent[DOWN];
    talk.push(DOWN, asked, ACK, 300, b'x', LOST);
    let again = asked + 300 * MS;
    talk.push_at(DOWN, again, ACK, (seq, 300, b'x'), Luck::default());
    assert_eq!(part_ms(&talk.both(), 0, Part::LossTimer), 300);
    let found = cut(&talk, FIXED_BYTES);
    assert_eq!(part_ms(&found, 0, Part::Unexplained), 300);
}

/// Each end's option limits the other's segments.
#[test]
fn segments_are_as_long_as_their_receiver_takes() {
    for (options, has_offload) in [
        ([&[][..], SHORT], [true, false]),
        ([SHORT, &[]], [false, true]),
    ] {
        for side in [UP, DOWN] {
            let mut talk = Talk::new();
            talk.options = options;
            let connected = talk.open(0);
            let bytes = |of: usize| if of == side { 1_400 } else { 200 };
            let asked = talk.data(UP, connected, bytes(UP));
            talk.data(DOWN, asked, bytes(DOWN));
            assert_eq!(talk.at(0).connections[0].has_offload, has_offload[side]);
        }
    }
}
