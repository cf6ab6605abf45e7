//! The bottleneck of one direction of the link.

use link::tap::TapRecord;
use link::{PathSpec, RateSpec};

/// One direction of the link.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// Delay after the bottleneck.
    delay_ns: u64,
    rate: Rate,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    /// Packets wait for nothing.
    Unlimited,
    Bps(u64),
    /// Known only by when packets departed.
    Varying,
}

impl Leg {
    /// Returns the leg that a path's settings describe.
    pub fn of(path: &PathSpec) -> Leg {
        let rate = match &path.rate {
            _ if path.gate.is_some() => Rate::Varying,
            RateSpec::Unlimited => Rate::Unlimited,
            RateSpec::Constant { bps } => Rate::Bps(bps.get()),
            RateSpec::Trace(_) => Rate::Varying,
        };
        Leg {
            delay_ns: path.delay_ns,
            rate,
        }
    }

    /// Returns when a packet left the bottleneck, which was free from `free_ns` on.
    pub(crate) fn left_ns(&self, packet: &TapRecord, free_ns: u64) -> u64 {
        let begin_ns = packet.arrival_ns.max(free_ns);
        match self.rate {
            Rate::Unlimited => packet.arrival_ns,
            Rate::Bps(bps) => {
                let ns = u128::from(packet.ip_bytes) * 8_000_000_000 / u128::from(bps);
                begin_ns.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
            }
            Rate::Varying => (packet.departure_ns.saturating_sub(self.delay_ns)).max(begin_ns),
        }
    }
}
