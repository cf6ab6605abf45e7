//! The radio: its rules and its log.

use link::{
    Begins, Direction, NS_PER_MS, Path, PathSpec, QueueSpec, Radio, RadioSpec, RadioState,
    RadioStateSpec, RateSpec, find,
};
use proptest::prelude::*;

use crate::common::{arrival, at_ns, poll_all, poll_on_time};

const MS: u64 = NS_PER_MS;
fn state(name: &str, after_ms: u64) -> RadioStateSpec {
    RadioStateSpec {
        name: name.to_owned(),
        after_ns: after_ms * MS,
        ..RadioStateSpec::default()
    }
}

/// Returns a radio that begins idle: 100 ms to sleep, where it listens every 50 ms, and 1000 ms to idle, with a promotion
/// of 200 ms.
fn radio() -> RadioSpec {
    radio_of(Begins::Idle, states())
}

fn radio_of(begins: Begins, states: Vec<RadioStateSpec>) -> RadioSpec {
    RadioSpec::new(begins, states).unwrap()
}

fn states() -> Vec<RadioStateSpec> {
    vec![
        state("connected", 0),
        RadioStateSpec {
            down_cycle_ns: 50 * MS,
            ..state("drx", 100)
        },
        RadioStateSpec {
            promotion_ns: 200 * MS,
            small_up_bytes: 50,
            ..state("idle", 1000)
        },
    ]
}

fn spec(radio: RadioSpec) -> PathSpec {
    PathSpec {
        radio: Some(radio),
        ..PathSpec::default()
    }
}

/// Returns when packets of these sizes, sent up at these times in ms, arrive, in ms.
fn up(radio: RadioSpec, packets: &[(u64, u32)]) -> Vec<u64> {
    let mut path = Path::new(&spec(radio), Direction::Up, 7);
    path.start(0);
    let arrivals: Vec<_> = (0..)
        .zip(packets)
        .map(|(token, &(at_ms, bytes))| arrival(at_ms * MS, token, bytes, 0))
        .collect();
    let departures = poll_on_time(&mut path, &arrivals);
    departures
        .iter()
        .map(|departure| at_ns(departure) / MS)
        .collect()
}

#[test]
fn packets_wait_for_the_promotion_together() {
    let packets = [(10, 100), (20, 100), (209, 100), (210, 100), (215, 100)];
    assert_eq!(up(radio(), &packets), [210, 210, 210, 210, 215]);
}

#[test]
fn a_packet_keeps_the_radio_awake() {
    // Awake at 200 ms, and then less than 1000 ms without a packet each time.
    let packets = [(0, 100), (1_100, 100), (2_099, 100), (3_099, 100)];
    assert_eq!(up(radio(), &packets), [200, 1_100, 2_099, 3_299]);
}

#[test]
fn a_radio_can_begin_connected() {
    let connected = radio_of(Begins::Connected, states());
    assert_eq!(up(connected, &[(999, 100), (2_000, 100)]), [999, 2_200]);
}

#[test]
fn small_packets_keep_their_state_but_no_more() {
    // The second small one begins the idle time again, so that the large one still finds it idle.
    let packets = [(0, 50), (900, 50), (1_000, 51), (1_100, 51)];
    assert_eq!(up(radio(), &packets), [0, 900, 1_200, 1_200]);
    // None to the phone is small.
    let mut down = Path::new(&spec(radio()), Direction::Down, 7);
    down.start(0);
    down.offer(0, arrival(0, 0, 50, 0).packet);
    assert_eq!(down.poll(0), None);
    assert_eq!(down.next_deadline(), Some(200 * MS));
}

#[test]
fn a_small_packet_that_is_still_being_carried_wakes_nothing() {
    // 40 ms for the small packet and 80 ms for the large one, which needs 200 ms of promotion.
    let slow = PathSpec {
        rate: RateSpec::constant(10_000),
        ..spec(radio())
    };
    let mut path = Path::new(&slow, Direction::Up, 7);
    path.start(0);
    let arrivals = [arrival(0, 0, 50, 0), arrival(10 * MS, 1, 100, 0)];
    let departures = poll_on_time(&mut path, &arrivals);
    let times: Vec<u64> = departures.iter().map(|d| at_ns(d) / MS).collect();
    assert_eq!(times, [40, 290]);
}

