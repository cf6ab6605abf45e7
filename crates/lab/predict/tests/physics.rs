//! Predictions against arithmetic, and against what the bench measured.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use link::Network;
use predict::packets::{Ip, over_h2};
use predict::{Connection, PredictError, Prediction, Protocol};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const ALL: [(Protocol, Connection); 4] = [
    (Protocol::H2, Connection::Cold),
    (Protocol::H2, Connection::Warm),
    (Protocol::H3, Connection::Cold),
    (Protocol::H3, Connection::Warm),
];

fn network(down: &str, up: &str) -> Network {
    let text = format!("about = 'a'\nsource = 's'\n[down]\n{down}\n[up]\n{up}\n");
    Network::parse("x.toml", &text).unwrap()
}

/// Returns a network with a round trip of 100 ms and no rate limit.
fn far() -> Network {
    network("delay_ms = 50", "delay_ms = 50")
}

fn predict(network: &Network, body: u64, arm: (Protocol, Connection)) -> Prediction {
    predict::predict(network, body, arm.0, arm.1).unwrap()
}

#[test]
fn first_byte_takes_whole_round_trips() {
    for (arm, round_trips) in ALL.into_iter().zip([3, 1, 2, 1]) {
        let small = predict(&far(), 1000, arm);
        assert_eq!(small.first_byte_ns, round_trips * 100 * MS, "{arm:?}");
        assert_eq!(small.total_ns, small.first_byte_ns);
    }
}

#[test]
fn slow_start_doubles_from_ten_segments() {
    let warm = |segments: u64| {
        let body = segments * 1428 - 400;
        assert_eq!(over_h2(body, Ip::V6, 1500).packets, segments);
        let arm = (Protocol::H2, Connection::Warm);
        predict(&far(), body, arm).total_ns / (100 * MS)
    };
    assert_eq!([10, 11, 30, 31, 70, 71].map(warm), [1, 2, 2, 3, 3, 4]);
}

#[test]
fn large_body_arrives_at_link_rate() {
    let network = network(
        "rate_kbps = 8000\ndelay_ms = 20\nqueue_ms = 100",
        "rate_kbps = 8000\ndelay_ms = 20\nqueue_ms = 100",
    );
    for arm in ALL {
        let large = predict(&network, 20_000_000, arm);
        // The packets' headers are 3 to 5 % of it.
        let seconds = large.total_ns as f64 / 1e9;
        assert!((20.6..22.0).contains(&seconds), "{arm:?}: {seconds} s");
    }
}

#[test]
fn queue_overflow_is_retransmitted() {
    let network = network(
        "rate_kbps = 1000\ndelay_ms = 100\nqueue_packets = 5",
        "delay_ms = 100",
    );
    let response = over_h2(100_000, Ip::V6, 1500);
    let lossy = predict(&network, 100_000, (Protocol::H2, Connection::Warm));
    assert!(
        lossy.dropped > 4,
        "a burst of ten segments, room for six: {lossy:?}"
    );
    assert!(lossy.packets >= response.packets + lossy.dropped);
    assert!(!lossy.excludes_random_loss);
}

#[test]
fn random_loss_is_excluded_and_flagged() {
    let down = "rate_kbps = 5000\ndelay_ms = 30\nqueue_ms = 100";
    let plain = network(down, "delay_ms = 30");
    let random = network(
        &format!("{down}\nloss_percent = 20\njitter_ms = 5"),
        "delay_ms = 30",
    );
    for arm in ALL {
        let (plain, random) = (predict(&plain, 50_000, arm), predict(&random, 50_000, arm));
        assert_eq!(
            (plain.excludes_random_loss, random.excludes_random_loss),
            (false, true)
        );
        assert_eq!(plain.total_ns, random.total_ns);
    }
}

#[test]
fn blocked_udp_stalls_h3() {
    let policy = "delay_ms = 20\n[up.policy]\nudp_block_after_ms = 0";
    let blocked = network("delay_ms = 20", policy);
    for connection in [Connection::Cold, Connection::Warm] {
        let over = |protocol| predict::predict(&blocked, 1000, protocol, connection);
        assert_eq!(over(Protocol::H3), Err(PredictError::Stalled));
        assert!(over(Protocol::H2).is_ok());
    }
    let later = network(
        "delay_ms = 20\n[down.policy]\nudp_block_after_ms = 50",
        "delay_ms = 20",
    );
    let over = predict::predict(&later, 100_000, Protocol::H3, Connection::Warm);
    assert_eq!(over, Err(PredictError::Stalled));
}

