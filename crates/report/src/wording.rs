//! Sentences that the terminal and the page share.

use stats::Verdict;

use crate::number::{count, percent};
use crate::summary::{AaCheck, ArmSummary, CellCounts, NetworkSummary, Role, Summary};

/// A verdict in words.
pub(crate) fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifference => "no difference",
        Verdict::CannotTell { .. } => "cannot tell",
    }
}

/// How the planned cells ended, in one line.
pub(crate) fn cells_line(cells: &CellCounts) -> String {
    let mut line = format!(
        "{}: {} clean, {} noisy and re-run, {} failed, {} unsupported",
        count(cells.planned, "cell"),
        cells.clean,
        cells.rerun,
        cells.failed,
        cells.unsupported
    );
    for (n, what) in [
        (cells.noisy, "noisy to the last attempt"),
        (cells.not_run, "not run"),
        (cells.superseded, "superseded records"),
    ] {
        if n > 0 {
            line += &format!(", {n} {what}");
        }
    }
    line
}

/// The line that comes before all others when the lab found a difference that is not there.
pub(crate) fn a_a_line(check: &AaCheck) -> Option<String> {
    match check {
        AaCheck::Failed { objections } => Some(format!(
            "THE A/A CHECK FAILED: the baseline differs from itself. {}.",
            objections.join(". ")
        )),
        AaCheck::Absent | AaCheck::Passed => None,
    }
}

/// `self-test 9/9`.
pub(crate) fn self_test_words(summary: &Summary) -> String {
    let passed = summary.self_test.iter().filter(|check| check.pass).count();
    match summary.self_test.len() {
        0 => "self-test skipped".into(),
        all => format!("self-test {passed}/{all}"),
    }
}

/// What stands beside an arm's figures or in their place.
pub(crate) fn remarks(arm: &ArmSummary) -> Vec<String> {
    let mut remarks = Vec::new();
    match arm.role {
        Role::Repeat => remarks.push("the baseline again: an A/A check".to_owned()),
        Role::Baseline | Role::Arm => {}
    }
    remarks.extend(arm.caveat.clone());
    remarks.extend(arm.reasons.iter().cloned());
    let unlike = arm.differences.iter().filter(|d| d.on_the_wire);
    let unlike: Vec<String> = unlike
        .map(|d| format!("{} {} ({})", d.what, d.arm, d.baseline))
        .collect();
    if !unlike.is_empty() {
        remarks.push(format!("unlike the baseline: {}", unlike.join("; ")));
    }
    for measure in &arm.measures {
        let losses = [
            (
                measure.timed_out,
                "timed out (counted as at least that long)",
            ),
            (measure.failed, "failed (counted as at least the time-out)"),
            (measure.retried, "seen twice by the server"),
        ];
        for (n, what) in losses.into_iter().filter(|(n, _)| *n > 0) {
            remarks.push(format!(
                "{}: {n} of {} {what}",
                measure.label,
                count(measure.calls, "call")
            ));
        }
        let words = measure.with_noisy.map(verdict_words);
        match (
            measure
                .comparison
                .as_ref()
                .map(|c| verdict_words(c.verdict)),
            words,
        ) {
            (Some(clean), Some(all)) if clean != all => remarks.push(format!(
                "{}: {clean}, but {all} with noisy cells",
                measure.label
            )),
            (None, Some(all)) => remarks.push(format!(
                "{}: {all} with noisy cells, and no block is clean",
                measure.label
            )),
            _ => {}
        }
    }
    match arm.proof {
        Some(record::Proof::Client) => remarks.push("protocol claimed by the client only".into()),
        Some(record::Proof::Wire) => remarks.push("protocol known from packets only".into()),
        Some(record::Proof::Server) | None => {}
    }
    remarks
}

/// What ± means here: with few blocks it is much less than 95 %.
pub(crate) fn spread_note(network: &NetworkSummary) -> String {
    let times = network
        .arms
        .iter()
        .flat_map(|arm| &arm.measures)
        .filter_map(|m| m.time.as_ref());
    let fewest = times.min_by(|a, b| a.coverage.total_cmp(&b.coverage));
    match fewest {
        None => "No clean cell here.".into(),
        Some(q) if q.blocks < 2 => "±?: one block has no interval.".into(),
        Some(q) if q.coverage < 0.95 => format!(
            "± is the wider side of the whole range: with {} it covers the median with {} only.",
            count(q.blocks, "block"),
            percent(q.coverage)
        ),
        Some(_) => "± is the wider side of the 95 % interval of the median over blocks.".into(),
    }
}
