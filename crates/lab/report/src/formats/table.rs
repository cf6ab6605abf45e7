//! The terminal's table of a network: one row per arm, its verdicts below it, split to fit.
//!
//! It is laid out here, not by comfy-table, which cannot print it: an arm's reasons and remarks run across all
//! columns, and columns that do not fit beside the others follow in another table instead of wrapping their cells.
//!
//! ```text
//!   arm          first request       warm requests
//!   libcurl h2   428 ms [365, 464]   137 ms [129, 146]
//!                cannot tell         cannot tell
//!       warm requests: between 15 ms faster and 15 ms slower; more blocks would probably decide it
//!
//!   arm          memory
//!   libcurl h2   9.0 MB
//! ```

use neutral::plain;
use stats::Verdict;

use crate::answer::because::reasons;
use crate::answer::wording::{
    connections_words, energy_words, ip_words, mean_words, remarks, sender_words,
};
use crate::figures::load;
use crate::figures::phases::{BYTES, TIMES, ms};
use crate::figures::sending::loss_words;
use crate::figures::setup;
use crate::summary::NetworkSummary;
use crate::summary::arm::{ArmSummary, Role, Setup};
use crate::summary::measure::{Comparison, Phases};
use crate::summary::quantity::Quantity;
use crate::words::number;
use crate::words::text::{DIM, GREEN, INDENT, RED, RESET, width_of, wrapped};
use crate::words::verdict::finding_words;

const GAP: &str = "   ";
const REMARK_INDENT: &str = "      ";

/// A table with one row per arm.
pub(crate) struct Table<'a> {
    arms: &'a [ArmSummary],
    columns: Vec<Column>,
    /// Whether verdicts and remarks are left out.
    figures_only: bool,
}

/// A column: figures and verdicts, one per arm.
struct Column {
    heading: String,
    figures: Vec<String>,
    verdicts: Vec<Option<(String, &'static str)>>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(network: &'a NetworkSummary) -> Self {
        let arms = network.arms.as_slice();
        let mut table = Self {
            arms,
            columns: Vec::new(),
            figures_only: false,
        };
        let measures = arms.first().map_or(&[][..], |arm| &arm.measures);
        for (i, measure) in measures.iter().enumerate() {
            let label = &measure.label;
            table.add_quantity(label, |arm| arm.measures[i].time.as_ref());
            if let Some(column) = table.columns.last_mut() {
                for (figure, arm) in column.figures.iter_mut().zip(arms) {
                    if let Some(mean) = mean_words(&arm.measures[i]) {
                        *figure += &format!(", {mean}");
                    }
                }
                let verdict = |arm: &ArmSummary| arm.measures[i].comparison.as_ref().map(words);
                column.verdicts = arms.iter().map(verdict).collect();
            }
            if arms.iter().any(|arm| arm.measures[i].goodput.is_some()) {
                table.add_quantity(&format!("{label} goodput"), |arm| {
                    arm.measures[i].goodput.as_ref()
                });
            }
            // The tail of a study has a column of its own.
            let tail = format!("p95 of {}", measure.label);
            let has_tail = measures.iter().any(|m| m.label == tail);
            if !has_tail && arms.iter().any(|arm| p95(arm, i).is_some()) {
                table.add_quantity(&format!("{label} p95"), |arm| p95(arm, i));
            }
        }
        table.add("blocks · requests", |arm| {
            format!("{} · {}", arm.blocks(), arm.calls_and_losses().0)
        });
        table.add("connections · IP", |arm| {
            format!("{} · {}", connections_words(arm), ip_words(arm))
        });
        table.add("server · congestion control", sender_words);
        if arms.iter().any(|arm| arm.setup != Setup::default()) {
            table.add("initial window · chain · first flight", setup::words);
        }
        if arms.iter().any(|arm| arm.sending.lost_packets.is_some()) {
            table.add(
                "packets declared lost · dropped · spurious · timeouts",
                loss_words,
            );
        }
        table.add_quantity("IP bytes up", |arm| arm.costs.up_bytes.as_ref());
        table.add_quantity("IP bytes down", |arm| arm.costs.down_bytes.as_ref());
        table.add_quantity("handshake bytes", |arm| arm.costs.handshake_bytes.as_ref());
        table.add_quantity("client CPU/request", |arm| arm.costs.client_cpu.as_ref());
        table.add_quantity("server CPU/request", |arm| arm.costs.server_cpu.as_ref());
        if arms.iter().any(|arm| arm.costs.radio_awake.is_some()) {
            table.add_quantity("radio awake", |arm| arm.costs.radio_awake.as_ref());
        }
        if arms.iter().any(|arm| !arm.costs.energy.is_empty()) {
            table.add("radio's energy/request (model)", |arm| {
                energy_words(&arm.costs.energy)
            });
        }
        table.add_quantity("memory", |arm| arm.costs.memory.as_ref());
        table.add_quantity("start-up time", |arm| arm.costs.startup.as_ref());
        table
    }

