//! Checks the radios of the built-in networks with pings to the phone and from it, against the model's answers.

use std::path::Path;
use std::thread;
use std::time::Duration;

use link::{Direction, Network, builtin, find};
use record::Check;

use super::examination::{Fault, check, impossible};
use super::network_check::noise;
use super::probes::{label, probe};
use super::replay::replay;
use super::udp_probe::{Arrivals, Train};
use crate::bench;

const SEED: u64 = 1;
/// The longest promotion and cycle of the networks, and two wake-ups.
const DRAIN: Duration = Duration::from_secs(4);
/// Two wake-ups of a machine that is not busy. One cycle of DRX is 40 ms or more.
const MARGIN_MS: f64 = 2.0;
/// A ping that finds the radio awake, and one that finds it in its last state: the longest takes 14.9 s to get there, after
/// the first ping has woken it up within 2 s.
const PINGS: [(&str, Train); 2] = [("50 ms", train(50, 60)), ("17 s", train(17_000, 2))];

const fn train(spacing_ms: u64, count: u32) -> Train {
    Train {
        payload_bytes: 56,
        spacing_ns: spacing_ms * 1_000_000,
        count,
        drain: DRAIN,
    }
}

/// Measures the networks and directions side by side, each on a bench of its own: almost all of the time is spent waiting.
/// Networks with random loss have radios that others have, too.
pub(super) fn known(exe: &Path, fault: Option<Fault>) -> Vec<Check> {
    let networks = builtin().iter().filter_map(|(name, _)| find(name).ok());
    let networks = networks.filter(|n| n.down.radio.is_some() && is_lossless(n));
    let both = |network: Network| {
        [Direction::Down, Direction::Up].map(|direction| (network.clone(), direction))
    };
    thread::scope(|scope| {
        let pinged =
            |(network, direction)| scope.spawn(move || pings(exe, &network, direction, fault));
        let threads: Vec<_> = networks.flat_map(both).map(pinged).collect();
        let checks = threads.into_iter().map(|thread| {
            let failed = |_| vec![impossible("radio", &"the thread of a network panicked")];
            thread.join().unwrap_or_else(failed)
        });
        checks.flatten().collect()
    })
}

/// Returns whether no ping is lost at random.
fn is_lossless(network: &Network) -> bool {
    network.up.loss.is_none() && network.down.loss.is_none()
}

fn pings(exe: &Path, network: &Network, direction: Direction, fault: Option<Fault>) -> Vec<Check> {
    let mut emulated = network.clone();
    if fault == Some(Fault::Radio) {
        (emulated.up.radio, emulated.down.radio) = (None, None);
    }
    let ping = |(every, train): &(&str, Train)| {
        let name = format!(
            "{} {}: one-way delay, a ping every {every}",
            network.name,
            label(direction)
        );
        let measure = || match last_delays(exe, [network, &emulated], direction, train) {
            Ok(Delays {
                expected_ms,
                measured_ms,
                noise,
            }) => {
                let check = check(name.clone(), expected_ms, measured_ms, MARGIN_MS, "ms");
                (check, noise)
            }
            Err(e) => (impossible(&name, &e), Vec::new()),
        };
        let (check, noise) = measure();
        match check.pass || noise.is_empty() {
            true => check,
            false => measure().0,
        }
    };
    PINGS.iter().map(ping).collect()
}

/// The delay of a train's last ping; not a number if it did not arrive.
struct Delays {
    expected_ms: f64,
    measured_ms: f64,
    /// What disturbed the measurement.
    noise: Vec<String>,
}

/// Sends a train to the phone of the emulated network or from it, and asks the model of the other for the same pings.
fn last_delays(
    exe: &Path,
    [network, emulated]: [&Network; 2],
    direction: Direction,
    train: &Train,
) -> Result<Delays, String> {
    let mut bench = bench::start(exe).map_err(|e| e.to_string())?;
    bench
        .set_network(emulated, SEED)
        .map_err(|e| e.to_string())?;
    let (measured, window) = probe(&mut bench, direction, train)?;
    let path = match direction {
        Direction::Up => &network.up,
        Direction::Down => &network.down,
    };
    let model = replay(
        path,
        direction,
        SEED,
        train,
        &measured.sent_ns,
        window.started_ns,
    );
    let last_ms = |arrivals: &Arrivals| {
        let last = arrivals.arrived.iter().find(|a| a.index + 1 == train.count);
        last.map_or(f64::NAN, |a| a.delay_ns as f64 / 1e6)
    };
    Ok(Delays {
        expected_ms: last_ms(&model),
        measured_ms: last_ms(&measured),
        noise: noise(&window),
    })
}
