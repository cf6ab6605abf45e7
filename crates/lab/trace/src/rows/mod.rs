//! Tables of time and rate, as pensieve's traces and the 5G data sets are.

mod gaps;
mod table;

use std::io::BufRead;

use crate::error::ImportError;
use crate::imported::{Imported, Span, added_note, mixed_note};
use crate::interval::{capacity, cut, trace};
use crate::lines::Lines;
use crate::row::{Column, RateUnit, Separator, TimeUnit};
use crate::words;
use table::Table;

/// Most rows that are kept.
const MAX_ROWS: usize = 5_000_000;
/// Lines that begin so are comments.
const COMMENT: &str = "#";

/// Which columns of a table are read, and how.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The column of the time.
    pub time: Column,
    /// Its unit.
    pub time_unit: TimeUnit,
    /// The column of the rate.
    pub rate: Column,
    /// Its unit.
    pub rate_unit: RateUnit,
    /// How many columns each row has; as many as the first row if absent.
    pub number: Option<usize>,
    /// Only rows that have these values in these columns are read.
    pub only: Vec<(Column, String)>,
    /// What to do with gaps.
    pub gaps: Gaps,
    /// The longest time from one row to the next that is no gap; three times the median if absent.
    pub max_gap_us: Option<u64>,
}

/// What to do where rows are missing or have no rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    /// Refuse the file.
    #[default]
    Error,
    /// The rate before the gap holds on.
    Hold,
    /// Nothing is delivered.
    Zero,
}

/// A row that is read.
#[derive(Clone, Copy, Debug)]
struct Row {
    line: u64,
    at_us: i64,
    /// `None` if the row has no rate.
    bps: Option<u64>,
}

pub(crate) fn import(
    input: impl BufRead,
    columns: &Columns,
    span: Span,
) -> Result<Imported, ImportError> {
    let mut notes = Vec::new();
    let rows = merged(&read(input, columns, &mut notes)?, &mut notes);
    let intervals = gaps::intervals(&rows, columns, span, &mut notes)?;
    let duration_us = intervals.iter().map(|interval| interval.us).sum();
    let part = cut(&intervals, span.from_us, span.for_us);
    if part.is_empty() {
        return Err(ImportError::whole(format!(
            "--from is at or after the end, {}",
            words::duration(duration_us)
        )));
    }
    let (trace, is_added) = trace(&part)?;
    if is_added {
        let bits_us: u128 = part.iter().map(capacity).sum();
        let us: u64 = part.iter().map(|interval| interval.us).sum();
        notes.push(added_note(&trace, bits_us as f64 / us as f64));
    }
    Ok(Imported { trace, notes })
}

/// Reads the rows that are selected.
fn read(
    input: impl BufRead,
    columns: &Columns,
    notes: &mut Vec<String>,
) -> Result<Vec<Row>, ImportError> {
    let mut lines = Lines::new(input);
    let mut fields = Vec::new();
    let mut table: Option<Table> = None;
    let mut rows: Vec<Row> = Vec::new();
    let (mut comments, mut left_out) = (0, 0);
    while let Some((line, text)) = lines.next()? {
        if text.starts_with(COMMENT) {
            comments += 1;
            continue;
        }
        let at_line = |message: String| ImportError::at(line, message);
        let known = table.as_ref().map(|table| table.separator);
        let separator = known.unwrap_or_else(|| Separator::of(&text));
        separator.split(&text, &mut fields).map_err(at_line)?;
        if known.is_none() {
            table = Some(Table::new(separator, &fields, columns).map_err(at_line)?);
        }
        let Some(table) = table
            .as_ref()
            .filter(|table| known.is_some() || !table.has_header)
        else {
            continue;
        };
        let Some(row) = table.row(line, &fields, columns).map_err(at_line)? else {
            left_out += 1;
            continue;
        };
        if let Some(last) = rows.last()
            && row.at_us < last.at_us
        {
            return Err(at_line(format!(
                "the time is {} before that of line {}; put the rows in order, or select those of one run with \
                 --where COLUMN=VALUE",
                words::duration(last.at_us.abs_diff(row.at_us)),
                last.line
            )));
        }
        if rows.len() == MAX_ROWS {
            return Err(at_line(format!(
                "more than {MAX_ROWS} rows are selected; split the file"
            )));
        }
        rows.push(row);
    }
    let Some(table) = table else {
        return Err(ImportError::whole(
            "the file is empty; it needs rows of a time and a rate",
        ));
    };
    if rows.is_empty() {
        return Err(ImportError::whole(match left_out {
            0 => "the file has a header and no rows".to_owned(),
            _ => format!("of {left_out} rows, none has what --where selects"),
        }));
    }
    notes.push(format!(
        "read {}, separated by {}: time in {} from column {}, rate in {} from column {}",
        words::count(rows.len(), "row"),
        table.separator.words(),
        columns.time_unit.words(),
        columns.time,
        columns.rate_unit.name(),
        columns.rate,
    ));
    if left_out > 0 {
        notes.push(format!(
            "left out {} by --where",
            words::count(left_out, "row")
        ));
    }
    if comments > 0 {
        notes.push(format!(
            "left out {} after #",
            words::count(comments, "comment")
        ));
    }
    notes.extend(mixed_note(lines.mixed_at()));
    Ok(rows)
}

/// Replaces rows of the same time by one with the mean of their rates.
fn merged(rows: &[Row], notes: &mut Vec<String>) -> Vec<Row> {
    let all = rows.len();
    let same = rows.chunk_by(|a, b| a.at_us == b.at_us);
    let merged: Vec<Row> = same
        .map(|same| {
            let rates = same.iter().filter_map(|row| row.bps);
            let (sum, n) = rates.fold((0, 0), |(sum, n), bps| (sum + u128::from(bps), n + 1));
            // A mean is at most the largest of the rates.
            let bps = (n > 0).then(|| (sum / n) as u64);
            Row { bps, ..same[0] }
        })
        .collect();
    if merged.len() < all {
        notes.push(format!(
            "averaged {} with the row before of the same time",
            words::count(all - merged.len(), "row")
        ));
    }
    merged
}

#[cfg(test)]
mod tests;
