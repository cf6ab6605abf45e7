//! The table of a network: an arm a row, its verdicts below it, cut into parts that fit.

use stats::Verdict;

use crate::number::with_spread;
use crate::parts::{BYTES, TIMES, ms};
use crate::quantity::Quantity;
use crate::summary::{ArmSummary, NetworkSummary, Part, Parts, Role};
use crate::text::{INDENT, chars, plain, wrapped};
use crate::wording::{remarks, verdict_words};

/// All columns of a network's table.
pub(crate) struct Table<'a> {
    arms: &'a [ArmSummary],
    columns: Vec<Column>,
    /// Figures alone: verdicts and remarks stand elsewhere.
    bare: bool,
}

/// A column: its figures and what was concluded from them, an entry an arm.
struct Column {
    head: String,
    figures: Vec<String>,
    verdicts: Vec<Option<Verdict>>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(network: &'a NetworkSummary) -> Self {
        let arms = network.arms.as_slice();
        let mut table = Self {
            arms,
            columns: Vec::new(),
            bare: false,
        };
        let measures = arms.first().map_or(&[][..], |arm| &arm.measures);
        for (i, measure) in measures.iter().enumerate() {
            let label = &plain(&measure.label);
            table.add(label, |arm| shown(arm.measures[i].time.as_ref()));
            if let Some(column) = table.columns.last_mut() {
                let verdict = |arm: &ArmSummary| Some(arm.measures[i].comparison.as_ref()?.verdict);
                column.verdicts = arms.iter().map(verdict).collect();
            }
            if measure.part == Part::Bulk {
                table.add(&format!("{label} goodput"), |arm| {
                    shown(arm.measures[i].goodput.as_ref())
                });
            }
            if arms.iter().any(|arm| arm.measures[i].p95.is_some()) {
                table.add(&format!("{label} p95"), |arm| {
                    shown(arm.measures[i].p95.as_ref())
                });
            }
        }
        table.add("blocks · calls", |arm| {
            format!(
                "{} · {}",
                arm.cells.clean + arm.cells.rerun,
                arm.calls_and_losses().0
            )
        });
        table.add("wire up / down", |arm| {
            let costs = &arm.costs;
            format!(
                "{} / {}",
                shown(costs.wire_up.as_ref()),
                shown(costs.wire_down.as_ref())
            )
        });
        table.add("of it handshakes", |arm| {
            shown(arm.costs.handshake.as_ref())
        });
        table.add("client CPU/call", |arm| {
            shown(arm.costs.client_cpu.as_ref())
        });
        table.add("server CPU/call", |arm| {
            shown(arm.costs.server_cpu.as_ref())
        });
        table.add("memory", |arm| shown(arm.costs.memory.as_ref()));
        table.add("start-up", |arm| shown(arm.costs.startup.as_ref()));
        table
    }

    /// The parts of the exchanges of a measure; none if it has none.
    pub(crate) fn of_parts(arms: &'a [ArmSummary], measure: usize) -> Option<Self> {
        let mut table = Self {
            arms,
            columns: Vec::new(),
            bare: true,
        };
        let all = arms.iter().filter_map(|arm| parts_of(arm, measure));
        all.clone().next()?;
        for (head, of) in TIMES {
            // A message that was there before has no such part.
            if all.clone().any(|parts| of(parts).greatest > 0.0) {
                table.add(head, |arm| {
                    parts_of(arm, measure).map_or("-".into(), |parts| ms(of(parts).mean))
                });
            }
        }
        for (head, of) in BYTES {
            table.add(head, |arm| {
                let bytes = |parts: &Parts| format!("{:.0} B", of(parts).mean);
                parts_of(arm, measure).map_or("-".into(), bytes)
            });
        }
        table.add("blocks · calls", |arm| {
            let counts = |parts: &Parts| format!("{} · {}", parts.blocks, parts.calls);
            parts_of(arm, measure).map_or("-".into(), counts)
        });
        Some(table)
    }

