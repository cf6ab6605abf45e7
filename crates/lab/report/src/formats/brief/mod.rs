//! The brief report for a terminal: what to decide by, in 60 lines for three networks.
//!
//! The report has one line per network, then a table of the arm to take for each kind of requests. Requests whose
//! outcome is the same undecided one on every network share a line. Whatever else changes a decision has one line each.
//! Everything is in [`human`](crate::human), too.

mod grid;
mod headline;
mod label;
mod outcome;
mod remark;

use std::collections::BTreeSet;

use neutral::plain;

use crate::answer::wording::threshold_line;
use crate::figures::external;
use crate::formats::human::{MIN_WIDTH, titled};
use crate::summary::measure::Measure;
use crate::summary::sweep::Sweep;
use crate::summary::{NetworkSummary, Summary};
use crate::words::text::{INDENT, finished, width_of, wrapped};
use grid::{Row, padded, widest};
use headline::headline;
use label::cut;
use outcome::Outcome;
use stats::Verdict;

/// A longer answer is cut after its first sentence: the networks' lines follow.
const ANSWER_LINES: usize = 2;
/// Rows of the table beyond these are counted.
const MOST_ROWS: usize = 28;
/// Reasons beyond these are counted.
const MOST_REASONS: usize = 6;
/// Lines of a list of requests beyond these are cut.
const LIST_LINES: usize = 3;
const MORE: &str = "Every figure and remark: commute report DIR -v, or the page, report.html";

/// Returns the brief report for a terminal that is `width` characters wide. Colour only marks outcomes; it
/// carries no information of its own.
pub fn brief(summary: &Summary, width: usize, color: bool) -> String {
    let page = Page {
        width: width.max(MIN_WIDTH),
        color,
    };
    let rows = rows(summary);
    let mut out = page.head(summary) + "\n" + &page.networks(summary, &rows);
    out += &page.requests(summary, &rows);
    out += &page.reasons(summary, &rows);
    for sweep in &summary.sweeps {
        out += &page.sweep(sweep);
    }
    if !summary.thresholds.is_empty() {
        out += "\nThresholds:\n";
    }
    for result in &summary.thresholds {
        out += &wrapped(&threshold_line(result), INDENT, page.width);
    }
    out.push('\n');
    let named = rows.iter().flat_map(|row| &row.outcomes);
    let named: BTreeSet<&str> = named.filter_map(|o| Some(o.best()?.arm.as_str())).collect();
    for line in remark::last(summary, &named) {
        out += &page.one_line(&line);
    }
    if let Some(command) = &summary.replicate {
        // On one line, so that it can be copied.
        out += &format!("{INDENT}{}\n", plain(command));
    }
    finished(&(out + &page.one_line(MORE)), color)
}

/// Returns the decisive measures with their outcomes on all networks.
fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let arm = summary.networks.first().and_then(|n| n.arms.first());
    let measures = arm.map_or(&[][..], |arm| &arm.measures).iter().enumerate();
    let decisive: Vec<(usize, &Measure)> = measures.filter(|(_, m)| m.decisive).collect();
    let alone: Vec<&Measure> = decisive.iter().map(|(_, measure)| *measure).collect();
    let labels = label::labels(&alone, &summary.groups);
    let preferred = outcome::by_advice(&summary.networks);
    let rows = decisive
        .iter()
        .zip(labels)
        .map(|((index, measure), label)| {
            let of =
                |network: &NetworkSummary| Outcome::of(network, *index, &measure.label, &preferred);
            Row {
                measure,
                label: plain(&label),
                outcomes: summary.networks.iter().map(of).collect(),
            }
        });
    rows.collect()
}

struct Page {
    width: usize,
    color: bool,
}

impl Page {
    fn head(&self, summary: &Summary) -> String {
        let mut out = String::new();
        let first = remark::first(summary);
        for line in &first {
            out += &self.one_line(line);
        }
        if !first.is_empty() {
            out.push('\n');
        }
        let answer = wrapped(&summary.answer, "", self.width);
        out += &match answer.lines().count() > ANSWER_LINES {
            true => self.one_line(&remark::first_sentence(&summary.answer)),
            false => answer,
        };
        out.push('\n');
        out += &titled(summary, self.width);
        if let Some(external) = &summary.external {
            out += &wrapped(&external::words(external), INDENT, self.width);
        }
        out
    }