#[test]
fn body_size_is_limited() {
    let over = predict::predict(&far(), 1 << 40, Protocol::H2, Connection::Cold);
    assert_eq!(over, Err(PredictError::TooBig));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn no_prediction_beats_delay_and_rate(
        kbps in 50..100_000_u64,
        delay_ms in 0..400_u64,
        queue in 1..200_u64,
        body in 0..300_000_u64,
    ) {
        let direction = format!("rate_kbps = {kbps}\ndelay_ms = {delay_ms}\nqueue_packets = {queue}");
        let network = network(&direction, &direction);
        for arm in ALL {
            let prediction = predict(&network, body, arm);
            let delay = 2 * delay_ms * MS;
            let rate = body * 8 * MS / kbps;
            prop_assert!(prediction.total_ns >= delay + rate, "{arm:?} {prediction:?}");
            prop_assert!(prediction.first_byte_ns <= prediction.total_ns);
            prop_assert_eq!(predict(&network, body, arm), prediction);
        }
    }

    #[test]
    fn larger_bodies_take_longer_without_drops(body in 0..200_000_u64, more in 1..50_000_u64) {
        for arm in ALL {
            let network = network("rate_kbps = 5000\ndelay_ms = 20\nqueue_ms = 9000", "delay_ms = 20");
            let (less, more) = (predict(&network, body, arm), predict(&network, body + more, arm));
            prop_assert!(less.total_ns <= more.total_ns, "{arm:?}");
        }
    }
}

#[test]
fn every_builtin_network_can_be_predicted() {
    for (name, _) in link::builtin() {
        let network = link::find(name).unwrap();
        let policy = network.up.policy.as_ref();
        let blocks_udp = policy.is_some_and(|policy| policy.block_after_ns == Some(0));
        for arm in ALL {
            if blocks_udp && arm.0 == Protocol::H3 {
                let stalled = predict::predict(&network, 10_000, arm.0, arm.1);
                assert_eq!(stalled, Err(PredictError::Stalled), "{name}");
                continue;
            }
            let prediction = predict(&network, 10_000, arm);
            assert!(prediction.total_ns >= network.rtt_ns(), "{name}");
        }
    }
}

/// Milliseconds for 1, 10, 50, 100 and 500 kB on a cold connection and on a warm one: medians of
/// `commute run studies/prediction.toml`, six blocks, every cell clean.
const MEASURED: &[(&str, Protocol, [f64; 5], [f64; 5])] = &[
    (
        "4g-tether",
        Protocol::H2,
        [155.9, 206.4, 268.1, 315.3, 646.1],
        [52.2, 59.3, 160.3, 207.2, 538.4],
    ),
    (
        "4g-tether",
        Protocol::H3,
        [112.5, 159.1, 232.5, 290.7, 621.5],
        [52.3, 59.6, 170.4, 227.5, 561.8],
    ),
    (
        "lighthouse-slow4g",
        Protocol::H2,
        [475.7, 629.3, 854.6, 1211.0, 3169.6],
        [157.8, 204.1, 507.0, 1014.1, 2822.9],
    ),
    (
        "lighthouse-slow4g",
        Protocol::H3,
        [362.2, 500.4, 774.4, 1299.7, 3103.7],
        [158.3, 204.7, 567.4, 962.1, 2897.1],
    ),
];

#[test]
fn predictions_are_within_15_percent_of_measurements() {
    for (name, protocol, cold, warm) in MEASURED {
        let network = link::find(name).unwrap();
        for (connection, times) in [(Connection::Cold, cold), (Connection::Warm, warm)] {
            for (body, measured) in [1, 10, 50, 100, 500].into_iter().zip(times) {
                let predicted = predict(&network, body * 1000, (*protocol, connection));
                let ratio = predicted.total_ns as f64 / 1e6 / measured;
                let what = format!(
                    "{name} {} {connection:?} {body} kB: {ratio:.3}",
                    protocol.name()
                );
                assert!((0.85..1.15).contains(&ratio), "{what}");
            }
        }
    }
}

/// A body of 480 kB must not be said to be faster than one of 460 kB because its last window happens to be full.
#[test]
fn about_so_many_bytes_take_no_less_than_fewer() {
    let slow = network(
        "rate_kbps = 1600\ndelay_ms = 75\nqueue_ms = 100",
        "rate_kbps = 750\ndelay_ms = 75\nqueue_ms = 100",
    );
    let fast = network(
        "rate_kbps = 10_200\ndelay_ms = 25\nqueue_ms = 100",
        "delay_ms = 25",
    );
    for (network, arm) in [&slow, &fast]
        .into_iter()
        .flat_map(|n| ALL.map(|arm| (n, arm)))
    {
        let mut longest_ns = 0;
        for body in (100_000..600_000).step_by(20_000) {
            let about = predict::predict_about(network, body, arm.0, arm.1).unwrap();
            assert!(
                about.total_ns as f64 > 0.97 * longest_ns as f64,
                "{arm:?} {body}: {} after {longest_ns}",
                about.total_ns
            );
            longest_ns = about.total_ns.max(longest_ns);
        }
    }
    let exact = predict(&fast, 1_000, ALL[0]);
    let about = predict::predict_about(&fast, 1_000, ALL[0].0, ALL[0].1).unwrap();
    assert_eq!(about.total_ns / MS, exact.total_ns / MS);
    assert_eq!(
        predict::predict_about(&fast, u64::MAX, ALL[0].0, ALL[0].1),
        Err(PredictError::TooBig)
    );
}
