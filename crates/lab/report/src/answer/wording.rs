//! Sentences that the terminal and the page share.

use record::Proof;
use stats::Verdict;

use crate::figures::configuration::SERVER_LIBRARY;
use crate::figures::sending;
use crate::summary::arm::{ArmSummary, Energy, Role};
use crate::summary::measure::{Comparison, Measure};
use crate::summary::threshold::{ThresholdOutcome, ThresholdResult};
use crate::summary::{AaCheck, CellCounts, NetworkSummary, Summary};
use crate::verdicts::pairing;
use crate::words::number::{Column, count, ends_in, joules_range, percent, size, with_interval};
use crate::words::verdict::{outlook_words, verdict_words};

/// Errors that a remark names: messages of libraries may differ with every request.
const MAX_ERRORS: usize = 3;

/// Returns the mean of requests in words, e.g. `mean 74.6 ms`, where the median does not show it.
pub(crate) fn mean_words(measure: &Measure) -> Option<String> {
    let mean = size(measure.mean.as_ref()?, false)?;
    Some(format!("mean {}", mean.value))
}

/// Returns what a threshold found of a figure, e.g. `fail: first > 300ms: lan, hyper h2, first request:
/// 384 ms [379, 387]`.
pub fn threshold_line(result: &ThresholdResult) -> String {
    let ThresholdResult {
        threshold,
        network,
        arm,
        label,
        ..
    } = result;
    let outcome = match result.outcome {
        ThresholdOutcome::Pass => "pass",
        ThresholdOutcome::Fail => "FAIL",
        ThresholdOutcome::CannotTell => "cannot tell",
    };
    let figure = result.figure.as_ref().map(with_interval);
    let said: Vec<String> = figure.into_iter().chain(result.reason.clone()).collect();
    format!(
        "{outcome}: {threshold}: {network}, {arm}, {label}: {}",
        said.join("; ")
    )
}

/// Returns one line on how the planned cells ended.
pub fn cells_line(cells: &CellCounts) -> String {
    let mut line = format!(
        "{}: {} clean, {} clean on retry, {} failed, {} unsupported",
        count(cells.planned, "cell"),
        cells.clean,
        cells.clean_on_retry,
        cells.failed,
        cells.unsupported
    );
    for (n, what) in [
        (cells.given_up, "given up"),
        (cells.noisy, "noisy"),
        (cells.not_run, "not run"),
        (cells.superseded, "superseded records"),
    ] {
        if n > 0 {
            line += &format!(", {n} {what}");
        }
    }
    line
}

/// Returns the energies of all phones from the least to the most, e.g. `1.20 to 1.41 J`.
pub(crate) fn energy_words(energies: &[Energy]) -> String {
    let joules = energies.iter().filter_map(|e| e.per_request.value);
    joules_range(joules.collect()).unwrap_or_else(|| "-".to_owned())
}

/// Returns what energies of the radio are, and whose, or why there is none; `None` for networks without a radio.
pub(crate) fn energy_note(network: &NetworkSummary) -> Option<String> {
    let arms = &network.arms;
    if let Some(arm) = arms.iter().find(|arm| !arm.costs.energy.is_empty()) {
        let phones: Vec<&str> = (arm.costs.energy.iter())
            .map(|energy| energy.phone.as_str())
            .collect();
        return Some(format!(
            "Energy is a model's, not measured: published powers of the radio's states over time, with idle as zero, until the \
             radio is idle after the last request. Phones: {}.",
            phones.join(", ")
        ));
    }
    let reason = network.energy_unknown.as_ref();
    let has_radio = arms.iter().any(|arm| arm.costs.radio_awake.is_some());
    reason
        .filter(|_| has_radio)
        .map(|reason| format!("The radio's energy is not known: {reason}."))
}

/// Returns what precedes everything else: that the A/A check failed, that cells were not run, and why results must not
/// be used, as far as the answer does not say it itself.
pub(crate) fn alarms(summary: &Summary) -> Vec<String> {
    let is_new = |line: &&String| {
        let reason = line
            .split_once(": ")
            .map_or(line.as_str(), |(_, reason)| reason);
        !summary.answer.contains(reason)
    };
    let invalid = summary.invalid.iter().filter(is_new);
    let invalid = invalid.map(|line| format!("INVALID: {line}."));
    a_a_line(&summary.a_a)
        .into_iter()
        .chain(incomplete_line(&summary.cells))
        .chain(invalid)
        .collect()
}

