//! Known answers: what happens to packets across handovers.

use link::{
    Departure, Direction, Handovers, NS_PER_MS, Network, OnClose, Path, PathSpec, QueueSpec,
    RateSpec, StationSpec,
};

use crate::common::{arrival, poll_at_end, poll_on_time};
use crate::networks::{HEAD, parse};
use crate::pinger::Pinger;

const MS: u64 = NS_PER_MS;

/// A handover that forwards the queue, after which each direction takes 15 ms longer, and one that loses it.
const TWO: &str = "[handover]\nevery_ms = 10000\n\
    [[handover.station]]\nat_ms = 1000\ninterruption_ms = 50\nextra_delay_ms = 15\nqueue = 'keep'\n\
    [[handover.station]]\nat_ms = 2000\ninterruption_ms = 40\nqueue = 'flush'\n";

fn network(handovers: &str) -> Network {
    let path = "delay_ms = 25\nqueue_packets = 9\n";
    let text = format!("{HEAD}[up]\n{path}[down]\n{path}{handovers}");
    parse(&text).unwrap()
}

/// Returns the round trips in ms of pings from the phone at these times in ms.
fn pings(network: &Network, times_ms: &[u64]) -> Vec<Option<u64>> {
    let times: Vec<u64> = times_ms.iter().map(|ms| ms * MS).collect();
    let round_trips = Pinger::new(network, 7, true).pings(&times);
    round_trips.into_iter().map(|ms| Some(ms? as u64)).collect()
}

#[test]
fn pings_wait_for_the_interruption_and_take_longer_afterwards() {
    let network = network(TWO);
    // The answer to the second meets the interruption, the third waits itself.
    assert_eq!(
        pings(&network, &[960, 990, 1000, 1040, 1050, 1500]),
        [50, 100, 130, 90, 80, 80].map(Some)
    );
    // The answer to the second is lost, and the third itself.
    assert_eq!(
        pings(&network, &[1950, 1970, 2000, 2039, 2040, 9000]),
        [Some(80), None, None, None, Some(50), Some(50)]
    );
    // They repeat every 10 s.
    assert_eq!(
        pings(&network, &[10_990, 11_060, 21_500, 32_010]),
        [Some(100), Some(80), Some(80), None]
    );
}

#[test]
fn the_last_delay_of_a_period_lasts_into_the_next() {
    let only = "[handover]\nevery_ms = 1000\n[[handover.station]]\nat_ms = 500\n\
                interruption_ms = 1\nextra_delay_ms = 10\nqueue = 'keep'\n";
    assert_eq!(
        pings(&network(only), &[100, 600, 1100]),
        [50, 70, 70].map(Some)
    );
}

#[test]
fn a_delay_that_falls_does_not_reorder() {
    let station = |at_ms, extra_ms| StationSpec {
        at_ns: at_ms * MS,
        interruption_ns: MS,
        extra_delay_ns: extra_ms * MS,
        queue: OnClose::Keep,
    };
    let spec = PathSpec {
        delay_ns: 20 * MS,
        queue: QueueSpec {
            packets: Some(9),
            ..QueueSpec::default()
        },
        handovers: Some(Handovers::new(vec![station(10, 15), station(50, 0)], None).unwrap()),
        ..PathSpec::default()
    };
    let arrivals: Vec<_> = (0..)
        .zip([49, 52, 60, 64, 65])
        .map(|(token, at_ms)| arrival(at_ms * MS, token, 100, 0))
        .collect();
    let mut path = Path::new(&spec, Direction::Up, 7);
    path.start(0);
    let delivered: Vec<(u64, u64)> = poll_on_time(&mut path, &arrivals)
        .iter()
        .map(|departure| match departure {
            Departure::Deliver { at_ns, token } => (at_ns / MS, *token),
            Departure::Drop { .. } => panic!("{departure:?}"),
        })
        .collect();
    // 35 ms before the handover; then 20 ms, but none before the one in front.
    assert_eq!(delivered, [(84, 0), (84, 1), (84, 2), (84, 3), (85, 4)]);
}

/// One station keeps the queue, the next loses it: only packets that the second meets are lost.
#[test]
fn each_station_decides_over_its_own_queue() {
    let network = network(TWO);
    // A packet of 1500 bytes takes a millisecond, and the queue holds nine.
    let spec = PathSpec {
        rate: RateSpec::constant(12_000_000),
        ..network.up
    };
    let burst = |at_ms: u64| (0..9).map(move |i| arrival(at_ms * MS, at_ms + i, 1500, 0));
    let arrivals: Vec<_> = burst(995).chain(burst(1995)).collect();
    let mut path = Path::new(&spec, Direction::Up, 7);
    path.start(0);
    poll_at_end(&mut path, &arrivals);
    let counters = path.counters();
    // Of the second burst five are through when the interruption begins.
    assert_eq!((counters.delivered, counters.dropped.gate), (14, 4));
}

#[test]
fn handovers_are_printed_with_the_numbers() {
    let numbers = network(TWO).numbers();
    assert_eq!(
        numbers,
        "no rate limit · RTT 50 ms · no loss · queue 9 packets · \
         handovers 2 every 10000 ms, closed 90 ms, up to 15 ms longer"
    );
}
