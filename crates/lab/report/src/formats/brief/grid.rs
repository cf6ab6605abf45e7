//! Outcomes by request and network, laid out to fit.

use std::ops::Range;

use neutral::plain;

use super::label::{cut, fitted};
use super::outcome::Outcome;
use crate::summary::measure::Measure;
use crate::words::text::{DIM, GREEN, INDENT, RESET, width_of};

const GAP: &str = "  ";
/// Labels are not cut to less than this; rather, a network gets a table of its own.
pub(crate) const LEAST_LABEL: usize = 20;

/// One kind of requests: its outcome on each network.
pub(crate) struct Row<'a> {
    pub(crate) measure: &'a Measure,
    pub(crate) label: String,
    pub(crate) outcomes: Vec<Outcome>,
}

/// Lays out rows by network. Where that takes fewer lines, each network is a row and each kind of requests a
/// column.
pub(crate) fn lines(
    rows: &[&Row<'_>],
    networks: &[String],
    baseline: &str,
    width: usize,
    color: bool,
) -> Vec<String> {
    let most = width.saturating_sub(width_of(INDENT) + LEAST_LABEL + width_of(GAP));
    let cell = |outcome: &Outcome| {
        let code = match outcome.best() {
            Some(best) if best.arm != baseline => GREEN,
            Some(_) => "",
            None => DIM,
        };
        (cut(&plain(&outcome.words()), most), code)
    };
    let on = |n: usize| rows.iter().map(|row| cell(&row.outcomes[n])).collect();
    let by_request = Grid {
        labels: rows.iter().map(|row| row.label.clone()).collect(),
        columns: (networks.iter().enumerate())
            .map(|(n, network)| (cut(network, most), on(n)))
            .collect(),
    };
    let by_network = Grid {
        labels: networks.to_vec(),
        columns: (rows.iter())
            .map(|row| (row.label.clone(), row.outcomes.iter().map(cell).collect()))
            .collect(),
    };
    let measures: Vec<&Measure> = rows.iter().map(|row| row.measure).collect();
    let tall =
        |color| by_request.lines(width, color, |labels, room| fitted(labels, &measures, room));
    let wide = |color| by_network.lines(width, color, |labels, _| labels.to_vec());
    let plain = wide(false);
    let fits = plain.iter().all(|line| width_of(line) <= width);
    match fits && plain.len() < tall(false).len() {
        true => wide(color),
        false => tall(color),
    }
}

/// A table: labels of rows, and columns with a heading and one cell per row, each with its colour.
struct Grid {
    labels: Vec<String>,
    columns: Vec<(String, Vec<(String, &'static str)>)>,
}

impl Grid {
    /// Returns the table as lines, split into as many tables as the width takes. `fit` cuts the labels to a
    /// number of columns.
    fn lines(
        &self,
        width: usize,
        color: bool,
        fit: impl Fn(&[String], usize) -> Vec<String>,
    ) -> Vec<String> {
        let widths: Vec<usize> = self.columns.iter().map(width_of_column).collect();
        let longest = widest(&self.labels);
        let room = |columns: usize| width.saturating_sub(width_of(INDENT) + columns);
        let tables = split(&widths, room(longest.min(LEAST_LABEL)));
        let used = |table: &Range<usize>| taken(&widths[table.clone()]);
        let most = tables.iter().map(used).max().unwrap_or(0);
        let labels = fit(&self.labels, longest.min(room(most).max(LEAST_LABEL)));
        let label_width = widest(&labels);
        let mut lines = Vec::new();
        for table in tables {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            let (columns, widths) = (&self.columns[table.clone()], &widths[table]);
            let headings = columns.iter().map(|(heading, _)| (heading.as_str(), ""));
            lines.push(line("", label_width, headings, widths));
            for (i, label) in labels.iter().enumerate() {
                let cells = columns.iter().map(|(_, cells)| {
                    let (text, code) = &cells[i];
                    (text.as_str(), if color { code } else { "" })
                });
                lines.push(line(label, label_width, cells, widths));
            }
        }
        lines
    }
}

/// Splits columns into tables that fit into `room`, each of at least one column.
fn split(widths: &[usize], room: usize) -> Vec<Range<usize>> {
    let mut tables: Vec<Range<usize>> = Vec::new();
    for n in 0..widths.len() {
        match tables.last_mut() {
            Some(last) if taken(&widths[last.start..=n]) <= room => last.end = n + 1,
            _ => tables.push(n..n + 1),
        }
    }
    tables
}

/// Returns what columns take beside the labels.
fn taken(widths: &[usize]) -> usize {
    widths.iter().map(|width| width_of(GAP) + width).sum()
}

fn line<'a>(
    label: &str,
    label_width: usize,
    cells: impl Iterator<Item = (&'a str, &'a str)>,
    widths: &[usize],
) -> String {
    let mut line = format!("{INDENT}{}", padded(label, label_width));
    for ((text, code), width) in cells.zip(widths) {
        let reset = if code.is_empty() { "" } else { RESET };
        let blank = " ".repeat(width.saturating_sub(width_of(text)));
        line += &format!("{GAP}{code}{text}{reset}{blank}");
    }
    line.trim_end().to_owned()
}

pub(crate) fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(width_of(text))))
}

pub(crate) fn widest(texts: &[String]) -> usize {
    texts.iter().map(|text| width_of(text)).max().unwrap_or(0)
}

fn width_of_column((heading, cells): &(String, Vec<(String, &'static str)>)) -> usize {
    let cells = cells.iter().map(|(text, _)| width_of(text));
    cells.max().unwrap_or(0).max(width_of(heading))
}
