//! Trials of a server that fails on demand, and of clients that give up.

use driver::protocol::{Action, Protocol};

use super::{LARGE, SECOND_NS, call, checks, get, trial};
use crate::conformance::case::Trial;
use crate::conformance::evidence::Evidence;

pub(super) fn reset(_: Protocol) -> Trial {
    faulty("reset", get(LARGE), checks::failed_then_answered)
}

pub(super) fn truncated(_: Protocol) -> Trial {
    faulty("truncate", get(LARGE), checks::failed_then_answered)
}

pub(super) fn slow(_: Protocol) -> Trial {
    faulty("slow", get(LARGE), checks::slow_body)
}

pub(super) fn status(_: Protocol) -> Trial {
    faulty("unavailable", call(), checks::unavailable)
}

pub(super) fn redirect(_: Protocol) -> Trial {
    faulty("redirect", get(100), checks::redirect)
}

pub(super) fn timeout(_: Protocol) -> Trial {
    Trial {
        timeout_ns: SECOND_NS,
        ..faulty("stall", call(), checks::timed_out)
    }
}

pub(super) fn cancel(_: Protocol) -> Trial {
    let mut trial = faulty("stall", call(), checks::cancelled);
    trial.steps[0].cancel_after_ns = Some(checks::CANCEL_NS);
    trial
}

/// Returns a trial whose first call fails on demand; the second must not.
fn faulty(fault: &str, first: Action, check: fn(&Evidence<'_>) -> Result<(), String>) -> Trial {
    Trial {
        server_args: vec!["--inject".into(), format!("1={fault}")],
        ..trial([first, call()], check)
    }
}
