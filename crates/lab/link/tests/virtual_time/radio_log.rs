//! A golden log of the radio of the built-in network `lte`: packets of a fixed pattern, and its states.
//!
//! `COMMUTE_GOLDEN=write` rewrites it.

use std::fmt::Write as _;

use link::{Departure, Direction, NS_PER_MS, Path, Radio, find};

use crate::common::arrival;

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/virtual_time/lte-radio.txt"
);
const SEED: u64 = 11;
const END_NS: u64 = 120_000 * NS_PER_MS;
/// When packets come, in ms, and whether from the phone: on an idle radio, in DRX, just before idle and after it, in both
/// directions, and one that meets the promotion of another.
const PACKETS: [(u64, bool); 14] = [
    (1_000, true),
    (1_100, false),
    (1_500, true),
    (2_500, false),
    (12_000, false),
    (25_000, false),
    (25_100, true),
    (40_000, true),
    (40_050, true),
    (50_399, true),
    (61_000, false),
    (61_001, false),
    (80_000, false),
    (80_900, true),
];

#[test]
fn the_states_of_lte_are_unchanged() {
    testing::golden(GOLDEN, &log());
}

fn log() -> String {
    let network = find("lte").unwrap();
    let spec = network.up.radio.as_ref().unwrap();
    let radio = Radio::new(spec, SEED);
    let mut text = "packet at ms  direction  arrives at ms\n".to_owned();
    let mut up = Path::with_radio(&network.up, Direction::Up, SEED, Some(&radio));
    let mut down = Path::with_radio(&network.down, Direction::Down, SEED, Some(&radio));
    up.start(0);
    down.start(0);
    let mut arrived = [None; PACKETS.len()];
    let mut poll = |up: &mut Path, down: &mut Path, until_ns: u64| {
        for path in [up, down] {
            while let Some(Departure::Deliver { at_ns, token }) = path.poll(until_ns) {
                arrived[token as usize] = Some(at_ns);
            }
        }
    };
    for (token, (at_ms, from_phone)) in (0..).zip(PACKETS) {
        let at_ns = at_ms * NS_PER_MS;
        poll(&mut up, &mut down, at_ns);
        let path = if from_phone { &mut up } else { &mut down };
        path.offer(at_ns, arrival(at_ns, token, 100, 0).packet);
    }
    poll(&mut up, &mut down, END_NS);
    for ((at_ms, from_phone), arrived_ns) in PACKETS.iter().zip(arrived) {
        let direction = if *from_phone { "up" } else { "down" };
        let arrived = ms(arrived_ns.expect("nothing is lost"));
        writeln!(text, "{at_ms:>12}  {direction:<9}  {arrived:>13}").unwrap();
    }
    text += "\nstate from ms  state\n";
    for change in radio.log(END_NS).changes {
        let from = ms(change.at_ns);
        writeln!(text, "{from:>13}  {}", change.state.name(spec)).unwrap();
    }
    text
}

fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / NS_PER_MS as f64)
}
