//! The critical path of one call: which call is printed, how, and what is said if it has none. All figures are invented.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use record::{CallPath, CallResult, PacketFate, PacketKind, PathPacket, PathStep, RunData};
use report::{PathOf, call_path};

const WANTED: PathOf<'_> = PathOf {
    call: 1,
    network: Some("nowhere"),
    arm: Some("hyper h2"),
    block: None,
};

fn packet(up: bool, arrival_us: i64, payload_bytes: u16, offset: Option<u64>) -> PathPacket {
    PathPacket {
        number: 0,
        up,
        arrival_ns: arrival_us * 1_000,
        payload_bytes,
        offset,
        kind: None,
        fate: PacketFate::Delivered,
        copy: false,
    }
}

fn step(part: &str, from_us: u64, to_us: u64, packet: Option<PathPacket>) -> PathStep {
    PathStep {
        part: part.into(),
        from_ns: from_us * 1_000,
        to_ns: to_us * 1_000,
        packet,
    }
}

/// Returns a run of two arms on one network. The first call of the first arm has this path.
fn data(steps: Vec<PathStep>, end_us: u64, left_out: u32) -> RunData {
    let data = invented::data(&invented::quickstart()[..3], &["nowhere"], 2, 1);
    let mut cells = data.cells().to_vec();
    let cell = cells
        .iter_mut()
        .find(|cell| cell.arm == "hyper h2")
        .unwrap();
    cell.calls[0].path = Some(CallPath { steps, left_out });
    cell.calls[0].end_ns = end_us * 1_000;
    RunData::new(data.run().clone(), cells).unwrap()
}

fn refusal(data: &RunData, wanted: PathOf<'_>) -> String {
    call_path(data, &wanted).unwrap_err()
}

#[test]
fn steps_are_printed_with_their_packets() {
    let syn = PathPacket {
        kind: Some(PacketKind::Syn),
        ..packet(true, 900, 0, None)
    };
    let lost = PathPacket {
        fate: PacketFate::Lost,
        copy: true,
        ..packet(false, 26_100, 1428, Some(1428))
    };
    let data = data(
        vec![
            step("client", 0, 900, Some(syn.clone())),
            step("link_busy", 900, 1_028, Some(syn.clone())),
            step("tcp_handshake", 1_028, 26_030, Some(syn)),
            step(
                "server",
                26_030,
                26_100,
                Some(packet(false, 26_100, 0, None)),
            ),
            step(
                "link_busy",
                26_100,
                27_276,
                Some(packet(false, 26_100, 1428, Some(0))),
            ),
            step(
                "link_busy",
                27_276,
                28_452,
                Some(packet(false, 26_100, 1428, Some(1428))),
            ),
            step(
                "link_busy",
                28_452,
                29_000,
                Some(packet(false, 26_100, 700, Some(2856))),
            ),
            // The first waits for its sender's timer, the second is on its way.
            step(
                "loss_timer",
                29_000,
                229_000,
                Some(packet(false, 229_000, 1428, Some(9))),
            ),
            step("loss_timer", 229_000, 254_000, Some(lost)),
            step(
                "exchange",
                300_000,
                325_000,
                Some(packet(false, 299_000, 85, None)),
            ),
            step("\u{1b}new", 325_000, 325_010, None),
            step("client", 325_010, 325_500, None),
        ],
        325_500,
        4,
    );
    let expected = "\
Call 1 of hyper h2 on nowhere, block 0: 325.50 ms
  h2, cold connection, 26 B sent, 26 B received

 at ms    took  client  server  part                    packet
  0.00    0.90  #            |  client                  up, SYN
  0.90    0.13  |     ##     |  link busy               up, SYN
  1.03   25.00  |----------->|  TCP handshake           up, SYN
 26.03    0.07  |            #  server                  down, ACK
 26.10    2.90  |     ##     |  link busy               down, 3 packets, 3556 B at 0
 29.00  200.00  |            #  loss recovery by timer  down, 1428 B at 9
229.00   25.00  |<-----------|  loss recovery by timer  down, 1428 B at 1428, copy, lost
254.00   46.00                  ...                     4 steps left out
300.00   25.00  |<-----------|  request and response    down, 85 B
325.00    0.01  |     ??     |  \u{fffd}new
325.01    0.49  #            |  client
        325.50                  together

";
    let text = call_path(&data, &WANTED).unwrap().human();
    assert_eq!(text.split("`#`").next(), Some(expected), "{text}");
}

