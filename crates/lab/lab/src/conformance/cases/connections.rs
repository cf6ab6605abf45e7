//! Trials of connections: which requests share one, resume one or go elsewhere.

use driver::protocol::{Action, Discovery, Protocol, Reconnect, Start, Step};
use study::Placement;

use super::{LARGE, call, checks, get, trial};
use crate::conformance::case::Trial;

pub(super) fn reused(_: Protocol) -> Trial {
    trial(
        [call(), get(100), call(), get(LARGE), call()],
        checks::one_connection,
    )
}

pub(super) fn fresh(_: Protocol) -> Trial {
    let actions = [
        call(),
        call(),
        reconnect(Reconnect::Cold),
        call(),
        reconnect(Reconnect::Cold),
        call(),
    ];
    trial(actions, checks::three_new_connections)
}

pub(super) fn resumed(_: Protocol) -> Trial {
    let actions = [
        call(),
        call(),
        reconnect(Reconnect::Resume),
        call(),
        call(),
        reconnect(Reconnect::Cold),
        call(),
    ];
    trial(actions, checks::resumed_then_cold)
}

pub(super) fn early_data(_: Protocol) -> Trial {
    let actions = [
        call(),
        call(),
        reconnect(Reconnect::EarlyData),
        get(100),
        call(),
    ];
    trial(actions, checks::early_data)
}

pub(super) fn early_refused(protocol: Protocol) -> Trial {
    Trial {
        server_args: vec!["--reject-tickets".into()],
        check: checks::early_refused,
        ..early_data(protocol)
    }
}

pub(super) fn parallel(_: Protocol) -> Trial {
    let mut trial = trial(
        [
            call(),
            get(LARGE),
            get(LARGE),
            get(LARGE),
            get(LARGE),
            get(LARGE),
            get(LARGE),
        ],
        checks::parallel,
    );
    side_by_side(&mut trial.steps[1..], 1);
    trial
}

pub(super) fn shared(_: Protocol) -> Trial {
    let mut trial = trial(
        [call(), call(), call(), call(), call(), call()],
        checks::one_connection,
    );
    side_by_side(&mut trial.steps, 0);
    trial
}

/// Returns the trial of several origins. The proof compares the origin of each step with the log
/// that its request is in.
pub(super) fn origins(_: Protocol) -> Trial {
    let cold = || reconnect(Reconnect::Cold);
    let mut trial = trial(
        [
            call(),
            call(),
            get(LARGE),
            call(),
            cold(),
            call(),
            call(),
            call(),
        ],
        checks::all_answered,
    );
    trial.origins = &[
        ("name", Placement::SameServer),
        ("server", Placement::OwnServer),
    ];
    for (id, origin) in [(2, "name"), (3, "server"), (7, "server"), (8, "name")] {
        trial.steps[id - 1].origin = Some(origin.to_owned());
    }
    trial
}

pub(super) fn alt_svc(_: Protocol) -> Trial {
    let rest = || Action::Pause { ns: 300_000_000 };
    let actions = [call(), rest(), call(), rest(), call(), rest(), call()];
    Trial {
        discovery: Some(Discovery::AltSvc),
        ..trial(actions, checks::alt_svc_learned)
    }
}

pub(super) fn warm_up(_: Protocol) -> Trial {
    Trial {
        warmup_calls: 3,
        ..trial([call(), call()], checks::origin_untouched)
    }
}

fn reconnect(mode: Reconnect) -> Action {
    Action::Reconnect { mode }
}

fn side_by_side(steps: &mut [Step], after: u32) {
    for step in steps {
        step.start = Some(Start::After(after));
    }
}
