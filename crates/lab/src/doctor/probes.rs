//! Checks the link with UDP probes: configured and measured delay, rate and loss.

use std::path::Path;
use std::time::Duration;

use link::{Direction, Gate, Network, OnClose, PathSpec};
use record::Check;

use super::examination::{Examination, Fault, check, impossible, median};
use super::udp_probe::{Arrivals, HEADER_BYTES, Prober, Train};
use crate::bench;
use crate::error::LabError;
use crate::network;

const DELAY_TRAIN: Train = Train {
    payload_bytes: SMALL_PAYLOAD,
    spacing_ns: 5_000_000,
    count: 200,
    drain: Duration::from_millis(200),
};
const SMALL_PAYLOAD: usize = 64;
const LARGE_PAYLOAD: usize = 1472;
/// Two wake-ups of an ordinary thread; a 1 % error of 50 ms is twice this.
const DELAY_MARGIN_MS: f64 = 0.25;
const RATE_MARGIN: f64 = 0.005;
const FLOOD_NS: u64 = 3_000_000_000;
/// Above this the sending loop is the bottleneck, not the link.
const MAX_FLOOD_BPS: u64 = 100_000_000;

/// Measures the one-way delays of a 100 ms round trip.
pub(super) fn delay(examination: &mut Examination<'_>) -> Vec<Check> {
    let configured_ns = 50_000_000;
    let mut path = PathSpec {
        delay_ns: configured_ns,
        ..PathSpec::default()
    };
    if examination.fault == Some(Fault::Delay) {
        path.delay_ns += configured_ns / 100;
    }
    let network = network::symmetric("100 ms", path);
    [Direction::Up, Direction::Down]
        .into_iter()
        .map(|direction| {
            let name = format!("probe {}: one-way delay", label(direction));
            let arrivals = examination
                .bench
                .set_network(&network, 1)
                .map_err(|e| e.to_string())
                .and_then(|()| probe(&mut examination.bench, direction, &DELAY_TRAIN));
            match arrivals {
                Ok(a) => check(
                    name,
                    configured_ns as f64 / 1e6,
                    delay_ms(&a),
                    DELAY_MARGIN_MS,
                    "ms",
                ),
                Err(e) => impossible(&name, &e),
            }
        })
        .collect()
}

/// Measures a network with probes, and compares the configured with the measured values.
pub fn check_network(exe: &Path, network: &Network) -> Result<Vec<Check>, LabError> {
    let mut bench = bench::start(exe)?;
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

/// Measures delay and loss with probes too sparse to queue.
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
        drain: Duration::from_nanos(path.delay_ns + path.jitter_ns) + Duration::from_millis(500),
    };
    let arrivals = match probe(bench, direction, &train) {
        Ok(a) => a,
        Err(e) => return vec![impossible(&format!("{dir}: probes"), &e)],
    };
    let expected_ms = (path.delay_ns + serialise_ns) as f64 / 1e6;
    let margin_ms = DELAY_MARGIN_MS + path.jitter_ns as f64 / 1e6 / 4.0;
    let loss = path
        .loss
        .as_ref()
        .map_or(0.0, |l| f64::from(l.mean_ppb()) / 1e9);
    let n = f64::from(arrivals.sent);
    let measured = 1.0 - arrivals.arrived.len() as f64 / n;
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
            measured * 100.0,
            margin * 100.0,
            "%",
        ),
    ]
}

/// Measures the rate with more packets than the link can carry.
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
        drain,
    };
    let arrivals = match probe(bench, direction, &train) {
        Ok(a) => a,
        Err(e) => return vec![impossible(&format!("{dir}: flood"), &e)],
    };
    // The queue was empty before the first probe, so the rate is that of the others, including
    // those lost behind the queue, which took their time on the link as well.
    let a = &arrivals.arrived;
    let (Some(first), Some(last)) = (a.first(), a.last()) else {
        return vec![impossible(&format!("{dir}: flood"), &"no probe arrived")];
    };
    let kept = 1.0
        - path
            .loss
            .as_ref()
            .map_or(0.0, |l| f64::from(l.mean_ppb()) / 1e9);
    let took_s = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
    let measured_mbps = (a.len() - 1) as f64 * bytes as f64 * 8.0 / took_s / 1e6 / kept;
    let mbps = bps as f64 / 1e6;
    // The number of packets lost is known only within the deviation of the random loss.
    let noise = 4.0 * (kept * (1.0 - kept) / a.len() as f64).sqrt();
    vec![check(
        format!("{dir}: rate"),
        mbps,
        measured_mbps,
        mbps * (RATE_MARGIN + noise),
        "Mbit/s",
    )]
}

fn probe(bench: &mut pump::Bench, direction: Direction, train: &Train) -> Result<Arrivals, String> {
    let prober = Prober::open(bench, direction).map_err(|e| e.to_string())?;
    bench.begin_window().map_err(|e| e.to_string())?;
    let arrivals = prober.run(train).map_err(|e| e.to_string())?;
    bench.end_window().map_err(|e| e.to_string())?;
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

/// Returns a gate that drops what is sent first: a SYN, or an Initial.
pub(super) fn drops_first_packets() -> Gate {
    Gate::new(vec![(0, 100_000_000)], None, OnClose::Flush).expect("one interval, in order")
}

fn label(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}