    /// Returns the table of an exchange's phases, if the measure has any.
    pub(crate) fn of_phases(arms: &'a [ArmSummary], measure: usize) -> Option<Self> {
        let mut table = Self {
            arms,
            columns: Vec::new(),
            figures_only: true,
        };
        let all = arms.iter().filter_map(|arm| phases_of(arm, measure));
        all.clone().next()?;
        for (heading, of) in TIMES {
            // A prebuilt message is not created.
            if all.clone().any(|phases| of(phases).max > 0.0) {
                table.add(heading, |arm| {
                    phases_of(arm, measure).map_or("-".into(), |phases| ms(of(phases).mean))
                });
            }
        }
        for (heading, of) in BYTES {
            table.add(heading, |arm| {
                let bytes = |phases: &Phases| format!("{:.0} B", of(phases).mean);
                phases_of(arm, measure).map_or("-".into(), bytes)
            });
        }
        table.add("blocks · requests", |arm| {
            let counts = |phases: &Phases| format!("{} · {}", phases.blocks, phases.calls);
            phases_of(arm, measure).map_or("-".into(), counts)
        });
        Some(table)
    }

    /// Returns the table of a group that is bound by time, if the measure is one.
    pub(crate) fn of_load(arms: &'a [ArmSummary], measure: usize) -> Option<Self> {
        let columns = load::columns(arms, measure)?.into_iter();
        let column = |(heading, figures): (String, Vec<String>)| Column::new(&heading, &figures);
        Some(Self {
            arms,
            columns: columns.map(column).collect(),
            figures_only: true,
        })
    }

    /// Returns the table as lines of at most `width` characters, split into as many tables as that
    /// takes.
    pub(crate) fn lines(&self, width: usize, color: bool) -> String {
        let mut out = String::new();
        let mut rest = &self.columns[..];
        let is_empty = !self.arms.iter().any(ArmSummary::has_figures);
        while !rest.is_empty() {
            // There is nothing to continue with.
            if is_empty && rest.len() < self.columns.len() {
                break;
            }
            let (fitting, remaining) = rest.split_at(self.fitting(rest, width));
            let first = rest.len() == self.columns.len();
            if !first {
                out.push('\n');
            }
            out += &self.section(fitting, first && !self.figures_only, width, color);
            rest = remaining;
        }
        out
    }

    fn add(&mut self, heading: &str, figure: impl Fn(&ArmSummary) -> String) {
        let figures: Vec<String> = self.arms.iter().map(figure).collect();
        self.columns.push(Column::new(heading, &figures));
    }

    /// Adds a column of figures in one unit.
    fn add_quantity(&mut self, heading: &str, of: impl Fn(&ArmSummary) -> Option<&Quantity>) {
        let column = number::Column::over(self.arms.iter().filter_map(&of));
        let shown = |q: &Quantity| Some(column.as_ref()?.show_with_unit(q));
        self.add(heading, |arm| {
            of(arm).and_then(shown).unwrap_or_else(|| "-".to_owned())
        });
    }

