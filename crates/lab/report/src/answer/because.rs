//! The reasons of decided differences, behind the differences that they explain.

use crate::summary::arm::ArmSummary;
use crate::summary::measure::{Comparison, Measure};
use crate::summary::reason::ReasonOutcome;
use crate::words::verdict::finding_words;

/// Returns the decided differences of an arm with their reasons, e.g. `first request: 118 ms faster because no TCP
/// handshake: -123.0 ms, one round trip`.
pub(crate) fn reasons(arm: &ArmSummary) -> Vec<String> {
    let reason = |(measure, comparison): (&Measure, &Comparison)| {
        let found = with_reason(finding_words(comparison), comparison)?;
        Some(format!("{}: {found}", measure.label))
    };
    arm.comparisons().filter_map(reason).collect()
}

/// Returns words on a difference with its reason behind them; `None` without one.
pub(crate) fn with_reason(words: String, comparison: &Comparison) -> Option<String> {
    let reason = comparison.reason.as_ref()?;
    let join = match reason.outcome {
        ReasonOutcome::Explained | ReasonOutcome::Failed => " ",
        _ => "; ",
    };
    Some(words + join + &reason.words)
}
