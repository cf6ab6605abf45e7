//! The states of the network's radio, as they are recorded.

use link::{Network, RadioState};
use record::RadioChange;

use super::measured::Measured;

/// Returns the states from the first step to the end of the window; none without a radio.
pub(super) fn radio(measured: &Measured, network: &Network) -> Vec<RadioChange> {
    let Some(spec) = &network.up.radio else {
        return Vec::new();
    };
    let link::Changes { changes, is_cut } = &measured.window.radio;
    let change = |at_ns: u64, state: &str| RadioChange {
        at_ns: at_ns.saturating_sub(measured.started_ns),
        state: state.to_owned(),
    };
    let named = |seen: &link::RadioChange| change(seen.at_ns, seen.state.name(spec));
    let rest = changes.last().filter(|_| *is_cut);
    let rest = rest.map(|last| change(last.at_ns, RadioState::UNRECORDED));
    changes.iter().map(named).chain(rest).collect()
}
