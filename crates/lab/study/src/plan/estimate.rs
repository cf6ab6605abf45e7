//! Estimates how long a plan takes, and a workload with an ideal stack.

use std::collections::BTreeMap;

use driver::protocol::{Action, Start};
use link::{Network, PathSpec};
use messages::{Codec, Format, Name};
use record::Position;

use super::calls::{planned_calls, start_at_once};
use super::workload::Workload;
use super::{Block, Plan, PlannedCell, Shard};

/// About how long it takes to start and end a server and a driver: 0.33 to 0.67 s for Rust and
/// Python on two cores.
pub(super) const STARTUP_NS: u64 = 450_000_000;
/// About how much longer it takes with a second server for the warm-up, and a runtime that needs
/// one: 0.6 s on average over OkHttp, Cronet and libcurl on two cores.
pub(super) const WARMUP_NS: u64 = 600_000_000;
/// Payload of a full TCP segment over IPv4 with timestamps, at an MTU of 1500.
const MSS_BYTES: u64 = 1448;
/// RFC 6928.
const INITIAL_WINDOW: u64 = 10 * MSS_BYTES;

impl Plan {
    /// Estimates how long a block takes when its cells run one at a time.
    pub fn block_estimate_ns(&self, block: &Block) -> u64 {
        let measuring_ns = self.measuring_estimates_ns(block.network);
        let cells = block.cells.iter();
        cells
            .map(|cell| self.startup_estimate_ns(cell) + measuring_ns[cell.arm])
            .sum()
    }

    /// Estimates how long a shard takes with `jobs` blocks in parallel. Cells start one after
    /// another, and measure at the same time.
    pub fn estimate_ns(&self, shard: Shard, jobs: u16) -> u64 {
        let measuring_ns: Vec<Vec<u64>> = (0..self.networks.len())
            .map(|network| self.measuring_estimates_ns(network))
            .collect();
        let of_block = |block: &Block| -> u64 {
            let cells = block.cells.iter();
            let measuring = |arm: usize| measuring_ns[block.network][arm] / u64::from(jobs.max(1));
            cells
                .map(|cell| self.startup_estimate_ns(cell) + measuring(cell.arm))
                .sum()
        };
        self.shard(shard).map(of_block).sum()
    }

    /// Estimates the time of each arm's workload on a network in ns, by the arm's index.
    fn measuring_estimates_ns(&self, network: usize) -> Vec<u64> {
        let pipe = Pipe::of(&self.networks[network].link);
        (self.arm_workloads.iter())
            .map(|workload| estimate_ns(workload, &pipe))
            .collect()
    }

    fn startup_estimate_ns(&self, cell: &PlannedCell) -> u64 {
        let restarts = self.workload.restarts.len() as u64;
        let starts_ns = STARTUP_NS * (1 + restarts);
        match self.study.arms[cell.arm].warmup_calls {
            0 => starts_ns,
            _ => starts_ns + WARMUP_NS,
        }
    }
}

/// The figures of a network that decide how long transfers take.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    /// Round trip of the empty link.
    pub rtt_ns: u64,
    /// From server to client; none for unlimited.
    pub down_bps: Option<u64>,
    /// From client to server; none for unlimited.
    pub up_bps: Option<u64>,
}

impl Pipe {
    /// Takes the figures from a network; random loss limits its rates.
    pub fn of(network: &Network) -> Pipe {
        let rtt_ns = network.rtt_ns();
        let bps = |path: &PathSpec| {
            let loss = path
                .loss
                .and_then(|l| loss_limited_bps(rtt_ns, l.mean_ppb()));
            path.rate.mean_bps().into_iter().chain(loss).min()
        };
        Pipe {
            rtt_ns,
            down_bps: bps(&network.down),
            up_bps: bps(&network.up),
        }
    }

    /// Returns the ns from the first byte sent to the last: slow start, then the rate.
    fn transfer_ns(&self, bytes: u64, bps: Option<u64>) -> u64 {
        let in_flight = bps.map_or(u64::MAX, |bps| scaled(bps, self.rtt_ns, 8_000_000_000));
        let (mut window, mut left, mut ns) = (INITIAL_WINDOW, bytes, 0);
        while left > window && window < in_flight {
            left -= window;
            window *= 2;
            ns += self.rtt_ns;
        }
        ns + bps.map_or(0, |bps| scaled(left, 8_000_000_000, bps.max(1)))
    }
}

/// Returns the rate of a Reno-like sender that is limited by loss: MSS / RTT * sqrt(3/2) / sqrt(p)
/// (Mathis et al., 1997). CUBIC and BBR are faster, so times are rather overestimated.
fn loss_limited_bps(rtt_ns: u64, loss_ppb: u32) -> Option<u64> {
    if rtt_ns == 0 || loss_ppb == 0 {
        return None;
    }
    let segments_per_s = 1e9 / rtt_ns as f64 * (1.5 / (f64::from(loss_ppb) / 1e9)).sqrt();
    Some((segments_per_s * (MSS_BYTES * 8) as f64) as u64)
}

