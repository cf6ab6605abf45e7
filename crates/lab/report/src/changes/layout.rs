//! A comparison of two runs for a terminal and as Markdown.

use comfy_table::{CellAlignment, Table, presets};
use neutral::plain;
use time::OffsetDateTime;

use super::{ArmChange, ChangeVerdict, RunChanges, RunFacts};
use crate::formats::markdown::escaped;
use crate::summary::quantity::Quantity;
use crate::words::number::{Column, count};
use crate::words::text::{INDENT, finished, wrapped};

const HEADINGS: [&str; 6] = ["measure", "arm", "old", "new", "new - old", "verdict"];
/// Its numbers are aligned to the right.
const FIGURES: std::ops::Range<usize> = 2..5;

impl RunChanges {
    /// Returns the comparison for a terminal that is `width` characters wide. The tables keep their width.
    pub fn human(&self, width: usize) -> String {
        let mut out = wrapped(&self.sentence(), "", width);
        out.push('\n');
        for (name, facts) in [("old", &self.old), ("new", &self.new)] {
            out += &wrapped(&format!("{name}: {}", facts.words()), INDENT, width);
        }
        for warning in &self.warnings {
            out += &wrapped(&format!("warning: {warning}"), INDENT, width);
        }
        for (network, changes) in self.by_network() {
            out += &format!("\n{INDENT}{}\n", plain(network));
            let mut table = Table::new();
            table.load_preset(presets::NOTHING).set_header(HEADINGS);
            for column in FIGURES {
                if let Some(column) = table.column_mut(column) {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
            for row in rows(changes) {
                table.add_row(row.map(|text| plain(&text)));
            }
            let lines = table.trim_fmt();
            out.extend(lines.lines().map(|line| format!("{INDENT}{line}\n")));
        }
        out.push('\n');
        out += &wrapped(NOTE, "", width);
        finished(&out, false)
    }

    /// Returns the comparison as Markdown, for a pull request.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n\n", escaped(&self.sentence()));
        for (name, facts) in [("old", &self.old), ("new", &self.new)] {
            out += &format!("- {name}: {}\n", escaped(&facts.words()));
        }
        for warning in &self.warnings {
            out += &format!("- **warning:** {}\n", escaped(warning));
        }
        for (network, changes) in self.by_network() {
            out += &format!("\n#### {}\n\n", escaped(network));
            out += &format!(
                "| {} |\n| --- | --- | ---: | ---: | ---: | --- |\n",
                HEADINGS.join(" | ")
            );
            for (change, row) in changes.iter().zip(rows(changes)) {
                let mut row = row.map(|text| escaped(&text));
                if matches!(
                    change.verdict,
                    ChangeVerdict::Faster | ChangeVerdict::Slower
                ) {
                    row[5] = format!("**{}**", row[5]);
                }
                out += &format!("| {} |\n", row.join(" | "));
            }
        }
        out + &format!("\n{}\n", escaped(NOTE))
    }

    fn sentence(&self) -> String {
        let of = |verdict| self.count(verdict);
        format!(
            "{}: of {}, {} faster, {} slower, {} without a difference.",
            self.study,
            count(self.changes.len(), "comparison"),
            of(ChangeVerdict::Faster),
            of(ChangeVerdict::Slower),
            of(ChangeVerdict::NoDifference),
        )
    }

    fn by_network(&self) -> impl Iterator<Item = (&str, &[ArmChange])> {
        let chunks = self.changes.chunk_by(|a, b| a.network == b.network);
        chunks.map(|changes| (changes[0].network.as_str(), changes))
    }
}

const NOTE: &str = "Negative is faster. [ ]: of a run, the 95 % interval of its median over blocks; of a \
                    difference, the interval at which on average at most 5 % of the verdicts in a measure \
                    are wrong. Blocks of different runs are not paired, so that whatever else changed \
                    between the runs is part of the difference.";

/// Returns the rows of a network, with times in one unit and differences in one.
fn rows(changes: &[ArmChange]) -> impl Iterator<Item = [String; 6]> {
    let times = changes.iter().flat_map(|change| [&change.old, &change.new]);
    let times = Column::over(times);
    let differences = Column::over_differences(changes.iter().map(|change| &change.difference));
    let shown = |column: &Option<Column>, q: &Quantity| {
        column
            .as_ref()
            .map_or("-".to_owned(), |column| column.show_with_unit(q))
    };
    changes.iter().map(move |change| {
        [
            change.measure.clone(),
            change.arm.clone(),
            shown(&times, &change.old),
            shown(&times, &change.new),
            shown(&differences, &change.difference),
            change.verdict.words().to_owned(),
        ]
    })
}

impl RunFacts {
    fn words(&self) -> String {
        let mut facts = Vec::new();
        let started = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.started_unix_ns));
        // Imported calls have no start and no machine.
        if let (Ok(started), 1..) = (started, self.started_unix_ns) {
            let (date, hour, minute) = (started.date(), started.hour(), started.minute());
            facts.push(format!("{date} {hour:02}:{minute:02} UTC"));
        }
        facts.push(format!("commute {}", self.commute));
        facts.extend(self.git.as_ref().map(|commit| format!("commit {commit}")));
        if !self.kernel.is_empty() {
            let cores = count(self.cores as usize, "core");
            facts.push(format!("Linux {}, {}, {cores}", self.kernel, self.cpu));
        }
        facts.push(format!("seed {}", self.seed));
        facts.push(count(self.blocks as usize, "block"));
        facts.join(" · ")
    }
}