#[test]
fn a_phone_waits_for_a_grant_unless_it_is_still_sending() {
    let mut states = states();
    states[0].up_cycle_ns = 50 * MS;
    let slow = PathSpec {
        rate: RateSpec::constant(1_000_000),
        ..spec(radio_of(Begins::Connected, states.clone()))
    };
    // 10 ms for each packet.
    let sent = |times_ms: &[u64]| -> Vec<u64> {
        let mut path = Path::new(&slow, Direction::Up, 7);
        path.start(0);
        let arrivals: Vec<_> = (0..)
            .zip(times_ms)
            .map(|(token, at_ms)| arrival(at_ms * MS, token, 1250, 0))
            .collect();
        let departures = poll_on_time(&mut path, &arrivals);
        departures.iter().map(at_ns).collect()
    };
    let granted_ns = sent(&[1])[0] - 10 * MS;
    assert!((MS..51 * MS).contains(&granted_ns), "{granted_ns}");
    // One while the first is sent, and one after both.
    let next_ms = granted_ns.div_ceil(MS) + 1;
    assert_eq!(
        sent(&[1, next_ms, next_ms + 20]),
        [10, 20, 60].map(|ms| granted_ns + ms * MS)
    );

    // Packets to the phone give it no grant.
    let spec = spec(radio_of(Begins::Connected, states));
    let shared = Radio::new(spec.radio.as_ref().unwrap(), 7);
    let path = |direction| Path::with_radio(&spec, direction, 7, Some(&shared));
    let (mut up, mut down) = (path(Direction::Up), path(Direction::Down));
    up.start(0);
    down.offer(MS, arrival(MS, 0, 100, 0).packet);
    assert!(down.poll(MS).is_some());
    up.offer(MS, arrival(MS, 0, 100, 0).packet);
    assert_eq!(up.next_deadline(), Some(granted_ns));
}

/// Whatever came before the first step, its packets find the same radio.
#[test]
fn cycles_and_promotions_begin_with_the_origin() {
    let network = find("5g-nsa").unwrap();
    let first = |before: &[u64], origin_ns: u64| {
        let mut path = Path::new(&network.down, Direction::Down, 7);
        path.start(0);
        let mut departed = Vec::new();
        for &at_ns in before.iter().chain(&[origin_ns + 10 * MS]) {
            if at_ns > origin_ns {
                path.start(origin_ns);
            }
            path.offer(at_ns, arrival(at_ns, 0, 100, 0).packet);
            poll_all(&mut path, at_ns + 5_000 * MS, &mut departed);
        }
        departed.last().map(at_ns).unwrap() - origin_ns
    };
    let expected_ns = first(&[], 0);
    assert_eq!(first(&[], 12_345 * MS), expected_ns);
    assert_eq!(first(&[MS, 15_000 * MS], 30_001 * MS), expected_ns);
}

#[test]
fn small_packets_do_not_overtake() {
    assert_eq!(up(radio(), &[(0, 100), (10, 50)]), [200, 200]);
}

#[test]
fn a_queue_that_empties_keeps_the_radio_awake() {
    // 10 ms for each packet of 1250 bytes: the last of 100 leaves at 1200 ms, so 2150 ms is too early to be idle.
    let slow = |radio| PathSpec {
        rate: RateSpec::constant(1_000_000),
        ..spec(radio)
    };
    let times = |spec: &PathSpec, last_ms: u64| {
        let mut path = Path::new(spec, Direction::Up, 7);
        path.start(0);
        let mut arrivals: Vec<_> = (0..100).map(|i| arrival(0, i, 1250, 0)).collect();
        arrivals.push(arrival(last_ms * MS, 100, 1250, 0));
        let departures = poll_on_time(&mut path, &arrivals);
        at_ns(departures.last().unwrap()) / MS
    };
    assert_eq!(times(&slow(radio()), 2_150), 2_160);
    assert_eq!(times(&slow(radio()), 2_200), 2_410);
    // A queue of ten packets dropped the others, and was empty at 310 ms.
    let bytes = QueueSpec {
        bytes: Some(12_500),
        ..QueueSpec::default()
    };
    let packets = QueueSpec {
        packets: Some(10),
        ..QueueSpec::default()
    };
    for queue in [bytes, packets] {
        let short = PathSpec {
            queue,
            ..slow(radio())
        };
        assert_eq!(times(&short, 1_300), 1_310, "{queue:?}");
        assert_eq!(times(&short, 1_320), 1_530, "{queue:?}");
    }
}

