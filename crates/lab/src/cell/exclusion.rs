//! Who may run while whom, when blocks run side by side.
//!
//! Starting a server and a driver burns CPU, so it is done while no cell measures. Cells
//! that could disturb each other even so (short RTT, high rate) measure alone too.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use link::Network;

/// One run's turn-taking.
#[derive(Default)]
pub(crate) struct Turns(RwLock<()>);

/// One cell's view of it.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    /// May measure beside others.
    sharing: bool,
}

/// Held while starting or measuring.
pub(crate) enum Held<'t> {
    /// Nobody else measures or starts.
    Alone { _guard: RwLockWriteGuard<'t, ()> },
    /// Others measure too.
    Beside { _guard: RwLockReadGuard<'t, ()> },
}

impl Turns {
    pub(crate) fn for_network(&self, network: &Network) -> Turn<'_> {
        Turn {
            turns: self,
            sharing: may_share(network),
        }
    }
}

impl<'t> Turn<'t> {
    /// Waits until nobody measures.
    pub(crate) fn alone(&self) -> Held<'t> {
        let guard = self.turns.0.write().unwrap_or_else(PoisonError::into_inner);
        Held::Alone { _guard: guard }
    }

    /// From starting to measuring.
    pub(crate) fn shared(&self, held: Held<'t>) -> Held<'t> {
        if !self.sharing {
            return held;
        }
        drop(held);
        let guard = self.turns.0.read().unwrap_or_else(PoisonError::into_inner);
        Held::Beside { _guard: guard }
    }
}

/// DESIGN 8: only RTT >= 20 ms and rate <= 20 Mbit/s leave room for a neighbour.
pub(crate) fn may_share(network: &Network) -> bool {
    let slow = |bps: Option<u64>| bps.is_some_and(|bps| bps <= 20_000_000);
    network.rtt_ns() >= 20_000_000
        && slow(network.down.rate.mean_bps())
        && slow(network.up.rate.mean_bps())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_network_shares_with_nobody() {
        assert!(may_share(&link::find("true-metro").unwrap()));
        assert!(!may_share(&link::find("lan").unwrap()));
    }

    #[test]
    fn nobody_starts_while_another_measures() {
        let turns = Turns::default();
        let metro = link::find("true-metro").unwrap();
        let (a, b) = (turns.for_network(&metro), turns.for_network(&metro));
        let measuring = a.shared(a.alone());
        assert!(turns.0.try_write().is_err(), "start-up must wait");
        let beside = Held::Beside {
            _guard: turns.0.try_read().unwrap(),
        };
        drop((measuring, beside));
        let _starting = b.alone();
        assert!(turns.0.try_read().is_err(), "measuring must wait");
    }
}
