//! The terminal: a sentence a person can act on, then the table behind it.

use crate::advice::verdict_words;
use crate::number::{count, duration, percent};
use crate::parts;
use crate::table::Table;
use crate::{AaCheck, ArmSummary, CellCounts, NetworkSummary, Role, Summary};

/// The report for a terminal `width` characters wide. Colour only marks verdicts; nothing is
/// said by it alone.
pub fn human(summary: &Summary, width: usize, color: bool) -> String {
    let page = Page {
        width: width.max(MIN_WIDTH),
        color,
    };
    let mut out = page.header(summary);
    for network in &summary.networks {
        out.push('\n');
        out += &page.network(network);
    }
    out.push('\n');
    out += &page.wrapped(&cells_line(&summary.cells), "");
    for note in &summary.notes {
        out += &page.wrapped(&plain(note), "");
    }
    out
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

/// Without what a terminal would obey: control characters and marks that turn the line round.
pub(crate) fn plain(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|c| if obeyed(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Narrower, not even one column would fit beside the names.
const MIN_WIDTH: usize = 60;
pub(crate) const INDENT: &str = "  ";

struct Page {
    width: usize,
    color: bool,
}

impl Page {
    fn header(&self, summary: &Summary) -> String {
        let mut out = String::new();
        if let Some(line) = a_a_line(&summary.a_a) {
            out += &self.wrapped(&plain(&line), "");
            out.push('\n');
        }
        let left = plain(&format!("{}: {}", summary.study, summary.question));
        let right = format!(
            "seed {} · {} · {} · {}",
            summary.seed,
            count(summary.blocks as usize, "block"),
            duration(summary.measured_ns as f64),
            self_test_words(summary)
        );
        let room = self.width.saturating_sub(chars(&left) + chars(&right));
        if room >= 4 {
            out += &format!("{left}{}{right}\n", " ".repeat(room));
        } else {
            out += &self.wrapped(&left, "");
            out += &format!("{right}\n");
        }
        out
    }

    fn network(&self, network: &NetworkSummary) -> String {
        let title = plain(&format!("{}   {}", network.name, network.numbers));
        let mut out = self.wrapped(&title, INDENT);
        out += &self.wrapped(&plain(&network.sentence), INDENT);
        out.push('\n');
        out += &Table::new(network).lines(self.width, self.color);
        out += &self.wrapped(&spread_note(network), INDENT);
        out + &self.parts(network)
    }

    /// A table for each measure of exchanges.
    fn parts(&self, network: &NetworkSummary) -> String {
        let mut out = String::new();
        let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
        for (i, measure) in measures.iter().enumerate() {
            if let Some(table) = Table::of_parts(&network.arms, i) {
                let heading = plain(&parts::heading(&measure.label));
                out.push('\n');
                out += &self.wrapped(&heading, INDENT);
                out += &table.lines(self.width, self.color);
            }
        }
        if !out.is_empty() {
            out += &self.wrapped(parts::NOTE, INDENT);
        }
        out
    }

    fn wrapped(&self, text: &str, indent: &str) -> String {
        wrapped(text, indent, self.width)
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

/// Broken at spaces to `width`, every line behind `indent`.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && chars(indent) + chars(&line) + 1 + chars(word) > width {
            out += &format!("{indent}{}\n", line.trim_end());
            line.clear();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    out + &format!("{indent}{}\n", line.trim_end())
}

/// How many places a text takes; names are taken to be of single width.
pub(crate) fn chars(text: &str) -> usize {
    text.chars().count()
}