    /// Returns how many columns fit beside the names, but at least one.
    fn fitting(&self, columns: &[Column], width: usize) -> usize {
        let mut used = width_of(INDENT) + self.name_width();
        let fits = |column: &&Column| {
            used += width_of(GAP) + column.width();
            used <= width
        };
        columns.iter().take_while(fits).count().max(1)
    }

    fn name_width(&self) -> usize {
        let widest = self
            .arms
            .iter()
            .map(|arm| width_of(&plain(&arm.name)))
            .max();
        widest.unwrap_or(0).max(width_of("arm"))
    }

    fn section(&self, columns: &[Column], first: bool, width: usize, color: bool) -> String {
        let row = |name: &str, texts: Vec<(&str, &str)>| {
            let mut line = format!("{INDENT}{name}{}", blank(self.name_width(), name));
            for ((text, code), column) in texts.into_iter().zip(columns) {
                let (on, off) = match color && !code.is_empty() {
                    true => (code, RESET),
                    false => ("", ""),
                };
                line += &format!("{GAP}{on}{text}{off}{}", blank(column.width(), text));
            }
            format!("{}\n", line.trim_end())
        };
        let mut out = row(
            "arm",
            columns.iter().map(|c| (c.heading.as_str(), "")).collect(),
        );
        for (i, arm) in self.arms.iter().enumerate() {
            let name = plain(&arm.name);
            if arm.has_figures() {
                out += &row(
                    &name,
                    columns
                        .iter()
                        .map(|c| (c.figures[i].as_str(), ""))
                        .collect(),
                );
            } else if first {
                out += &row(&name, vec![("no figures", "")]);
            }
            let mut words: Vec<(String, &str)> = columns
                .iter()
                .map(|c| c.verdicts[i].clone().unwrap_or_default())
                .collect();
            if first && arm.role == Role::Baseline {
                words[0] = ("baseline".into(), "");
            }
            if words.iter().any(|(text, _)| !text.is_empty()) {
                out += &row(
                    "",
                    words
                        .iter()
                        .map(|(text, code)| (text.as_str(), *code))
                        .collect(),
                );
            }
            if first {
                for remark in reasons(arm).into_iter().chain(remarks(arm)) {
                    out += &wrapped(&remark, REMARK_INDENT, width);
                }
            }
        }
        out
    }
}

impl Column {
    /// Creates a column without verdicts. A figure may contain the words of others, e.g. the name of a server's library.
    fn new(heading: &str, figures: &[String]) -> Self {
        Self {
            heading: plain(heading),
            verdicts: vec![None; figures.len()],
            figures: figures.iter().map(|figure| plain(figure)).collect(),
        }
    }

    fn width(&self) -> usize {
        let figures = self.figures.iter().map(|figure| width_of(figure));
        let verdicts = self
            .verdicts
            .iter()
            .flatten()
            .map(|(words, _)| width_of(words));
        figures
            .chain(verdicts)
            .max()
            .unwrap_or(0)
            .max(width_of(&self.heading))
    }
}

fn phases_of(arm: &ArmSummary, measure: usize) -> Option<&Phases> {
    arm.measures[measure].phases.as_ref()
}

fn p95(arm: &ArmSummary, measure: usize) -> Option<&Quantity> {
    let percentiles = &arm.measures[measure].percentiles;
    percentiles
        .iter()
        .find(|p| p.percent == 95)
        .map(|p| &p.value)
}

/// Returns a verdict in words, with the difference if it is decided, and its colour.
fn words(comparison: &Comparison) -> (String, &'static str) {
    let code = match comparison.verdict {
        Verdict::Faster => GREEN,
        Verdict::Slower => RED,
        _ => DIM,
    };
    (finding_words(comparison), code)
}

fn blank(width: usize, text: &str) -> String {
    " ".repeat(width.saturating_sub(width_of(text)))
}