#[test]
fn the_second_direction_that_starts_forgets_nothing() {
    let shared = Radio::new(&radio(), 7);
    let path = |direction| Path::with_radio(&spec(radio()), direction, 7, Some(&shared));
    let (mut up, mut down) = (path(Direction::Up), path(Direction::Down));
    up.start(5 * MS);
    up.offer(6 * MS, arrival(6 * MS, 0, 100, 0).packet);
    down.start(5 * MS);
    let changes = shared.log(300 * MS).changes;
    let states: Vec<RadioState> = changes.iter().map(|change| change.state).collect();
    assert_eq!(
        states,
        [RadioState::At(2), RadioState::Promoting, RadioState::At(0)]
    );
}

#[test]
fn a_phone_that_sends_need_not_wait_until_it_listens() {
    let slow_page = radio_of(
        Begins::Idle,
        vec![
            state("connected", 0),
            RadioStateSpec {
                down_cycle_ns: 10_000 * MS,
                promotion_ns: 200 * MS,
                ..state("idle", 1000)
            },
        ],
    );
    let shared = Radio::new(&slow_page, 3);
    let path = |direction| Path::with_radio(&spec(slow_page.clone()), direction, 3, Some(&shared));
    let (mut up, mut down) = (path(Direction::Up), path(Direction::Down));
    up.start(0);
    down.offer(0, arrival(0, 0, 100, 0).packet);
    assert_eq!(down.poll(0), None);
    let heard_ns = down.next_deadline().unwrap();
    assert!(heard_ns > 1_000 * MS, "{heard_ns}");
    up.offer(10 * MS, arrival(10 * MS, 0, 100, 0).packet);
    assert_eq!(up.next_deadline(), Some(210 * MS));
    // What comes down from now on finds it promoting, and then awake.
    down.offer(20 * MS, arrival(20 * MS, 1, 100, 0).packet);
    assert_eq!(down.poll(20 * MS), None);
    let changes = shared.log(500 * MS).changes;
    let log: Vec<(u64, RadioState)> = changes.iter().map(|c| (c.at_ns / MS, c.state)).collect();
    assert_eq!(
        log,
        [
            (0, RadioState::At(1)),
            (10, RadioState::Promoting),
            (210, RadioState::At(0)),
        ]
    );
    // The first, whose page was to be later, is now sent as well, and none overtakes.
    let mut departed = Vec::new();
    poll_all(&mut down, u64::MAX - 1, &mut departed);
    let times: Vec<u64> = departed.iter().map(|d| at_ns(d) / MS).collect();
    assert_eq!(times, [210; 2]);
    let last = shared.log(3_000 * MS).changes.pop().unwrap();
    assert_eq!((last.at_ns / MS, last.state), (1_210, RadioState::At(1)));
}

#[test]
fn a_packet_whose_page_nothing_brought_forward_wakes_the_radio_again() {
    let slow_page = radio_of(
        Begins::Connected,
        vec![
            state("connected", 0),
            RadioStateSpec {
                down_cycle_ns: 50 * MS,
                ..state("drx", 100)
            },
            RadioStateSpec {
                down_cycle_ns: 10_000 * MS,
                ..state("idle", 1000)
            },
        ],
    );
    let shared = Radio::new(&slow_page, 3);
    let path = |direction| Path::with_radio(&spec(slow_page.clone()), direction, 3, Some(&shared));
    let (mut up, mut down) = (path(Direction::Up), path(Direction::Down));
    up.start(0);
    down.offer(2_000 * MS, arrival(2_000 * MS, 0, 100, 0).packet);
    assert_eq!(down.poll(2_000 * MS), None);
    let heard_ns = down.next_deadline().unwrap();
    assert!(heard_ns > 4_000 * MS, "{heard_ns}");
    // It falls asleep again before the page.
    up.offer(2_010 * MS, arrival(2_010 * MS, 0, 100, 0).packet);
    assert_eq!(down.poll(heard_ns).map(|d| at_ns(&d)), Some(heard_ns));
    let changes = shared.log(heard_ns).changes.into_iter().skip(3);
    let since: Vec<(u64, RadioState)> = changes.map(|c| (c.at_ns, c.state)).collect();
    assert_eq!(
        since,
        [
            (2_010 * MS, RadioState::At(0)),
            (2_110 * MS, RadioState::At(1)),
            (3_010 * MS, RadioState::At(2)),
            (heard_ns, RadioState::At(0)),
        ]
    );
}