fn incomplete_line(cells: &CellCounts) -> Option<String> {
    let CellCounts {
        planned, not_run, ..
    } = cells;
    (*not_run > 0).then(|| format!("INCOMPLETE: {not_run} of {planned} cells were not run."))
}

fn a_a_line(check: &AaCheck) -> Option<String> {
    match check {
        AaCheck::Failed { objections } => {
            Some(format!("THE A/A CHECK FAILED. {}.", objections.join(". ")))
        }
        AaCheck::Absent | AaCheck::Passed | AaCheck::Inconclusive { .. } => None,
    }
}

/// Returns the result of the self-test, e.g. `self-test 9/9`.
pub(crate) fn self_test_words(summary: &Summary) -> String {
    let passed = summary.self_test.iter().filter(|check| check.pass).count();
    match summary.self_test.len() {
        0 => "self-test skipped".into(),
        all => format!("self-test {passed}/{all}"),
    }
}

/// Returns a sentence if the arm negotiated another protocol than the one asked for.
pub(crate) fn protocol_mismatch(arm: &ArmSummary) -> Option<String> {
    let negotiated = arm.negotiated_protocols.iter().map(String::as_str);
    let other: Vec<&str> = negotiated.filter(|name| *name != arm.protocol).collect();
    (!other.is_empty()).then(|| {
        format!(
            "{} was configured for {} and negotiated {}.",
            arm.name,
            arm.protocol,
            other.join(", ")
        )
    })
}

/// Returns the server's library and congestion control, which decide how downloads are sent, e.g.
/// `quinn-proto 0.11.17 · cubic`.
pub(crate) fn sender_words(arm: &ArmSummary) -> String {
    let libraries = arm.configuration.get(SERVER_LIBRARY).into_iter().flatten();
    let libraries: Vec<&str> = libraries.map(String::as_str).collect();
    let or_dash = |words: String| if words.is_empty() { "-".into() } else { words };
    format!(
        "{} · {}",
        or_dash(libraries.join(" and ")),
        or_dash(arm.congestion.join(" and "))
    )
}

/// Returns the number of connections per cell, e.g. `1` or `1 to 3`.
pub(crate) fn connections_words(arm: &ArmSummary) -> String {
    match &arm.connections {
        None => "-".into(),
        Some(n) if n.fewest == n.most => n.most.to_string(),
        Some(n) => format!("{} to {} (median {})", n.fewest, n.most, n.median),
    }
}

/// Returns the IP versions of an arm's connections, e.g. `v4`.
pub(crate) fn ip_words(arm: &ArmSummary) -> String {
    let versions: Vec<String> = arm.ip_versions.iter().map(|v| format!("v{v}")).collect();
    match versions.is_empty() {
        true => "-".into(),
        false => versions.join(" and "),
    }
}

/// Returns the commonest errors of a measure, e.g. `2 status 503`.
fn errors_words(measure: &Measure) -> String {
    let mut errors: Vec<(&String, &usize)> = measure.errors.iter().collect();
    errors.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    let mut parts: Vec<String> = errors
        .iter()
        .take(MAX_ERRORS)
        .map(|(error, n)| format!("{n} {error}"))
        .collect();
    if errors.len() > MAX_ERRORS {
        let others = errors[MAX_ERRORS..].iter().map(|(_, n)| **n).sum::<usize>();
        parts.push(format!("{others} other"));
    }
    parts.join(", ")
}