/// A download over a busy link is one line, and no line is wider than a terminal.
#[test]
fn equal_steps_share_a_line() {
    let busy = |at: u64| {
        let packet = packet(false, 5, 1428, Some(at * 1428));
        step("link_busy", at * 1_000, at * 1_000 + 1_000, Some(packet))
    };
    let data = data((0..90).map(busy).collect(), 90_000, 0);
    let text = call_path(&data, &WANTED).unwrap().human();
    let expected =
        "\n 0.00  90.00  |     ##     |  link busy  down, 90 × 1428 B at 0\n       90.00";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

/// Steps that were left out would else be counted as part of a line.
#[test]
fn steps_beside_a_gap_share_no_line() {
    let busy = |from: u64, to: u64| step("link_busy", from, to, Some(packet(false, 5, 1428, None)));
    let data = data(vec![busy(0, 10_000), busy(30_000, 40_000)], 40_000, 7);
    let text = call_path(&data, &WANTED).unwrap().human();
    let expected = "\
 0.00  10.00  |     ##     |  link busy  down, 1428 B
10.00  20.00                  ...        7 steps left out
30.00  10.00  |     ##     |  link busy  down, 1428 B
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_record_without_room_says_so() {
    let data = data(Vec::new(), 90_000, 5);
    let text = call_path(&data, &WANTED).unwrap().human();
    assert!(
        text.contains("\n 0.00  90.00                  ...       5 steps left out\n"),
        "{text}"
    );
}

#[test]
fn what_is_named_must_be_one_call() {
    let data = data(Vec::new(), 90_000, 5);
    let unnamed = PathOf {
        arm: None,
        network: None,
        ..WANTED
    };
    assert_eq!(
        refusal(&data, unnamed),
        "the run has several arms; name one with --arm: hyper h2, hyper h2 again, quinn h3"
    );
    let other_arm = PathOf {
        arm: Some("okhttp h2"),
        ..WANTED
    };
    assert_eq!(
        refusal(&data, other_arm),
        "the run has no arm `okhttp h2`; it has: hyper h2, hyper h2 again, quinn h3"
    );
    let block = PathOf {
        block: Some(2),
        ..WANTED
    };
    assert_eq!(
        refusal(&data, block),
        "no block 2 of `hyper h2` on `nowhere`: measured are 0, 1"
    );
    let call = PathOf { call: 17, ..WANTED };
    assert_eq!(
        refusal(&data, call),
        "no call 17 of `hyper h2` on `nowhere`: its calls are 1 to 16"
    );
}

#[test]
fn a_call_without_a_path_says_how_to_get_one() {
    let plain = data(Vec::new(), 90_000, 5);
    let second = PathOf { call: 2, ..WANTED };
    assert_eq!(
        refusal(&plain, second),
        "call 2 of `hyper h2` on `nowhere` has no path: the run kept none; measure again with --explain: commute run \
         studies/invented.toml --blocks 2 --seed 7 --jobs 2 --explain"
    );
    let mut run = plain.run().clone();
    run.settings.explain = true;
    let mut cells = plain.cells().to_vec();
    let explained = RunData::new(run.clone(), cells.clone()).unwrap();
    let reason = refusal(&explained, second);
    assert!(
        reason.ends_with("neither end reports the client's port"),
        "{reason}"
    );
    for (connection, is_concerned) in [(1, true), (2, false)] {
        for cell in &mut cells {
            let (start_ns, end_ns) = (cell.calls[1].start_ns, cell.calls[1].ended_ns());
            let at_ns = if is_concerned { end_ns } else { start_ns - 1 };
            cell.moves = vec![record::Move {
                at_ns,
                ..record::Move::default()
            }];
            cell.calls[0].connection = 1;
            cell.calls[1].connection = connection;
        }
        let moved = RunData::new(run.clone(), cells.clone()).unwrap();
        let reason = refusal(&moved, second);
        let says_so = reason.contains("no path: the phone moved");
        assert_eq!(says_so, is_concerned, "{reason}");
    }
    for cell in &mut cells {
        cell.stack.clock = "own".to_owned();
    }
    let own = RunData::new(run.clone(), cells.clone()).unwrap();
    let reason = refusal(&own, second);
    assert!(reason.contains("has a clock of its own"), "{reason}");
    for cell in &mut cells {
        cell.calls[1].result = CallResult::TimedOut;
    }
    let timed_out = RunData::new(run, cells).unwrap();
    let reason = refusal(&timed_out, second);
    assert!(reason.ends_with("has no path: it timed out"), "{reason}");
}
