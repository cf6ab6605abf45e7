//! Checks a network with trains of UDP probes: what is measured against what the model gives for the
//! same probes. The random draws of losses and jitter cancel out, so that margins are those of the
//! measurement.

use std::path::Path;
use std::time::Duration;

use link::window::Window;
use link::{Direction, Network, PathSpec};
use proof::audit::{add_shares, objections};
use pump::Bench;
use record::Check;
use serde::Serialize;

use super::examination::{check, impossible, median};
use super::probes::{DELAY_MARGIN_MS, label, probe};
use super::replay::replay;
use super::udp_probe::{Arrivals, HEADER_BYTES, Train};
use crate::bench;
use crate::cell::accounting;
use crate::error::LabError;
use crate::host;

const SEED: u64 = 1;
const SMALL_PAYLOAD: usize = 64;
const LARGE_PAYLOAD: usize = 1472;
/// Probes too sparse to queue leave this many times their serialisation apart.
const SPARSE_SERIALISATIONS: u64 = 4;
const MIN_SPARSE_SPACING_NS: u64 = 2_000_000;
/// Small probes: as many as fit into this time, within these bounds.
const SPARSE_NS: u64 = 10_000_000_000;
const MIN_SPARSE: u64 = 100;
const MAX_SPARSE: u64 = 1000;
/// A flood fills the link for this long, with a number of packets within these bounds. Fewer would
/// not fill a usual queue.
const FLOOD_NS: u64 = 3_000_000_000;
const MIN_FLOOD: u64 = 30;
const MAX_FLOOD: u64 = 20_000;
/// Above this the sending loop is the bottleneck, not the link.
const MAX_FLOOD_BPS: u64 = 100_000_000;
/// How long to wait for the last probe after the model delivered it.
const DRAIN: Duration = Duration::from_millis(500);
/// One probe in a hundred may meet a late wake-up of both threads on a machine that is not busy.
const TAIL_MARGIN_MS: f64 = 1.0;
const RATE_MARGIN: f64 = 0.005;
/// Probes that arrive within microseconds of a fade's edge, of one another or of the moment when the
/// queue is full may fare either way.
const BORDERLINE_PROBES: f64 = 2.0;
const BORDERLINE_SHARE: f64 = 0.005;
/// Sparse probes go on past the last handover of a period by so much, but for no longer than the second time in all.
const AFTER_HANDOVER_NS: u64 = 1_000_000_000;
const MAX_SPARSE_NS: u64 = 50_000_000_000;
/// Probes that each find the radio in its last state, and how long after it is reached they come.
const ASLEEP: u32 = 3;
const IN_LAST_STATE_NS: u64 = 250_000_000;
/// Two wake-ups of a machine that is not busy.
const ASLEEP_MARGIN_MS: f64 = 2.0;
/// Times a train is sent when checks fail while the machine is busy.
const ATTEMPTS: u32 = 2;

/// A check of a network, and what disturbed it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkCheck {
    /// The expected and the measured value.
    #[serde(flatten)]
    pub check: Check,
    /// What disturbed the measurement, e.g. other programs on the CPU; empty when nothing did. A
    /// failed check with noise says nothing about the network.
    pub noise: Vec<String>,
}

/// What happens in [`check_network`].
#[derive(Clone, Copy, Debug)]
pub enum NetworkCheckEvent<'a> {
    /// A train of probes is about to be sent.
    Sending {
        /// What is sent, e.g. `down: 1000 probes of 92 bytes`.
        train: &'a str,
        /// How long it takes until the last probe arrives.
        takes: Duration,
    },
    /// Checks failed while the machine was busy, so the train is sent once more.
    Repeating {
        /// What disturbed it.
        noise: &'a [String],
    },
    /// A check is done.
    Checked(&'a NetworkCheck),
}

/// What probes meet.
#[derive(Clone, Copy)]
enum Kind {
    /// An empty queue.
    Sparse,
    /// A full queue.
    Flood,
    /// A radio in its last state.
    Asleep,
}