/// Returns the remarks that accompany an arm's figures or replace them.
pub(crate) fn remarks(arm: &ArmSummary) -> Vec<String> {
    let mut remarks = Vec::new();
    match arm.role {
        Role::Repeat => {
            remarks.push("A/A arm: a copy of the baseline".to_owned());
            remarks.extend(pairing::remarks(arm));
        }
        Role::Baseline | Role::Arm => {}
    }
    remarks.extend(arm.caveat.clone());
    remarks.extend(arm.reasons.iter().cloned());
    let differences = arm.differences.iter().filter(|d| d.on_the_wire);
    let differences: Vec<String> = differences
        .map(|d| format!("{} {} instead of {}", d.what, d.arm, d.baseline))
        .collect();
    if !differences.is_empty() {
        remarks.push(format!(
            "differs from the baseline: {}",
            differences.join("; ")
        ));
    }
    remarks.extend(sending::remark(arm));
    if arm.saturated > 0 {
        remarks.push(format!(
            "{} of {} kept the cores busy: this rate is too much for this machine",
            arm.saturated,
            count(arm.blocks(), "cell")
        ));
    }
    for measure in &arm.measures {
        let errors = errors_words(measure);
        let failed = format!("failed (counted as at least the timeout): {errors}");
        let losses = [
            (
                measure.timed_out,
                "timed out (counted as at least the timeout)",
            ),
            (measure.failed, failed.as_str()),
            (
                measure.retried,
                "seen more than once by the server (silent retry)",
            ),
        ];
        // The calls of the whole and of the tail are those of other parts.
        let losses = losses
            .into_iter()
            .filter(|(n, _)| *n > 0 && measure.part.is_by_request());
        for (n, what) in losses {
            remarks.push(format!(
                "{}: {n} of {} {what}",
                measure.label,
                count(measure.calls, "request")
            ));
        }
        if let Some(comparison) = &measure.comparison {
            remarks.extend(undecided(measure, comparison));
        }
    }
    match arm.proof {
        Some(Proof::Client) => {
            remarks.push("protocol reported by the client only, not verified".into());
        }
        Some(Proof::Wire) => remarks.push("protocol verified from packets only".into()),
        Some(Proof::Server) | None => {}
    }
    remarks
}

/// Returns what a comparison leaves open, and what clean cells alone say if that differs.
fn undecided(measure: &Measure, comparison: &Comparison) -> Option<String> {
    let label = &measure.label;
    let words = verdict_words(comparison.verdict);
    if let Verdict::CannotTell { blocks, outlook } = comparison.verdict {
        if blocks < stats::MIN_BLOCKS {
            return None;
        }
        let outlook = outlook_words(outlook);
        return Some(match range_words(comparison) {
            Some(range) => format!("{label}: {range}; {outlook}"),
            None => format!("{label}: {outlook}"),
        });
    }
    let one_sided = matches!(comparison.verdict, Verdict::NotSlower | Verdict::NotFaster);
    let range = one_sided.then(|| range_words(comparison)).flatten();
    let clean = comparison
        .clean_only
        .filter(|clean| *clean != comparison.verdict)
        .map(|clean| format!("{} from clean cells alone", verdict_words(clean)));
    match (range, clean) {
        (None, None) => None,
        (Some(range), None) => Some(format!("{label}: {range}")),
        (None, Some(clean)) => Some(format!("{label}: {words}, but {clean}")),
        (Some(range), Some(clean)) => Some(format!("{label}: {range}; {clean}")),
    }
}

/// Returns the interval of a difference in words, e.g. `between 14 ms faster and 342 ms slower`.
pub(crate) fn range_words(comparison: &Comparison) -> Option<String> {
    range_words_in(comparison, None)
}

/// Returns the interval of a difference in words, in the unit of a column if there is one.
pub(crate) fn range_words_in(comparison: &Comparison, column: Option<&Column>) -> Option<String> {
    let (low, high) = (comparison.difference.low, comparison.difference.high);
    // Where a block has no value, one end may be open.
    let (least, most) = ends_in(low.or(high)?, high.or(low)?, column);
    Some(match (low, high) {
        (Some(_), Some(high)) if high <= 0.0 => format!("{most} to {least} faster"),
        (Some(low), Some(_)) if low >= 0.0 => format!("{least} to {most} slower"),
        (Some(_), Some(_)) => format!("between {least} faster and {most} slower"),
        (None, Some(high)) if high <= 0.0 => format!("at least {most} faster"),
        (None, _) => format!("at most {most} slower"),
        (Some(low), None) if low >= 0.0 => format!("at least {least} slower"),
        (Some(_), None) => format!("at most {least} faster"),
    })
}

/// Returns a note on the intervals of a network's figures: with few blocks, much less than 95 %.
pub(crate) fn interval_note(network: &NetworkSummary) -> String {
    let times = network
        .arms
        .iter()
        .flat_map(|arm| &arm.measures)
        .filter_map(|m| m.time.as_ref());
    let fewest = times.min_by(|a, b| a.coverage.total_cmp(&b.coverage));
    match fewest {
        None => "Nothing was measured.".into(),
        Some(q) if q.blocks < 2 => "A single block has no interval.".into(),
        Some(q) if q.coverage < 0.945 => format!(
            "[ ]: the range over blocks; that of {} contains the true median with a probability of \
             only {}.",
            count(q.blocks, "block"),
            percent(q.coverage)
        ),
        Some(_) => {
            "[ ]: the 95 % interval of the median over blocks; of a difference, at the level \
                    in the sentence."
                .into()
        }
    }
}
