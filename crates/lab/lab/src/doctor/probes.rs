//! Checks the link with UDP probes: configured and measured delay.

use std::time::Duration;

use link::window::Window;
use link::{Direction, Gate, OnClose, PathSpec};
use pump::Bench;
use record::Check;

use super::examination::{Examination, Fault, check, impossible, median};
use super::udp_probe::{Arrivals, Prober, Train};
use crate::network;

const DELAY_TRAIN: Train = Train {
    payload_bytes: 64,
    spacing_ns: 5_000_000,
    count: 200,
    drain: Duration::from_millis(200),
};
/// Two wake-ups of an ordinary thread; a 1 % error of 50 ms is twice this.
pub(super) const DELAY_MARGIN_MS: f64 = 0.25;

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
                Ok((a, _)) => check(
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

/// Sends a train in a window of its own, and returns the probes that arrived and the window.
pub(super) fn probe(
    bench: &mut Bench,
    direction: Direction,
    train: &Train,
) -> Result<(Arrivals, Window), String> {
    let prober = Prober::open(bench, direction).map_err(|e| e.to_string())?;
    bench.begin_window().map_err(|e| e.to_string())?;
    let arrivals = prober.run(train).map_err(|e| e.to_string())?;
    let window = bench.end_window().map_err(|e| e.to_string())?;
    Ok((arrivals, window))
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

pub(super) fn label(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}
