//! Where the time of requests went, for a terminal.

mod csv;
mod markdown;

use comfy_table::{CellAlignment, Table, presets};
use neutral::plain;
use stats::Verdict;

use crate::answer::because::with_reason;
use crate::summary::coverage::Coverage;
use crate::summary::measure::Comparison;
use crate::summary::why::{ArmParts, PartTime, Why, WhyMeasure};
use crate::words::number::{count, duration, size};
use crate::words::part::part_words;
use crate::words::text::{INDENT, finished, wrapped};
use crate::words::verdict::finding_words;
use crate::words::verdict::verdict_words;

const NOTE: &str = "Means in ms over the middle half of the requests; of round trips, their number follows. Each \
    request's parts sum to its time. A reason compares requests of the same block, so that its figures can differ from \
    the table's. Experimental: docs/reference/parts.md lists where a wrong cause is named.";

impl Why {
    /// Returns the sentences and tables for a terminal that is `width` characters wide.
    pub fn human(&self, width: usize) -> String {
        let mut out = String::new();
        for measure in &self.measures {
            out += &wrapped(&heading(measure), "", width);
            for sentence in sentences(measure, &self.against) {
                out += &wrapped(&sentence, INDENT, width);
            }
            out += &table(measure);
            out.push('\n');
        }
        out += &wrapped(&coverage(&self.coverage), "", width);
        out.push('\n');
        out += &wrapped(NOTE, "", width);
        finished(&out, false)
    }
}

/// Returns how much is explained.
fn coverage(coverage: &Coverage) -> String {
    let Coverage {
        calls,
        unexplained_median,
        unexplained_most,
        decided,
        matched,
        explained,
    } = *coverage;
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let requests = count(calls, "request");
    let mut text = format!(
        "Unexplained: {} of a request's time at the median of {requests}, {} at most.",
        percent(unexplained_median),
        percent(unexplained_most)
    );
    if decided > 0 {
        text += &format!(
            " Of {} (faster or slower), the parts sum to {matched}, and {explained} have a reason.",
            count(decided, "difference")
        );
    }
    text
}

fn heading(measure: &WhyMeasure) -> String {
    let rtt_ms = measure.rtt_ns as f64 / 1e6;
    let WhyMeasure { network, label, .. } = measure;
    format!("{network}, {label}: round trip {rtt_ms:.0} ms")
}

/// Returns how each arm differs from the one that it is compared with, and why.
fn sentences(measure: &WhyMeasure, against: &str) -> Vec<String> {
    let sentence = |arm: &ArmParts| {
        let comparison = arm.comparison.as_ref()?;
        Some(format!("{} is {}", arm.arm, finding(comparison, against)?))
    };
    measure.arms.iter().filter_map(sentence).collect()
}

/// Returns a difference with its reason; `None` for one block, and for an undecided difference without a value.
fn finding(comparison: &Comparison, against: &str) -> Option<String> {
    if comparison.difference.blocks < 2 {
        return None;
    }
    let words = match comparison.verdict {
        Verdict::Faster | Verdict::Slower => {
            format!("{} than {against}", finding_words(comparison))
        }
        Verdict::NoDifference => {
            let margin = duration(comparison.margin_ns);
            format!("as fast as {against}, within {margin}")
        }
        Verdict::NotSlower | Verdict::NotFaster => {
            format!("{} than {against}", verdict_words(comparison.verdict))
        }
        Verdict::CannotTell { .. } => {
            let is_faster = comparison.difference.value? < 0.0;
            let size = size(&comparison.difference, is_faster)?.value;
            let word = if is_faster { "faster" } else { "slower" };
            format!("{size} {word} than {against} (not decided)")
        }
    };
    Some(with_reason(words.clone(), comparison).unwrap_or(words))
}

fn table(measure: &WhyMeasure) -> String {
    let mut table = Table::new();
    let names = measure.arms.iter().map(|arm| plain(&arm.arm));
    let header: Vec<String> = [String::new()].into_iter().chain(names).collect();
    table.load_preset(presets::NOTHING).set_header(header);
    for row in rows(measure) {
        table.add_row(row);
    }
    for column in 1..=measure.arms.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.trim_fmt();
    lines
        .lines()
        .map(|line| format!("{INDENT}{line}\n"))
        .collect()
}

/// Returns a row per part and one for the sum, each with a cell per arm.
fn rows(measure: &WhyMeasure) -> Vec<Vec<String>> {
    let parts = measure.shown_parts().into_iter().map(|part| {
        let figures = measure.arms.iter().map(|arm| figure(arm.part(part)));
        [part_words(part).to_owned()]
            .into_iter()
            .chain(figures)
            .collect()
    });
    let totals = measure.arms.iter().map(|arm| ms(arm.time_ns));
    let together = ["together".to_owned()].into_iter().chain(totals).collect();
    parts.chain([together]).collect()
}

fn figure(time: Option<&PartTime>) -> String {
    let Some(time) = time.filter(|time| time.ns >= 5e4) else {
        return "-".to_owned();
    };
    match time.round_trips {
        Some(n) => format!("{} ({n:.1})", ms(time.ns)),
        None => ms(time.ns),
    }
}

fn ms(ns: f64) -> String {
    format!("{:.1}", ns / 1e6)
}
