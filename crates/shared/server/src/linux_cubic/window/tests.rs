use super::*;

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(50);
const MTU: u16 = 1_200;

/// A connection that sends what its window allows, and gets all of it acknowledged a round trip later.
struct Model {
    window: Window,
    now: Instant,
    number: u64,
}

impl Model {
    fn new() -> Model {
        let now = Instant::now();
        Model {
            window: Window::new(now, MTU),
            now,
            number: 0,
        }
    }

    /// Sends up to `bytes`, and returns how much was sent and acknowledged in this round trip.
    fn round(&mut self, bytes: u64) -> u64 {
        // quinn sends while some of the window stays free.
        let packets = bytes.min(self.window.bytes() - 1) / u64::from(MTU);
        let sent = self.now;
        for _ in 0..packets {
            self.window.sent(self.now, u64::from(MTU), self.number);
            self.number += 1;
        }
        self.now += RTT;
        for _ in 0..packets {
            self.window.acked(sent, u64::from(MTU), RTT);
        }
        let rtt = RoundTrip {
            least: RTT,
            smoothed: RTT,
        };
        let largest = self.number.checked_sub(1);
        self.window.all_acked(self.now, 0, largest, rtt);
        packets * u64::from(MTU)
    }

    /// Sends a file, and returns the round trips that took.
    fn file(&mut self, mut bytes: u64) -> u32 {
        let mut rounds = 0;
        while bytes >= u64::from(MTU) {
            bytes -= self.round(bytes);
            rounds += 1;
        }
        rounds
    }
}

#[test]
fn the_window_begins_with_ten_segments_and_doubles() {
    let mut model = Model::new();
    assert_eq!(model.window.bytes(), 14_480);
    let windows: Vec<u64> = (0..4)
        .map(|_| {
            model.round(u64::MAX);
            model.window.bytes()
        })
        .collect();
    for (before, after) in windows.iter().zip(&windows[1..]) {
        let growth = *after as f64 / *before as f64;
        assert!((1.9..=2.0).contains(&growth), "{windows:?}");
    }
}

/// Where the application ends before the window is full, quinn's own control does not grow.
#[test]
fn the_window_grows_to_twice_what_the_application_uses() {
    let mut model = Model::new();
    for _ in 0..20 {
        model.round(12_000);
    }
    let bytes = model.window.bytes();
    assert!((24_000..36_000).contains(&bytes), "{bytes}");
    // A small share of the window does not let it grow.
    let mut idle = Model::new();
    for _ in 0..20 {
        idle.round(6_000);
    }
    assert_eq!(idle.window.bytes(), INITIAL_WINDOW_BYTES);
}

#[test]
fn a_warm_file_takes_the_round_trips_of_the_window_it_left() {
    let mut model = Model::new();
    let rounds = [60_000; 3].map(|bytes| model.file(bytes));
    assert_eq!(rounds, [3, 2, 1]);
}

#[test]
fn a_loss_takes_three_tenths_once_and_cubic_comes_back() {
    let mut model = Model::new();
    for _ in 0..4 {
        model.round(u64::MAX);
    }
    let before = model.window.bytes() as f64;
    let sent = model.now;
    model.window.lost(model.now + MS, sent, 0, false);
    model.window.lost(model.now + MS, sent, 0, false);
    let after = model.window.bytes() as f64;
    assert!((after / before - BETA).abs() < 0.001, "{before} {after}");
    model.now += RTT;
    // K = cbrt(0.3 W / C) seconds.
    let k = (before * 0.3 / SEGMENT_BYTES as f64 / C).cbrt();
    let rounds = (k / RTT.as_secs_f64()).ceil() as u32;
    for _ in 0..rounds {
        model.round(u64::MAX);
    }
    let back = model.window.bytes() as f64 / before;
    assert!((0.95..1.1).contains(&back), "{back} after {rounds} rounds");
}

#[test]
fn losses_of_all_packets_leave_two_of_them() {
    let mut model = Model::new();
    model.round(u64::MAX);
    let sent = model.now;
    model.window.lost(model.now + MS, sent, 0, true);
    assert_eq!(model.window.bytes(), 2 * u64::from(MTU));
    assert!(model.window.threshold() > model.window.bytes());
}

#[test]
fn the_least_window_grows_again() {
    let mut model = Model::new();
    let sent = model.now;
    model.window.lost(model.now + MS, sent, 0, true);
    model.now += RTT;
    let rounds = (0..40).take_while(|_| {
        model.round(u64::MAX);
        model.window.bytes() < INITIAL_WINDOW_BYTES
    });
    assert!(rounds.count() < 30, "{}", model.window.bytes());
}

#[test]
fn acknowledgements_are_not_in_flight_and_end_no_pause() {
    let mut model = Model::new();
    for _ in 0..4 {
        model.round(u64::MAX);
    }
    let before = model.window.bytes();
    model.now += Duration::from_secs(1);
    model.window.sent(model.now, 40, model.number);
    model.round(2_400);
    assert!(model.window.bytes() < before / 4);
}

/// Without a loss yet, Linux grows by a twentieth at least.
#[test]
fn before_the_first_loss_growth_does_not_stall() {
    let mut model = Model::new();
    for _ in 0..4 {
        model.round(u64::MAX);
    }
    model.window.threshold = model.window.bytes;
    let before = model.window.bytes() as f64;
    for _ in 0..10 {
        model.round(u64::MAX);
    }
    let growth = model.window.bytes() as f64 / before;
    assert!((1.4..2.0).contains(&growth), "{growth}");
}

#[test]
fn a_pause_halves_the_window_down_to_the_initial_one() {
    let mut model = Model::new();
    for _ in 0..4 {
        model.round(u64::MAX);
    }
    let before = model.window.bytes();
    model.now += Duration::from_millis(260);
    model.round(2_400);
    assert!((model.window.bytes() as f64 / before as f64 - 0.5).abs() < 0.05);
    model.now += Duration::from_secs(60);
    model.round(2_400);
    assert_eq!(model.window.bytes(), INITIAL_WINDOW_BYTES);
}

#[test]
fn growth_without_a_full_window_needs_none_in_avoidance() {
    let mut model = Model::new();
    for _ in 0..3 {
        model.round(u64::MAX);
    }
    let sent = model.now;
    model.window.lost(model.now + MS, sent, 0, false);
    model.now += RTT;
    model.round(u64::MAX);
    model.round(12_000);
    model.round(12_000);
    let before = model.window.bytes();
    for _ in 0..50 {
        model.round(12_000);
    }
    assert_eq!(model.window.bytes(), before);
}
