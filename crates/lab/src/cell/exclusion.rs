//! Keeps cells of parallel blocks from interfering with each other.
//!
//! Starting a server and a driver takes much CPU, so it waits until no cell is measuring. Cells on
//! fast networks, which others would disturb even so, measure alone too.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use link::Network;

/// Below this round trip, and above this rate, two cores cannot measure two cells in parallel
/// without one delaying the other (`commute doctor --jobs` measures it).
const MIN_RTT_NS: u64 = 20_000_000;
const MAX_RATE_BPS: u64 = 20_000_000;

/// The lock that the cells of one run share.
#[derive(Default)]
pub(crate) struct MeasurementGate(RwLock<()>);

/// One cell's access to the gate.
pub(crate) struct Access<'g> {
    gate: &'g MeasurementGate,
    /// Whether the cell may measure in parallel with others.
    overlaps: bool,
}

/// Held while a cell starts up or measures.
pub(crate) enum Permit<'g> {
    /// No other cell starts up or measures.
    Exclusive { _guard: RwLockWriteGuard<'g, ()> },
    /// Other cells may measure too, but none starts up.
    Shared { _guard: RwLockReadGuard<'g, ()> },
}

impl MeasurementGate {
    /// Returns the access of a cell on this network.
    pub(crate) fn for_network(&self, network: &Network) -> Access<'_> {
        Access {
            gate: self,
            overlaps: may_overlap(network),
        }
    }
}

impl<'g> Access<'g> {
    /// Waits until no other cell starts up or measures.
    pub(crate) fn exclusive(&self) -> Permit<'g> {
        let guard = self.gate.0.write().unwrap_or_else(PoisonError::into_inner);
        Permit::Exclusive { _guard: guard }
    }

    /// Exchanges the permit of start-up for that of measuring.
    pub(crate) fn for_measuring(&self, permit: Permit<'g>) -> Permit<'g> {
        if !self.overlaps {
            return permit;
        }
        drop(permit);
        let guard = self.gate.0.read().unwrap_or_else(PoisonError::into_inner);
        Permit::Shared { _guard: guard }
    }
}

/// Returns whether cells on this network may measure in parallel.
pub(crate) fn may_overlap(network: &Network) -> bool {
    let slow = |bps: Option<u64>| bps.is_some_and(|bps| bps <= MAX_RATE_BPS);
    network.rtt_ns() >= MIN_RTT_NS
        && slow(network.down.rate.mean_bps())
        && slow(network.up.rate.mean_bps())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_on_fast_networks_do_not_overlap() {
        assert!(may_overlap(&link::find("true-metro").unwrap()));
        assert!(!may_overlap(&link::find("lan").unwrap()));
    }

    #[test]
    fn no_cell_starts_up_while_another_measures() {
        let gate = MeasurementGate::default();
        let metro = link::find("true-metro").unwrap();
        let (a, b) = (gate.for_network(&metro), gate.for_network(&metro));
        let measuring = a.for_measuring(a.exclusive());
        assert!(gate.0.try_write().is_err(), "start-up must wait");
        let also_measuring = Permit::Shared {
            _guard: gate.0.try_read().unwrap(),
        };
        drop((measuring, also_measuring));
        let _starting = b.exclusive();
        assert!(gate.0.try_read().is_err(), "measuring must wait");
    }
}
