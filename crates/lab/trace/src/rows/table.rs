//! Where the columns of a table are.

use super::{Columns, Row};
use crate::error::shown;
use crate::row::{Column, Separator};
use crate::words;

/// Most names of a header in a message.
const MAX_LISTED: usize = 30;

/// How a table is read. Columns are counted from 0.
pub(super) struct Table {
    pub(super) separator: Separator,
    pub(super) has_header: bool,
    /// How many columns there are.
    number: usize,
    time: usize,
    rate: usize,
    only: Vec<usize>,
}

impl Table {
    /// Finds the columns by the first row, which is a header if a column is named.
    pub(super) fn new(
        separator: Separator,
        first: &[String],
        columns: &Columns,
    ) -> Result<Table, String> {
        let number = columns.number.unwrap_or(first.len());
        if first.len() != number {
            return Err(format!(
                "the row has {}, separated by {}, and the format has {number}; state them with --format columns",
                words::count(first.len(), "column"),
                separator.words()
            ));
        }
        let selecting = columns.only.iter().map(|(column, _)| column);
        let mut all = [&columns.time, &columns.rate].into_iter().chain(selecting);
        Ok(Table {
            separator,
            has_header: all.any(|column| matches!(column, Column::Name(_))),
            number,
            time: find(&columns.time, first)?,
            rate: find(&columns.rate, first)?,
            only: (columns.only.iter())
                .map(|(column, _)| find(column, first))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Reads a row; `None` if it is not selected.
    pub(super) fn row(
        &self,
        line: u64,
        fields: &[String],
        columns: &Columns,
    ) -> Result<Option<Row>, String> {
        // Empty ones at the end shift no other.
        let more = fields
            .iter()
            .skip(self.number)
            .any(|field| !field.is_empty());
        if more || fields.len() < self.number {
            return Err(format!(
                "the row has {}, separated by {}, and the first has {}; quote fields that contain the separator",
                words::count(fields.len(), "column"),
                self.separator.words(),
                self.number
            ));
        }
        let field = |i: usize| {
            fields.get(i).map(String::as_str).ok_or_else(|| {
                format!(
                    "there is no column {}; the row has {}, separated by {}",
                    i + 1,
                    words::count(fields.len(), "column"),
                    self.separator.words()
                )
            })
        };
        for (i, (_, value)) in self.only.iter().zip(&columns.only) {
            if field(*i)? != value {
                return Ok(None);
            }
        }
        let at_us = columns.time_unit.read_us(field(self.time)?).map_err(|e| {
            let hint = match self.has_header {
                true => "",
                false => "; if line 1 is a header, give the columns by name",
            };
            format!("column {}: {e}{hint}", columns.time)
        })?;
        let bps = columns.rate_unit.read_bps(field(self.rate)?);
        let bps = bps.map_err(|e| format!("column {}: {e}", columns.rate))?;
        Ok(Some(Row { line, at_us, bps }))
    }
}

/// Returns the position of a column in the header.
fn find(column: &Column, header: &[String]) -> Result<usize, String> {
    let name = match column {
        Column::Number(number) => return Ok(number.get() - 1),
        Column::Name(name) => name,
    };
    let mut found = header
        .iter()
        .enumerate()
        .filter(|(_, field)| *field == name);
    match (found.next(), found.next()) {
        (Some((i, _)), None) => Ok(i),
        (Some(_), Some(_)) => Err(format!(
            "the header has several columns {column}; give the number of one, from 1"
        )),
        (None, _) => Err(format!(
            "the header has no column {column}; it has {}",
            listed(header)
        )),
    }
}

/// Returns the names of a header, as many as a message can have.
fn listed(header: &[String]) -> String {
    let names = header.iter().take(MAX_LISTED).map(|name| shown(name));
    let names: Vec<String> = names.collect();
    let more = match header.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.join(", ") + &more
}