#[test]
fn the_log_has_every_change() {
    let mut path = Path::new(&spec(radio()), Direction::Up, 7);
    let radio = path.radio().unwrap().clone();
    path.start(5 * MS);
    for at_ms in [50, 60, 400, 3_000] {
        path.offer(at_ms * MS, arrival(at_ms * MS, 0, 100, 0).packet);
    }
    let log = |until_ms: u64| -> Vec<(u64, RadioState)> {
        let changes = radio.log(until_ms * MS).changes;
        changes.iter().map(|c| (c.at_ns / MS, c.state)).collect()
    };
    let expected = [
        (5, RadioState::At(2)),
        (50, RadioState::Promoting),
        (250, RadioState::At(0)),
        (350, RadioState::At(1)),
        (400, RadioState::At(0)),
        (500, RadioState::At(1)),
        (1_400, RadioState::At(2)),
        (3_000, RadioState::Promoting),
        (3_200, RadioState::At(0)),
        (3_300, RadioState::At(1)),
        (4_200, RadioState::At(2)),
    ];
    assert_eq!(log(5_000), expected);
    assert_eq!(log(3_100), expected[..8]);
    path.start(6_000 * MS);
    assert_eq!(log(7_000), [(6_000, RadioState::At(2))]);
}

#[test]
fn promotions_vary_around_their_mean() {
    let mut jittery = states();
    jittery[2].promotion_jitter_ns = 100 * MS;
    let jittery = radio_of(Begins::Idle, jittery);
    let took = |seed| {
        let mut path = Path::new(&spec(jittery.clone()), Direction::Up, seed);
        path.start(0);
        let arrivals: Vec<_> = (0..1000)
            .map(|i| arrival(i * 2_000 * MS, i, 100, 0))
            .collect();
        let departures = poll_on_time(&mut path, &arrivals);
        let took = departures.iter().zip(&arrivals);
        took.map(|(departure, arrival)| at_ns(departure) - arrival.at_ns)
            .collect::<Vec<u64>>()
    };
    let times = took(7);
    assert!(times.iter().all(|ns| (100 * MS..=300 * MS).contains(ns)));
    // Uniform over 200 ms: sigma of the mean of 1000 is 1.8 ms. Five sigma.
    let mean_ms = times.iter().sum::<u64>() / 1000 / MS;
    assert!(mean_ms.abs_diff(200) <= 9, "{mean_ms}");
    let share = times.iter().filter(|ns| **ns < 150 * MS).count();
    assert!(
        share.abs_diff(250) <= 69,
        "{share} of 1000 in the first quarter"
    );
    assert_eq!(times, took(7));
    assert_ne!(times, took(8));
}

proptest! {
    /// Whatever comes when, no packet waits for longer than the longest cycle and promotion, and none overtakes.
    #[test]
    fn no_packet_waits_for_longer_than_a_cycle_and_a_promotion(
        gaps_ms in prop::collection::vec((0..2_000_u64, any::<bool>(), 40..1500_u32), 1..100), seed: u64,
    ) {
        let radio = radio();
        let shared = Radio::new(&radio, seed);
        let path = |direction| Path::with_radio(&spec(radio.clone()), direction, seed, Some(&shared));
        let mut paths = [path(Direction::Up), path(Direction::Down)];
        paths[0].start(0);
        let mut sent = [Vec::new(), Vec::new()];
        let mut departed = [Vec::new(), Vec::new()];
        let mut now_ms = 0;
        for (i, (gap_ms, down, bytes)) in gaps_ms.into_iter().enumerate() {
            now_ms += gap_ms;
            let at = usize::from(down);
            paths[at].offer(now_ms * MS, arrival(now_ms * MS, i as u64, bytes, 0).packet);
            sent[at].push(now_ms * MS);
            poll_all(&mut paths[at], now_ms * MS, &mut departed[at]);
        }
        for ((path, sent), mut departed) in paths.iter_mut().zip(sent).zip(departed) {
            poll_all(path, u64::MAX - 1, &mut departed);
            prop_assert_eq!(departed.len(), sent.len());
            prop_assert!(departed.is_sorted_by_key(at_ns), "{:?}", departed);
            for (departure, sent_ns) in departed.iter().zip(sent) {
                let waited_ns = at_ns(departure).checked_sub(sent_ns);
                prop_assert!(waited_ns.is_some_and(|ns| ns <= 250 * MS), "{:?}", waited_ns);
            }
        }
        // The log is in order and repeats no state.
        let changes = shared.log(u64::MAX).changes;
        prop_assert!(changes.windows(2).all(|w| w[0].at_ns <= w[1].at_ns && w[0].state != w[1].state));
    }
}
