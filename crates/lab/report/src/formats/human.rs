//! The report for a terminal in full: the answer, then for each network a sentence and the table behind it.

use neutral::plain;

use crate::answer::wording::{
    alarms, cells_line, energy_note, interval_note, self_test_words, threshold_line,
};
use crate::figures::external;
use crate::figures::load;
use crate::figures::phases;
use crate::formats::table::Table;
use crate::summary::sweep::Sweep;
use crate::summary::{NetworkSummary, Summary};
use crate::verdicts::noise;
use crate::words::number::{count, duration};
use crate::words::text::{INDENT, finished, width_of, wrapped};

/// In a narrower terminal, not even one column would fit beside the names.
pub(crate) const MIN_WIDTH: usize = 60;

/// Returns the report in full, for a terminal that is `width` characters wide. Colour only marks verdicts;
/// it carries no information of its own.
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
    for sweep in &summary.sweeps {
        out.push('\n');
        out += &page.sweep(sweep);
    }
    if !summary.thresholds.is_empty() {
        out += "\nThresholds:\n";
    }
    for result in &summary.thresholds {
        out += &page.wrapped(&threshold_line(result), INDENT);
    }
    out.push('\n');
    out += &page.wrapped(&cells_line(&summary.cells), "");
    if let Some(line) = noise::line(&summary.noise) {
        out += &page.wrapped(&line, "");
    }
    for note in &summary.notes {
        out += &page.wrapped(note, "");
    }
    if let Some(command) = &summary.replicate {
        // On one line, so that it can be copied.
        out += &format!("{INDENT}{}\n", plain(command));
    }
    finished(&out, color)
}

/// Returns the study and its question, and what the run consists of, on one line where both fit.
pub(crate) fn titled(summary: &Summary, width: usize) -> String {
    let left = plain(&format!("{}: {}", summary.study, summary.question));
    let right = plain(&format!(
        "seed {} · {} · {} of cell time · {}",
        summary.seed,
        count(summary.blocks as usize, "block"),
        duration(summary.measured_ns as f64),
        self_test_words(summary)
    ));
    let room = width.saturating_sub(width_of(&left) + width_of(&right));
    match room >= 4 {
        true => format!("{left}{}{right}\n", " ".repeat(room)),
        false => wrapped(&left, "", width) + &wrapped(&right, "", width),
    }
}

struct Page {
    width: usize,
    color: bool,
}

impl Page {
    fn header(&self, summary: &Summary) -> String {
        let mut out = String::new();
        let alarms = alarms(summary);
        for line in &alarms {
            out += &self.wrapped(line, "");
        }
        if !alarms.is_empty() {
            out.push('\n');
        }
        out += &self.wrapped(&summary.answer, "");
        if let Some(warning) = &summary.noise_warning {
            out += &self.wrapped(warning, "");
        }
        out.push('\n');
        out += &titled(summary, self.width);
        if let Some(external) = &summary.external {
            out += &self.wrapped(&external::words(external), INDENT);
        }
        out
    }

    /// Formats one line per arm: how its verdict changes along the setting, then its times.
    fn sweep(&self, sweep: &Sweep) -> String {
        let title = format!("{}: {}", sweep.title(), sweep.values.join(", "));
        let mut out = self.wrapped(&title, INDENT);
        for trend in &sweep.arms {
            let words = trend.words.as_deref().unwrap_or("baseline");
            let line = format!("{}: {words}. {}", trend.arm, trend.cells().join(", "));
            out += &self.wrapped(&line, INDENT);
        }
        out
    }

    fn network(&self, network: &NetworkSummary) -> String {
        let title = format!("{}   {}", network.name, network.numbers);
        let mut out = self.wrapped(&title, INDENT);
        out += &self.wrapped(&network.sentence, INDENT);
        out.push('\n');
        out += &Table::new(network).lines(self.width, self.color);
        out += &self.wrapped(&interval_note(network), INDENT);
        if let Some(note) = energy_note(network) {
            out += &self.wrapped(&note, INDENT);
        }
        out + &self.loads(network) + &self.phases(network)
    }

    /// Returns a table of rate and percentiles for each group that is bound by time.
    fn loads(&self, network: &NetworkSummary) -> String {
        let mut out = String::new();
        let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
        for (i, measure) in measures.iter().enumerate() {
            if let Some(table) = Table::of_load(&network.arms, i) {
                out.push('\n');
                out += &self.wrapped(&load::heading(&measure.label), INDENT);
                out += &table.lines(self.width, self.color);
            }
        }
        if !out.is_empty() {
            out += &self.wrapped(load::NOTE, INDENT);
        }
        out
    }

    /// Returns a table of phases for each measure that has exchanges.
    fn phases(&self, network: &NetworkSummary) -> String {
        let mut out = String::new();
        let measures = network.arms.first().map_or(&[][..], |arm| &arm.measures);
        for (i, measure) in measures.iter().enumerate() {
            if let Some(table) = Table::of_phases(&network.arms, i) {
                let heading = phases::heading(&measure.label);
                out.push('\n');
                out += &self.wrapped(&heading, INDENT);
                out += &table.lines(self.width, self.color);
            }
        }
        if !out.is_empty() {
            out += &self.wrapped(phases::NOTE, INDENT);
        }
        out
    }

    fn wrapped(&self, text: &str, indent: &str) -> String {
        wrapped(text, indent, self.width)
    }
}
