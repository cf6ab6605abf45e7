//! Arms whose results cannot be used: no cell of theirs was measured, most of their requests failed, or they were given
//! up.

use crate::summary::arm::{ArmSummary, Role};
use crate::words::number::count;

/// A share of failed requests of an arm from which its times mean nothing.
const FAILED_SHARE: f64 = 0.5;

/// An answer that is missing gives no more reasons than this.
const MOST_REASONS: usize = 3;

/// Returns why an arm that should have results has none, e.g. `10 of 10 requests of hyper h2 failed (status
/// 400)`; `None` if it has some, if it was not run, or if it is merely unsupported.
pub(crate) fn fault(arm: &ArmSummary) -> Option<String> {
    if fails_mostly(arm) {
        return Some(failures(arm));
    }
    let lost = is_unmeasured(arm) && arm.cells.failed > 0;
    lost.then(|| {
        let failed = no_cells(arm, arm.cells.failed, "failed");
        format!("{failed}: {}", reason(arm))
    })
}

/// Returns why an arm could not be measured here, if so: its stack is not installed or lacks something.
pub(crate) fn unsupported(arm: &ArmSummary) -> Option<String> {
    let absent = is_unmeasured(arm) && arm.cells.failed == 0 && arm.cells.unsupported > 0;
    absent.then(|| {
        let unsupported = no_cells(arm, arm.cells.unsupported, "are unsupported");
        format!("{unsupported}: {}", reason(arm))
    })
}

/// Returns why the rest of an arm's cells was not measured, if it was given up.
pub(crate) fn given_up(arm: &ArmSummary) -> Option<String> {
    let n = arm.cells.given_up;
    (n > 0).then(|| format!("{}: {}", no_cells(arm, n, "were given up"), reason(arm)))
}

/// Returns why nothing can be said on a network: the baseline has no results, or no other arm has any.
/// Empty if something can be said.
pub(crate) fn no_answer(arms: &[ArmSummary]) -> Vec<String> {
    let why = |arm: &ArmSummary| fault(arm).or_else(|| unsupported(arm));
    let of = |role: Role| arms.iter().filter(move |arm| arm.role == role);
    // That another arm only times out is an answer; that the baseline does leaves nothing to compare with.
    let baseline = of(Role::Baseline).filter_map(|arm| why(arm).or_else(|| given_up(arm)));
    let baseline: Vec<String> = baseline.collect();
    if !baseline.is_empty() {
        return baseline;
    }
    let rivals: Option<Vec<String>> = of(Role::Arm).map(why).collect();
    let mut reasons = rivals.unwrap_or_default();
    if reasons.len() > MOST_REASONS {
        let others = count(reasons.len() - MOST_REASONS + 1, "other arm");
        reasons.truncate(MOST_REASONS - 1);
        reasons.push(format!("no cell of {others} was measured"));
    }
    reasons
}

/// Returns why results of a network must not be used, if so. An arm that is unsupported beside others that
/// were measured is no reason.
pub(crate) fn invalid(network: &str, arms: &[ArmSummary]) -> Vec<String> {
    let mut reasons = no_answer(arms);
    for reason in arms.iter().filter_map(fault) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let on_network = |reason| format!("{network}: {reason}");
    reasons.into_iter().map(on_network).collect()
}

/// Reports whether the share of failed requests of an arm is so large that its times mean nothing. Timeouts are times.
fn fails_mostly(arm: &ArmSummary) -> bool {
    let by_call = || arm.measures.iter().filter(|m| m.part.is_by_request());
    let calls: usize = by_call().map(|m| m.calls).sum();
    let failed: usize = by_call().map(|m| m.failed).sum();
    calls > 0 && failed as f64 >= FAILED_SHARE * calls as f64
}

/// Returns how the requests of an arm that fails mostly failed.
fn failures(arm: &ArmSummary) -> String {
    let by_call = || arm.measures.iter().filter(|m| m.part.is_by_request());
    let failed: usize = by_call().map(|m| m.failed).sum();
    let (calls, _) = arm.calls_and_losses();
    let errors = by_call().flat_map(|m| &m.errors);
    let commonest = errors
        .max_by_key(|(_, n)| **n)
        .map_or("?", |(error, _)| error);
    format!(
        "{failed} of {} of {} failed ({commonest})",
        count(calls, "request"),
        arm.name
    )
}

/// Returns whether no cell of an arm was measured in any attempt that counts.
fn is_unmeasured(arm: &ArmSummary) -> bool {
    let cells = &arm.cells;
    arm.first_attempts.measured + cells.clean + cells.clean_on_retry + cells.noisy == 0
}

/// Returns e.g. `all 6 cells of hyper h2 failed`, or, of a run that was stopped, `2 of 6 cells`.
fn no_cells(arm: &ArmSummary, n: usize, what: &str) -> String {
    let planned = count(arm.cells.planned, "cell");
    match (arm.cells.planned, n) {
        (1, 1) => format!(
            "the only cell of {} {}",
            arm.name,
            what.replace("are ", "is ").replace("were ", "was ")
        ),
        (all, n) if all == n => format!("all {planned} of {} {what}", arm.name),
        (_, n) => format!("{n} of {planned} of {} {what}", arm.name),
    }
}

fn reason(arm: &ArmSummary) -> &str {
    arm.commonest_reason.as_deref().unwrap_or("?")
}