    /// The table as lines of at most `width` characters, in as many parts as that takes.
    pub(crate) fn lines(&self, width: usize, color: bool) -> String {
        let mut out = String::new();
        let mut rest = &self.columns[..];
        while !rest.is_empty() {
            let (part, later) = rest.split_at(self.fitting(rest, width));
            let first = rest.len() == self.columns.len();
            if !first {
                out.push('\n');
            }
            out += &self.part(part, first && !self.bare, width, color);
            rest = later;
        }
        out
    }

    fn add(&mut self, head: &str, figure: impl Fn(&ArmSummary) -> String) {
        self.columns.push(Column {
            head: head.to_owned(),
            figures: self.arms.iter().map(figure).collect(),
            verdicts: vec![None; self.arms.len()],
        });
    }

    /// How many columns fit beside the names; one always does, fitting or not.
    fn fitting(&self, columns: &[Column], width: usize) -> usize {
        let mut used = chars(INDENT) + self.names();
        let fits = |column: &&Column| {
            used += chars(GAP) + column.width();
            used <= width
        };
        columns.iter().take_while(fits).count().max(1)
    }

    fn names(&self) -> usize {
        let widest = self.arms.iter().map(|arm| chars(&plain(&arm.name))).max();
        widest.unwrap_or(0).max(chars("arm"))
    }

    fn part(&self, columns: &[Column], first: bool, width: usize, color: bool) -> String {
        let row = |name: &str, texts: Vec<(&str, &str)>| {
            let mut line = format!("{INDENT}{name}{}", blank(self.names(), name));
            for ((text, code), column) in texts.into_iter().zip(columns) {
                let (on, off) = match color && !code.is_empty() {
                    true => (code, "\x1b[0m"),
                    false => ("", ""),
                };
                line += &format!("{GAP}{on}{text}{off}{}", blank(column.width(), text));
            }
            format!("{}\n", line.trim_end())
        };
        let mut out = row(
            "arm",
            columns.iter().map(|c| (c.head.as_str(), "")).collect(),
        );
        for (i, arm) in self.arms.iter().enumerate() {
            let name = plain(&arm.name);
            if arm.cells.clean + arm.cells.rerun > 0 {
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
                .map(|c| c.verdicts[i].map(words).unwrap_or_default())
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
                for remark in remarks(arm) {
                    out += &wrapped(&plain(&remark), REMARK_INDENT, width);
                }
            }
        }
        out
    }
}

impl Column {
    fn width(&self) -> usize {
        let figures = self.figures.iter().map(|figure| chars(figure));
        let verdicts = self
            .verdicts
            .iter()
            .flatten()
            .map(|verdict| chars(&words(*verdict).0));
        figures
            .chain(verdicts)
            .max()
            .unwrap_or(0)
            .max(chars(&self.head))
    }
}

const GAP: &str = "   ";
const REMARK_INDENT: &str = "      ";

fn parts_of(arm: &ArmSummary, measure: usize) -> Option<&Parts> {
    arm.measures[measure].parts.as_ref()
}

/// A verdict in a column, and the colour it may have.
fn words(verdict: Verdict) -> (String, &'static str) {
    let words = match verdict {
        Verdict::CannotTell { needs: Some(n), .. } => format!("cannot tell (~{n} blocks)"),
        other => verdict_words(other).to_owned(),
    };
    let code = match verdict {
        Verdict::Faster => "\x1b[32m",
        Verdict::Slower => "\x1b[31m",
        Verdict::NoDifference | Verdict::CannotTell { .. } => "\x1b[2m",
    };
    (words, code)
}

fn shown(quantity: Option<&Quantity>) -> String {
    quantity.map_or("-".into(), with_spread)
}

fn blank(width: usize, text: &str) -> String {
    " ".repeat(width.saturating_sub(chars(text)))
}
