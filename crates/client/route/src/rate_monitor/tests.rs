use super::*;

const MS: Duration = Duration::from_millis(1);

/// Runs two transports with these rates in bytes per ms, the other one after a delay. Returns when the advice to
/// switch or stay came, in ms, the advice, and the byte where the other transport takes over.
fn run(length: u64, this: u64, other: u64) -> (u64, RateAdvice, u64) {
    let mut pace = RateMonitor::new(length, 0);
    let (mut from, mut began) = (0, None);
    for ms in 0..60_000_u64 {
        let mut advice = pace.received(this, MS);
        if let RateAdvice::Compare { from: at, bytes } = advice {
            (from, began) = (at, Some(ms));
            pace.comparing(at, bytes);
            advice = RateAdvice::Continue;
        }
        // 130 ms to connect, 70 ms for the first byte.
        let first = began.map(|began| began + 200);
        if let Some(since) = first.and_then(|first| ms.checked_sub(first))
            && advice == RateAdvice::Continue
        {
            let took = Duration::from_millis(since.max(70));
            advice = pace.other_received(other, Duration::ZERO, took);
        }
        if advice != RateAdvice::Continue {
            return (ms, advice, from);
        }
        if pace.position >= length {
            break;
        }
    }
    (0, RateAdvice::Continue, from)
}

#[test]
fn a_policed_body_switches_within_two_and_a_half_seconds() {
    // 200 kbit/s against 10 Mbit/s.
    let (ms, advice, from) = run(10_000_000, 25, 1_250);
    assert!(
        matches!(advice, RateAdvice::Switch { ratio } if ratio > 20.0),
        "{advice:?}"
    );
    assert!((1_200..2_500).contains(&ms), "{ms}");
    assert!(from <= 60_000, "the slow way still owes {from} bytes");
}

#[test]
fn ways_that_share_a_bottleneck_stay() {
    for (this, other) in [(600, 600), (500, 700), (900, 300)] {
        let (_, advice, _) = run(10_000_000, this, other);
        assert_eq!(advice, RateAdvice::Stay, "{this} {other}");
    }
}

/// Returns a body at this rate in bytes per ms that has just been compared, with the first byte and length of the
/// compared part.
fn compared(length: u64, this: u64) -> (RateMonitor, u64, u64) {
    let mut pace = RateMonitor::new(length, 0);
    loop {
        if let RateAdvice::Compare { from, bytes } = pace.received(this, MS) {
            pace.comparing(from, bytes);
            return (pace, from, bytes);
        }
    }
}

#[test]
fn what_was_held_back_by_a_loss_does_not_hide_a_slow_way() {
    let (mut pace, _, bytes) = compared(10_000_000, 25);
    assert_eq!(
        pace.other_received(1_000, MS, 50 * MS),
        RateAdvice::Continue
    );
    assert_eq!(pace.received(100_000, MS), RateAdvice::Continue);
    let advice = pace.other_received(bytes - 1_000, 200 * MS, 200 * MS);
    assert!(matches!(advice, RateAdvice::Switch { .. }), "{advice:?}");
}

#[test]
fn what_came_while_the_app_was_away_is_no_fast_way() {
    let (mut pace, _, bytes) = compared(10_000_000, 300);
    let took = Duration::from_secs(2);
    assert_eq!(
        pace.other_received(bytes, Duration::ZERO, took),
        RateAdvice::Stay
    );
}

#[test]
fn what_connecting_took_says_nothing_of_a_way() {
    let (_, advice, _) = run(20_000_000, 500, 6_000);
    assert!(matches!(advice, RateAdvice::Switch { .. }), "{advice:?}");
}

#[test]
fn two_slow_ways_are_judged_by_what_came_in_time() {
    let (ms, advice, _) = run(10_000_000, 2, 20);
    assert!(matches!(advice, RateAdvice::Switch { .. }), "{advice:?}");
    assert!((5_900..6_100).contains(&ms), "{ms}");
    assert_eq!(
        run(10_000_000, 2, 4).1,
        RateAdvice::Stay,
        "too little to judge by"
    );
    assert_eq!(run(10_000_000, 20, 25).1, RateAdvice::Stay);
}

