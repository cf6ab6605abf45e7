//! What probes through the link say: delay, rate, queue and loss as set and as got.

use std::path::Path;
use std::time::Duration;

use link::{Direction, Gate, Network, OnClose, PathSpec};
use record::Check;

use super::{Break, Surgery, check, median, network, not_made};
use crate::doctor::udp_probe::{Arrivals, HEADER_BYTES, Prober, Train};
use crate::lab::LabError;
use crate::run::worker::bench;

/// One-way delays of a 100 ms round trip.
pub(super) fn delay(surgery: &mut Surgery<'_>) -> Vec<Check> {
    let set_ns = 50_000_000;
    let mut path = PathSpec {
        delay_ns: set_ns,
        ..PathSpec::default()
    };
    if surgery.broken == Some(Break::Delay) {
        path.delay_ns += set_ns / 100;
    }
    let network = network("100 ms", path);
    [Direction::Up, Direction::Down]
        .into_iter()
        .map(|direction| {
            let name = format!("probe {}: one-way delay", label(direction));
            let arrivals = surgery
                .bench
                .set_network(&network, 1)
                .map_err(|e| e.to_string())
                .and_then(|()| probe(&mut surgery.bench, direction, &DELAY_TRAIN));
            match arrivals {
                Ok(a) => check(
                    name,
                    set_ns as f64 / 1e6,
                    delay_ms(&a),
                    DELAY_MARGIN_MS,
                    "ms",
                ),
                Err(e) => not_made(&name, &e),
            }
        })
        .collect()
}

/// Measures a network with probes: set against got.
pub fn check_network(exe: &Path, network: &Network) -> Result<Vec<Check>, LabError> {
    let mut bench = bench(exe, 1)?;
    let mut checks = Vec::new();
    for (direction, path) in [
        (Direction::Down, &network.down),
        (Direction::Up, &network.up),
    ] {
        for kind in [sparse, flood] {
            bench.set_network(network, 1)?;
            checks.extend(kind(&mut bench, direction, path));
        }
    }
    Ok(checks)
}

/// Delay and loss, with probes too sparse to queue.
fn sparse(bench: &mut pump::Bench, direction: Direction, path: &PathSpec) -> Vec<Check> {
    let dir = label(direction);
    let bytes = SMALL_PAYLOAD + HEADER_BYTES;
    let serialise_ns = path
        .rate
        .mean_bps()
        .map_or(0, |bps| bytes as u64 * 8_000_000_000 / bps);
    let train = Train {
        payload_bytes: SMALL_PAYLOAD,
        spacing_ns: (4 * serialise_ns).max(2_000_000),
        count: 1000,
        patience: Duration::from_nanos(path.delay_ns + path.jitter_ns) + Duration::from_millis(500),
    };
    let arrivals = match probe(bench, direction, &train) {
        Ok(a) => a,
        Err(e) => return vec![not_made(&format!("{dir}: probes"), &e)],
    };
    let expected_ms = (path.delay_ns + serialise_ns) as f64 / 1e6;
    let margin_ms = DELAY_MARGIN_MS + path.jitter_ns as f64 / 1e6 / 4.0;
    let loss = path
        .loss
        .as_ref()
        .map_or(0.0, |l| f64::from(l.mean_ppb()) / 1e9);
    let n = f64::from(arrivals.sent);
    let got = 1.0 - arrivals.arrived.len() as f64 / n;
    // Four standard deviations of a binomial share; losses in bursts vary about three times as
    // much (measured for bursts of five).
    let deviations = match &path.loss {
        None => 0.0,
        Some(link::LossSpec::Iid { .. }) => 4.0,
        Some(_) => 12.0,
    };
    let margin = deviations * (loss * (1.0 - loss) / n).sqrt();
    vec![
        check(
            format!("{dir}: one-way delay"),
            expected_ms,
            delay_ms(&arrivals),
            margin_ms,
            "ms",
        ),
        check(
            format!("{dir}: loss"),
            loss * 100.0,
            got * 100.0,
            margin * 100.0,
            "%",
        ),
    ]
}

/// Rate and queue, with more than the link can carry.
fn flood(bench: &mut pump::Bench, direction: Direction, path: &PathSpec) -> Vec<Check> {
    let dir = label(direction);
    let Some(bps) = path.rate.mean_bps().filter(|bps| *bps <= MAX_FLOOD_BPS) else {
        return Vec::new();
    };
    let bytes = LARGE_PAYLOAD + HEADER_BYTES;
    let packet_ns = bytes as u64 * 8_000_000_000 / bps;
    let drain = Duration::from_nanos(path.delay_ns) + Duration::from_secs(3);
    let count = (FLOOD_NS / packet_ns).clamp(60, 20_000) as u32;
    let train = Train {
        payload_bytes: LARGE_PAYLOAD,
        spacing_ns: packet_ns * 2 / 3,
        count: count * 3 / 2,
        patience: drain,
    };
    let arrivals = match probe(bench, direction, &train) {
        Ok(a) => a,
        Err(e) => return vec![not_made(&format!("{dir}: flood"), &e)],
    };
    // Until the first probe the queue was empty: the rate is that of the rest, and of what was
    // lost behind the queue, which took its time on the link as well.
    let a = &arrivals.arrived;
    let (Some(first), Some(last)) = (a.first(), a.last()) else {
        return vec![not_made(&format!("{dir}: flood"), &"nothing arrived")];
    };
    let kept = 1.0
        - path
            .loss
            .as_ref()
            .map_or(0.0, |l| f64::from(l.mean_ppb()) / 1e9);
    let took_s = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
    let got_mbps = (a.len() - 1) as f64 * bytes as f64 * 8.0 / took_s / 1e6 / kept;
    let mbps = bps as f64 / 1e6;
    // What random loss took is known to a standard deviation only.
    let noise = 4.0 * (kept * (1.0 - kept) / a.len() as f64).sqrt();
    vec![check(
        format!("{dir}: rate"),
        mbps,
        got_mbps,
        mbps * (RATE_MARGIN + noise),
        "Mbit/s",
    )]
}

fn probe(bench: &mut pump::Bench, direction: Direction, train: &Train) -> Result<Arrivals, String> {
    let prober = Prober::open(bench, direction).map_err(|e| e.to_string())?;
    bench.begin().map_err(|e| e.to_string())?;
    let arrivals = prober.run(train).map_err(|e| e.to_string())?;
    bench.end().map_err(|e| e.to_string())?;
    Ok(arrivals)
}

fn delay_ms(arrivals: &Arrivals) -> f64 {
    median(
        arrivals
            .arrived
            .iter()
            .map(|a| a.delay_ns as f64 / 1e6)
            .collect(),
    )
}

/// A gate that loses whatever comes first: one SYN, or one Initial.
pub(super) fn closed_at_first() -> Gate {
    Gate::new(vec![(0, 100_000_000)], None, OnClose::Flush).expect("one interval, in order")
}

fn label(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}

const DELAY_TRAIN: Train = Train {
    payload_bytes: SMALL_PAYLOAD,
    spacing_ns: 5_000_000,
    count: 200,
    patience: Duration::from_millis(200),
};
const SMALL_PAYLOAD: usize = 64;
const LARGE_PAYLOAD: usize = 1472;
/// Two wake-ups of an ordinary thread; a 1 % error of 50 ms is twice this.
const DELAY_MARGIN_MS: f64 = 0.25;
const RATE_MARGIN: f64 = 0.005;
const FLOOD_NS: u64 = 3_000_000_000;
/// Above this the sending loop is the bottleneck, not the link.
const MAX_FLOOD_BPS: u64 = 100_000_000;