    /// Formats one line per network.
    fn networks(&self, summary: &Summary, rows: &[Row<'_>]) -> String {
        let names: Vec<String> = summary.networks.iter().map(|n| plain(&n.name)).collect();
        let width = widest(&names);
        let mut out = String::new();
        for (n, (network, name)) in summary.networks.iter().zip(&names).enumerate() {
            let start = format!("{INDENT}{}   ", padded(name, width));
            let room = self.width.saturating_sub(width_of(&start));
            let words = plain(&headline(network, n, &summary.baseline, rows, room));
            out += &self.one_line(&(start + &words));
        }
        out
    }

    /// Formats the table by request. Below it are the requests that have the same undecided outcome everywhere.
    fn requests(&self, summary: &Summary, rows: &[Row<'_>]) -> String {
        if rows.len() < 2 {
            return String::new();
        }
        let (alike, mut shown): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
            rows.iter().partition(|row| is_alike(&row.outcomes));
        let left_out = shown.len().saturating_sub(MOST_ROWS);
        shown.truncate(MOST_ROWS);
        let mut out = String::from("\n");
        if !shown.is_empty() {
            out += &self.table(summary, &shown);
        }
        if left_out > 0 {
            out += &format!("{INDENT}and {left_out} more kinds of requests: -v\n");
        }
        for (outcome, words) in [
            (Outcome::AnyArm, "any arm"),
            (Outcome::CannotTell, "cannot tell"),
            (Outcome::NoAnswer, "no answer"),
        ] {
            let of = alike
                .iter()
                .filter(|row| row.outcomes.first() == Some(&outcome));
            let labels: Vec<&str> = of.map(|row| row.label.as_str()).collect();
            if !labels.is_empty() {
                out += &self.list(words, &labels, summary.networks.len());
            }
        }
        out
    }

    fn table(&self, summary: &Summary, rows: &[&Row<'_>]) -> String {
        let names: Vec<String> = summary.networks.iter().map(|n| plain(&n.name)).collect();
        let lines = grid::lines(rows, &names, &summary.baseline, self.width, self.color);
        let legend = format!(
            "The arm to take, and the interval of its lead over {0}; of {0}, over the next arm. +1: one more arm is as \
             good. ?: undecided arms may be as good or better.",
            summary.baseline
        );
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        lines + &wrapped(&legend, INDENT, self.width)
    }

    /// Lists requests with the same outcome, as many as fit.
    fn list(&self, words: &str, labels: &[&str], networks: usize) -> String {
        let where_ = match networks {
            1 => String::new(),
            _ => " everywhere".to_owned(),
        };
        let text = |n: usize| {
            let others = match labels.len() - n {
                0 => String::new(),
                others => format!(" and {others} more (-v)"),
            };
            let text = format!("{words}{where_}: {}{others}", labels[..n].join(", "));
            wrapped(&text, INDENT, self.width)
        };
        let fits = |n: &usize| text(*n).lines().count() <= LIST_LINES;
        text((1..=labels.len()).rev().find(fits).unwrap_or(1))
    }

    /// Formats the reasons of the leads in the table.
    fn reasons(&self, summary: &Summary, rows: &[Row<'_>]) -> String {
        let of_row = |row: &Row<'_>| {
            let of_network = |(network, outcome): (&NetworkSummary, &Outcome)| {
                let reason = outcome.best()?.reason.as_ref()?;
                Some(match summary.networks.len() {
                    1 => format!("{}: {reason}", row.label),
                    _ => format!("{} on {}: {reason}", row.label, network.name),
                })
            };
            let networks = summary.networks.iter().zip(&row.outcomes);
            networks.filter_map(of_network).collect::<Vec<String>>()
        };
        let reasons: Vec<String> = rows.iter().flat_map(of_row).collect();
        let mut out = String::new();
        for (i, reason) in reasons.iter().take(MOST_REASONS).enumerate() {
            out += if i == 0 { "\n" } else { "" };
            out += &wrapped(reason, INDENT, self.width);
        }
        if reasons.len() > MOST_REASONS {
            let others = reasons.len() - MOST_REASONS;
            out += &format!("{INDENT}and {others} more reasons: -v\n");
        }
        out
    }

    /// Formats how verdicts change along the setting, for arms that differ from the baseline anywhere.
    fn sweep(&self, sweep: &Sweep) -> String {
        let is_difference =
            |v: &Option<Verdict>| matches!(v, Some(Verdict::Faster | Verdict::Slower));
        let differing = sweep
            .arms
            .iter()
            .filter(|t| t.verdicts.iter().any(is_difference));
        let words = differing.filter_map(|t| Some(format!("{} {}", t.arm, t.words.as_ref()?)));
        let words: Vec<String> = words.collect();
        match words.is_empty() {
            true => String::new(),
            false => self.one_line(&format!("{INDENT}{}: {}", sweep.title(), words.join("; "))),
        }
    }

    fn one_line(&self, text: &str) -> String {
        cut(&plain(text), self.width) + "\n"
    }
}

/// Reports whether the outcome is the same on all networks, and no arm to take.
fn is_alike(outcomes: &[Outcome]) -> bool {
    let same = outcomes.windows(2).all(|pair| pair[0] == pair[1]);
    same && outcomes
        .first()
        .is_some_and(|outcome| outcome.best().is_none())
}
