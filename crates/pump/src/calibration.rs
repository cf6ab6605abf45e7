//! Calibration: measures how much longer than the model's delay packets take, and subtracts the
//! median from the delay of the networks set afterwards.
//!
//! Nothing calibrates during a study: only `benches/link.rs` does.

use link::{Direction, Network, PathSpec};
use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::error::BenchError;

/// Long enough that the link's threads sleep between arrival and departure, as in a cell.
const DELAY_NS: u64 = 10_000_000;

/// The bias of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// Client to server.
    pub up: Bias,
    /// Server to client.
    pub down: Bias,
}

/// How much longer than the link's delay probes took, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bias {
    /// Number of probes that arrived.
    pub probes: u32,
    /// Median: the bias that is subtracted.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}

impl Bench {
    /// Measures the bias with the caller's probes and subtracts its median from the delay of the
    /// networks set from now on. Replaces the network: set one afterwards.
    ///
    /// `probe` sends packets in one direction and returns their one-way delays in ns. Space its
    /// packets as the traffic to be calibrated for, since the bias depends on that.
    pub fn calibrate<E: From<BenchError>>(
        &mut self,
        mut probe: impl FnMut(&mut Bench, Direction) -> Result<Vec<u64>, E>,
    ) -> Result<Calibration, E> {
        self.set_bias_ns([0, 0])?;
        let delay = PathSpec {
            delay_ns: DELAY_NS,
            ..PathSpec::default()
        };
        let network = Network {
            name: "calibration".to_owned(),
            about: "a delay and nothing else".to_owned(),
            source: String::new(),
            mtu: 1500,
            up: delay.clone(),
            down: delay,
        };
        self.set_network(&network, 0)?;
        let up = Bias::new(&probe(self, Direction::Up)?, DELAY_NS);
        let down = Bias::new(&probe(self, Direction::Down)?, DELAY_NS);
        self.set_bias_ns([up.p50_ns, down.p50_ns])?;
        Ok(Calibration { up, down })
    }
}

impl Bias {
    fn new(delays_ns: &[u64], model_ns: u64) -> Bias {
        let mut excess: Vec<u64> = delays_ns
            .iter()
            .map(|delay_ns| delay_ns.saturating_sub(model_ns))
            .collect();
        excess.sort_unstable();
        let percentile = |q: usize| excess.get(excess.len() * q / 100).copied().unwrap_or(0);
        Bias {
            probes: excess.len() as u32,
            p50_ns: percentile(50),
            p99_ns: percentile(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bias_is_the_excess_over_the_delay() {
        let delays_ns: Vec<u64> = (100..200).rev().collect();
        assert_eq!(
            Bias::new(&delays_ns, 100),
            Bias {
                probes: 100,
                p50_ns: 50,
                p99_ns: 99
            }
        );
        assert_eq!(Bias::new(&[], 100), Bias::default());
    }
}
