//! Probes: small datagrams that cross the link and tell how long it took.

use link::Direction;
use serde::{Deserialize, Serialize};

/// A series of probes in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probes {
    /// Which way.
    pub direction: Direction,
    /// How many.
    pub count: u32,
    /// Mean time between two; each gap is drawn from half to one and a half of it, so that
    /// probes do not fall in step with anything. A late sender catches up. 0 sends as fast as
    /// it goes.
    pub spacing_ns: u64,
    /// IP bytes of each, over IPv4.
    pub ip_bytes: u32,
}

/// One probe. Times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Just before it was handed to the sender's kernel.
    pub sent_ns: u64,
    /// When the receiver's kernel had it; `None` when it never came.
    pub received_ns: Option<u64>,
}

impl Probe {
    /// How long it was under way.
    pub fn delay_ns(&self) -> Option<u64> {
        self.received_ns
            .map(|received_ns| received_ns.saturating_sub(self.sent_ns))
    }

    pub(crate) const LEN: usize = 16;

    pub(crate) fn to_bytes(self) -> [u8; Probe::LEN] {
        let mut bytes = [0; Probe::LEN];
        bytes[..8].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[8..].copy_from_slice(&self.received_ns.unwrap_or(0).to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Probe::LEN]) -> Probe {
        let (sent, received) = bytes.split_at(8);
        let number = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("half of 16 bytes"));
        let received_ns = number(received);
        Probe {
            sent_ns: number(sent),
            received_ns: (received_ns != 0).then_some(received_ns),
        }
    }
}

/// What the way itself costs beside the link, and what the benches to come take off for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// Mean time between the probes.
    pub spacing_ns: u64,
    /// Up.
    pub up: Bias,
    /// Down.
    pub down: Bias,
}

/// How much longer than the link's delay probes took, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bias {
    /// Probes that came, on which this rests.
    pub probes: u32,
    /// Median: what is taken off.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
}

impl Bias {
    /// Of probes over a link with this delay.
    pub(crate) fn of(probes: &[Probe], delay_ns: u64) -> Bias {
        let mut over: Vec<u64> = probes
            .iter()
            .filter_map(Probe::delay_ns)
            .map(|took_ns| took_ns.saturating_sub(delay_ns))
            .collect();
        over.sort_unstable();
        let at = |q: usize| over.get(over.len() * q / 100).copied().unwrap_or(0);
        Bias {
            probes: over.len() as u32,
            p50_ns: at(50),
            p99_ns: at(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_comes_back_from_its_bytes() {
        for received_ns in [None, Some(9)] {
            let probe = Probe {
                sent_ns: 7,
                received_ns,
            };
            assert_eq!(Probe::from_bytes(&probe.to_bytes()), probe);
        }
    }

    #[test]
    fn bias_is_what_the_delay_does_not_explain_and_lost_probes_are_not_in_it() {
        let probe = |over: u64| Probe {
            sent_ns: 5,
            received_ns: Some(105 + over),
        };
        let mut probes: Vec<Probe> = (0..100).map(probe).collect();
        probes.push(Probe {
            sent_ns: 5,
            received_ns: None,
        });
        assert_eq!(
            Bias::of(&probes, 100),
            Bias {
                probes: 100,
                p50_ns: 50,
                p99_ns: 99
            }
        );
        assert_eq!(Bias::of(&[], 100), Bias::default());
    }
}