fn scaled(value: u64, factor: u64, divisor: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(factor) / u128::from(divisor);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Estimates how long the steps take. Steps that start at once share the link.
pub fn estimate_ns(workload: &Workload, pipe: &Pipe) -> u64 {
    let positions: BTreeMap<u32, Position> = (planned_calls(workload).into_iter())
        .map(|call| (call.id, call.position))
        .collect();
    let mut json = BTreeMap::new();
    let loads = workload.loads().map(|load| load.total_ns() + pipe.rtt_ns);
    let mut total = loads.sum();
    for at_once in workload.steps.chunk_by(start_at_once) {
        if workload.load_of(at_once[0].id).is_some() {
            continue;
        }
        let (mut round_trips, mut down, mut up, mut pause_ns) = (0, 0, 0, 0);
        for step in at_once {
            if let Some(Start::AtNs(at_ns)) = step.start {
                total = at_ns.max(total);
            }
            let mut trips = 1;
            match &step.action {
                Action::Call { .. } => {}
                Action::Get { bytes } => down += bytes,
                Action::Put { bytes } => up += bytes,
                Action::Stream { messages, .. } => trips = u64::from(*messages),
                Action::Exchange { message, .. } => {
                    let bytes = *json
                        .entry(message.as_str())
                        .or_insert_with(|| json_bytes(message));
                    down += bytes;
                    up += bytes;
                }
                Action::Submit { message, .. } => {
                    up += *json
                        .entry(message.as_str())
                        .or_insert_with(|| json_bytes(message));
                }
                Action::Fetch { .. } => {
                    if let Some(sent) = workload.own.of(&step.action) {
                        up += sent.request_bytes();
                        down += sent.answer_bytes();
                    }
                }
                Action::Pause { ns } => (trips, pause_ns) = (0, *ns),
                Action::Reconnect { .. } => trips = 0,
            }
            // Two round trips for TCP and TLS; QUIC needs one.
            if positions
                .get(&step.id)
                .is_some_and(|p| *p != Position::Warm)
            {
                trips += 2;
            }
            round_trips = trips.max(round_trips);
        }
        total += round_trips * pipe.rtt_ns
            + pause_ns
            + pipe.transfer_ns(down, pipe.down_bps)
            + pipe.transfer_ns(up, pipe.up_bps);
    }
    total
}

/// Returns the length of a message as JSON. For an estimate that is close enough whatever the
/// codec.
fn json_bytes(message: &str) -> u64 {
    let name: Result<Name, _> = message.parse();
    let mut coder = Codec::plain(Format::Json).coder();
    name.map_or(0, |name| coder.encode(&name.message(1)).len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;

    const MS: u64 = 1_000_000;

    fn get(bytes: u64, times: u32) -> Step {
        Step::Get {
            group: "file".into(),
            bytes,
            times,
        }
    }

    fn estimate(steps: &[Step], pipe: &Pipe) -> u64 {
        estimate_ns(&Workload::expand(steps), pipe)
    }

    const NARROW: Pipe = Pipe {
        rtt_ns: 10 * MS,
        down_bps: Some(1_000_000),
        up_bps: None,
    };

    #[test]
    fn handshake_round_trips_and_bytes_add_up() {
        // The pipe holds less than the initial window, so there is no slow start.
        assert_eq!(estimate(&[get(125_000, 1)], &NARROW), 30 * MS + 1000 * MS);
        assert_eq!(estimate(&[get(125_000, 2)], &NARROW), 40 * MS + 2000 * MS);
    }

    #[test]
    fn a_step_waits_for_its_time_but_not_longer() {
        let at = |ns| [get(125_000, 1), Step::WaitUntil { ns }, get(0, 1)];
        let rest_ns = 10 * MS + 2;
        assert_eq!(estimate(&at(5000 * MS), &NARROW), 5000 * MS + rest_ns);
        assert_eq!(estimate(&at(500 * MS), &NARROW), 1030 * MS + rest_ns);
    }

    #[test]
    fn parallel_steps_share_the_link_and_wait_once() {
        let at_once = Step::Parallel(vec![get(125_000, 2)]);
        assert_eq!(estimate(&[at_once], &NARROW), 30 * MS + 2000 * MS);
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip() {
        let fast = Pipe {
            rtt_ns: 100 * MS,
            down_bps: None,
            up_bps: None,
        };
        assert_eq!(estimate(&[get(INITIAL_WINDOW, 1)], &fast), 300 * MS);
        assert_eq!(estimate(&[get(INITIAL_WINDOW * 3, 1)], &fast), 400 * MS);
        assert_eq!(estimate(&[get(INITIAL_WINDOW * 3 + 1, 1)], &fast), 500 * MS);
    }

    /// Mathis et al.: 1448 B per 100 ms, times sqrt(1.5 / 0.015) = 10.
    #[test]
    fn loss_limits_the_rate() {
        assert_eq!(loss_limited_bps(100 * MS, 15_000_000), Some(1_158_400));
        assert_eq!(loss_limited_bps(100 * MS, 0), None);
        let lossy = Pipe::of(&link::find("true-metro").unwrap());
        let rate = link::find("true-metro").unwrap().down.rate.mean_bps();
        assert!(lossy.down_bps < rate);
    }

    #[test]
    fn exchanges_count_both_directions() {
        let exchange = Step::Exchange {
            group: "page".into(),
            messages: vec!["api-2kB".parse().unwrap()],
            times: 1,
        };
        let pipe = Pipe {
            rtt_ns: 100,
            down_bps: None,
            up_bps: Some(1_000_000),
        };
        // Three round trips, and 2,000 bytes up at 1 Mbit/s.
        assert_eq!(estimate(&[exchange], &pipe), 300 + 16 * MS);
    }
}