/// Measures a network with probes, and compares the values with the model's.
pub fn check_network(
    exe: &Path,
    network: &Network,
    observer: &dyn Fn(NetworkCheckEvent<'_>),
) -> Result<Vec<NetworkCheck>, LabError> {
    let mut bench = bench::start(exe)?;
    let mut all = Vec::new();
    for (direction, path) in [
        (Direction::Down, &network.down),
        (Direction::Up, &network.up),
    ] {
        for kind in [Kind::Sparse, Kind::Flood, Kind::Asleep] {
            let Some(train) = train(kind, path) else {
                continue;
            };
            let train = with_drain(train, path, direction);
            let what = format!(
                "{}: {} probes of {} bytes",
                label(direction),
                train.count,
                train.payload_bytes + HEADER_BYTES
            );
            let mut attempt = 1;
            let checks = loop {
                observer(NetworkCheckEvent::Sending {
                    train: &what,
                    takes: Duration::from_nanos(u64::from(train.count) * train.spacing_ns)
                        + train.drain,
                });
                bench.set_network(network, SEED)?;
                let checks = measure(&mut bench, direction, path, kind, &train);
                let failed = checks.iter().find(|c| !c.check.pass && !c.noise.is_empty());
                match failed {
                    Some(NetworkCheck { noise, .. }) if attempt < ATTEMPTS => {
                        observer(NetworkCheckEvent::Repeating { noise });
                    }
                    _ => break checks,
                }
                attempt += 1;
            };
            checks
                .iter()
                .for_each(|c| observer(NetworkCheckEvent::Checked(c)));
            all.extend(checks);
        }
    }
    Ok(all)
}

/// Returns the train for a path; `None` when the path's rate is too high for a flood, or has no radio to wake up.
fn train(kind: Kind, path: &PathSpec) -> Option<Train> {
    let bps = path.rate.mean_bps();
    let serialise_ns = |payload_bytes: usize, bps: u64| {
        (payload_bytes + HEADER_BYTES) as u64 * 8_000_000_000 / bps
    };
    Some(match kind {
        Kind::Sparse => {
            let serialise_ns = bps.map_or(0, |bps| serialise_ns(SMALL_PAYLOAD, bps));
            let handovers_ns = handovers_ns(path).min(MAX_SPARSE_NS);
            let spacing_ns = (SPARSE_SERIALISATIONS * serialise_ns)
                .max(MIN_SPARSE_SPACING_NS)
                .max(handovers_ns / MAX_SPARSE);
            let takes_ns = SPARSE_NS.max(handovers_ns);
            Train {
                payload_bytes: SMALL_PAYLOAD,
                spacing_ns,
                count: (takes_ns / spacing_ns).clamp(MIN_SPARSE, MAX_SPARSE) as u32,
                drain: DRAIN,
            }
        }
        Kind::Asleep => {
            let last = path.radio.as_ref()?.states().last()?;
            let wakes_ns = last.down_cycle_ns + last.promotion_ns + last.promotion_jitter_ns;
            Train {
                payload_bytes: SMALL_PAYLOAD,
                spacing_ns: last.after_ns + wakes_ns + IN_LAST_STATE_NS,
                count: ASLEEP,
                drain: DRAIN,
            }
        }
        // At one and a half times the rate.
        Kind::Flood => {
            let packet_ns = serialise_ns(LARGE_PAYLOAD, bps.filter(|bps| *bps <= MAX_FLOOD_BPS)?);
            Train {
                payload_bytes: LARGE_PAYLOAD,
                spacing_ns: packet_ns * 2 / 3,
                count: ((FLOOD_NS / packet_ns).clamp(MIN_FLOOD, MAX_FLOOD) * 3 / 2) as u32,
                drain: DRAIN,
            }
        }
    })
}

/// Returns how long a path takes until the last handover of a period is over.
fn handovers_ns(path: &PathSpec) -> u64 {
    let stations = path.handovers.iter().flat_map(link::Handovers::stations);
    let ends_ns = stations.map(|s| s.at_ns + s.interruption_ns + AFTER_HANDOVER_NS);
    ends_ns.max().unwrap_or(0)
}

/// Adds to a train's drain the time in which the model delivers its last probe.
fn with_drain(train: Train, path: &PathSpec, direction: Direction) -> Train {
    let sent_ns: Vec<u64> = (0..u64::from(train.count))
        .map(|i| i * train.spacing_ns)
        .collect();
    let model = replay(path, direction, SEED, &train, &sent_ns, 0);
    let last_ns = model.arrived.iter().map(|a| a.at_ns).max().unwrap_or(0);
    let sending_ns = sent_ns.last().copied().unwrap_or(0);
    Train {
        drain: train.drain + Duration::from_nanos(last_ns.saturating_sub(sending_ns)),
        ..train
    }
}

fn measure(
    bench: &mut Bench,
    direction: Direction,
    path: &PathSpec,
    kind: Kind,
    train: &Train,
) -> Vec<NetworkCheck> {
    let (checks, noise) = match probe(bench, direction, train) {
        Ok((measured, window)) => {
            let sent_ns = &measured.sent_ns;
            let model = replay(path, direction, SEED, train, sent_ns, window.started_ns);
            (
                compare(label(direction), kind, train, &model, &measured),
                noise(&window),
            )
        }
        Err(e) => {
            let name = format!("{}: probes", label(direction));
            (vec![impossible(&name, &e)], Vec::new())
        }
    };
    let with_noise = |check| NetworkCheck {
        check,
        noise: noise.clone(),
    };
    checks.into_iter().map(with_noise).collect()
}

/// Returns what disturbed a window.
pub(super) fn noise(window: &Window) -> Vec<String> {
    let mut audit = accounting::audit(window);
    add_shares(&mut audit, window, host::cores());
    objections(&audit)
}

/// Compares what arrived with what the model delivered.
fn compare(
    dir: &str,
    kind: Kind,
    train: &Train,
    model: &Arrivals,
    measured: &Arrivals,
) -> Vec<Check> {
    let sent = measured.sent_ns.len() as f64;
    let borderline = (sent * BORDERLINE_SHARE).max(BORDERLINE_PROBES);
    let compare = |name: &str, value: &dyn Fn(&Arrivals) -> f64, margin: f64, unit: &str| {
        let name = format!("{dir}: {name}");
        check(name, value(model), value(measured), margin, unit)
    };
    // What cannot happen on this path must not happen at all.
    let unless_none = |count: f64, margin: f64| if count > 0.0 { margin } else { 0.0 };
    let loss_margin = unless_none(loss_percent(model), borderline / sent * 100.0);
    let mut checks = Vec::new();
    match kind {
        Kind::Sparse => {
            let order_margin = unless_none(overtaken(model), borderline);
            if !model.arrived.is_empty() {
                let p99 = |a: &Arrivals| percentile_ms(a, 99);
                checks.push(compare("one-way delay", &median_ms, DELAY_MARGIN_MS, "ms"));
                checks.push(compare("one-way delay, p99", &p99, TAIL_MARGIN_MS, "ms"));
            }
            checks.push(compare("loss", &loss_percent, loss_margin, "%"));
            checks.push(compare("overtaken probes", &overtaken, order_margin, ""));
        }
        Kind::Asleep => {
            if !model.arrived.is_empty() {
                let longest = |a: &Arrivals| percentile_ms(a, 100);
                let (name, margin) = ("delay with a sleeping radio", ASLEEP_MARGIN_MS);
                checks.push(compare(name, &median_ms, margin, "ms"));
                checks.push(compare(&format!("{name}, longest"), &longest, margin, "ms"));
            }
            checks.push(compare(
                "loss with a sleeping radio",
                &loss_percent,
                loss_margin,
                "%",
            ));
        }
        Kind::Flood => {
            if model.arrived.len() > 1 {
                let rate = |a: &Arrivals| rate_kbps(a, train);
                let longest = |a: &Arrivals| percentile_ms(a, 99);
                let rate_margin = rate(model) * RATE_MARGIN;
                // One packet more or less in the queue.
                let queue_margin = train.spacing_ns as f64 * 1.5 / 1e6 + TAIL_MARGIN_MS;
                checks.push(compare("rate", &rate, rate_margin, "kbit/s"));
                checks.push(compare(
                    "delay with a full queue, p99",
                    &longest,
                    queue_margin,
                    "ms",
                ));
            }
            checks.push(compare(
                "loss with a full queue",
                &loss_percent,
                loss_margin,
                "%",
            ));
        }
    }
    checks
}

fn delays_ms(arrivals: &Arrivals) -> Vec<f64> {
    arrivals
        .arrived
        .iter()
        .map(|a| a.delay_ns as f64 / 1e6)
        .collect()
}

fn median_ms(arrivals: &Arrivals) -> f64 {
    median(delays_ms(arrivals))
}

/// Returns the delay that this many percent of the probes do not exceed; NaN when none arrived.
fn percentile_ms(arrivals: &Arrivals, percent: usize) -> f64 {
    let mut delays = delays_ms(arrivals);
    delays.sort_by(f64::total_cmp);
    let rank = (delays.len() * percent).div_ceil(100);
    rank.checked_sub(1).map_or(f64::NAN, |i| delays[i])
}

fn loss_percent(arrivals: &Arrivals) -> f64 {
    (1.0 - arrivals.arrived.len() as f64 / arrivals.sent_ns.len() as f64) * 100.0
}

/// Returns the number of probes that arrived after a later one.
fn overtaken(arrivals: &Arrivals) -> f64 {
    let mut latest = 0;
    let late = arrivals.arrived.iter().filter(|a| {
        let overtaken = a.index < latest;
        latest = latest.max(a.index);
        overtaken
    });
    late.count() as f64
}

/// Returns the rate of the probes after the first, which found the queue empty.
fn rate_kbps(arrivals: &Arrivals, train: &Train) -> f64 {
    let (Some(first), Some(last)) = (arrivals.arrived.first(), arrivals.arrived.last()) else {
        return f64::NAN;
    };
    let bits = (arrivals.arrived.len() - 1) * (train.payload_bytes + HEADER_BYTES) * 8;
    bits as f64 / last.at_ns.saturating_sub(first.at_ns) as f64 * 1e6
}

#[cfg(test)]
mod tests;
