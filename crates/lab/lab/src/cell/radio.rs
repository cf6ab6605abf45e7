//! The states of the network's radio, as they are recorded.

use link::{RadioLog, RadioSpec, RadioState};
use record::RadioChange;

/// Returns the states of a log from the first step on, by their names.
pub(super) fn radio(log: &RadioLog, spec: &RadioSpec, first_step_ns: u64) -> Vec<RadioChange> {
    let change = |at_ns: u64, state: &str| RadioChange {
        at_ns: at_ns.saturating_sub(first_step_ns),
        state: state.to_owned(),
    };
    let named = |seen: &link::RadioChange| change(seen.at_ns, seen.state.name(spec));
    let rest = log.changes.last().filter(|_| log.is_cut);
    let rest = rest.map(|last| change(last.at_ns, RadioState::UNRECORDED));
    log.changes.iter().map(named).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use link::find;

    use super::*;

    #[test]
    fn states_have_their_names_and_times_from_the_first_step() {
        let spec = find("lte").unwrap().up.radio.unwrap();
        let seen = [
            (900, RadioState::At(2)),
            (1_000, RadioState::Promoting),
            (1_260, RadioState::At(0)),
        ];
        let changes = seen.map(|(at_ns, state)| link::RadioChange { at_ns, state });
        let recorded = |is_cut| {
            let log = RadioLog {
                changes: changes.to_vec(),
                is_cut,
            };
            let recorded = radio(&log, &spec, 1_000).into_iter();
            recorded.map(|c| (c.at_ns, c.state)).collect::<Vec<_>>()
        };
        let expected = [
            (0, "idle"),
            (0, "promoting"),
            (260, "connected"),
            (260, "unrecorded"),
        ];
        let expected = expected.map(|(at_ns, state)| (at_ns, state.to_owned()));
        assert_eq!(recorded(false), expected[..3]);
        assert_eq!(recorded(true), expected);
    }
}