#[test]
fn a_small_share_of_the_rest_is_asked_for_twice() {
    for (length, sample) in [
        (600_000, MIN_SAMPLE_BYTES),
        (3_225_000, 50_000),
        (20_000_000, MAX_SAMPLE_BYTES),
    ] {
        let (_, from, bytes) = compared(length, 25);
        assert_eq!((from, bytes), (50_000, sample), "{length}");
    }
}

#[test]
fn a_part_that_has_come_this_way_is_not_taken_from_the_other() {
    let (mut pace, from, bytes) = compared(10_000_000, 25);
    let rest_of_part = from + bytes - pace.position;
    assert_eq!(pace.received(rest_of_part, MS), RateAdvice::Continue);
    assert_eq!(pace.received(1, MS), RateAdvice::Stay);
}

#[test]
fn short_rests_and_slow_apps_are_left_alone() {
    assert_eq!(run(1_000_000, 400, 4_000), (0, RateAdvice::Continue, 0));
    assert_eq!(run(500_000, 25, 1_250), (0, RateAdvice::Continue, 0));
    let mut pace = RateMonitor::new(10_000_000, 0);
    for _ in 0..1_000 {
        assert_eq!(pace.received(25, Duration::ZERO), RateAdvice::Continue);
    }
}

#[test]
fn it_is_compared_once_unless_it_slows_down() {
    let mut pace = RateMonitor::new(100_000_000, 0);
    let mut compared = Vec::new();
    for ms in 0..20_000 {
        let rate = if ms < 10_000 { 1_000 } else { 400 };
        match pace.received(rate, MS) {
            RateAdvice::Compare { from, bytes } => {
                compared.push(ms / 1_000);
                pace.comparing(from, bytes);
            }
            RateAdvice::Stay => pace.settled(pace.position),
            _ => {}
        }
    }
    assert_eq!(compared, [0, 14]);
}

#[test]
fn what_comes_in_bursts_is_compared_once() {
    let mut pace = RateMonitor::new(2_000_000, 0);
    let mut compared = 0;
    // 32 kB/s, of which nothing comes for two seconds in five.
    for ms in 0..60_000 {
        let rate = match ms % 5_000 {
            2_000..4_000 => 0,
            4_000..5_000 => 96,
            _ => 32,
        };
        match pace.received(rate, MS) {
            RateAdvice::Compare { from, bytes } => {
                compared += 1;
                pace.comparing(from, bytes);
            }
            RateAdvice::Stay => pace.settled(pace.position),
            _ => {}
        }
    }
    assert_eq!(compared, 1);
}

#[test]
fn parts_that_are_asked_for_twice_are_a_small_share_of_the_body() {
    for length in [600_000, 2_000_000, 20_000_000] {
        let mut pace = RateMonitor::new(length, 0);
        let mut parts = Vec::new();
        // Slower and slower: each time is worth a look.
        for window in 0_i32.. {
            let advice = pace.received(
                (length as f64 / 20.0 * 0.8_f64.powi(window)) as u64,
                RateMonitor::WINDOW,
            );
            match advice {
                RateAdvice::Compare { from, bytes } => {
                    parts.push(bytes);
                    pace.comparing(from, bytes);
                }
                RateAdvice::Stay => pace.settled(pace.position),
                _ if window > 200 => break,
                _ => {}
            }
        }
        let sum: u64 = parts.iter().sum();
        let least = if length < 1_000_000 { 1 } else { 2 };
        assert!(parts.len() >= least, "{parts:?}");
        assert!(parts.len() == 1 || sum <= length / 32, "{parts:?}");
    }
}

#[test]
fn a_way_that_brings_nothing_is_given_up() {
    assert_eq!(run(10_000_000, 25, 0).1, RateAdvice::Stay);
}
