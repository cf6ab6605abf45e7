//! Tables: of vegeta, oha and h2load, and of JMeter and k6 beside their other formats.

use super::{Failure, Mistake, Read, Request, group, time};

/// The columns of vegeta that are read: `vegeta encode --help` numbers them from 1.
const VEGETA: [&str; 6] = [
    "timestamp",
    "code",
    "latency",
    "bytes_out",
    "bytes_in",
    "error",
];
/// The columns of h2load's log.
const H2LOAD: [&str; 3] = ["start time", "status", "elapsed time"];

/// A row of a table, by the names of its columns.
pub(super) struct Row<'a> {
    pub(super) line: usize,
    names: &'a csv::StringRecord,
    values: &'a csv::StringRecord,
}

impl Row<'_> {
    /// Returns the value of a column; none if there is no such column.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|column| column == name)?;
        self.values.get(at)
    }

    /// Returns the value of a column; fails if there is no such column.
    pub(super) fn required(&self, name: &str) -> Result<&str, String> {
        self.get(name)
            .ok_or_else(|| format!("there is no column `{name}`"))
    }

    fn status(&self, name: &str) -> Result<i64, String> {
        let value = self.required(name)?;
        (value.parse()).map_err(|_| format!("`{name}` is {value:?}, expected a whole number"))
    }

    fn count(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// Calls `take` for each row of a table whose first line names its columns, unless `names` does.
pub(super) fn each_row(
    text: &str,
    separator: u8,
    names: Option<&[&str]>,
    mut take: impl FnMut(&Row<'_>) -> Result<(), String>,
) -> Result<(), Mistake> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(names.is_none())
        .flexible(names.is_some())
        .from_reader(text.as_bytes());
    let broken = |e: csv::Error| {
        let line = e.position().map_or(1, csv::Position::line);
        (
            line as usize,
            "its number of fields is not that of the first line".to_owned(),
        )
    };
    let names = match names {
        Some(names) => names.iter().copied().collect(),
        None => reader.headers().map_err(broken)?.clone(),
    };
    let mut values = csv::StringRecord::new();
    while reader.read_record(&mut values).map_err(broken)? {
        let line = values.position().map_or(1, csv::Position::line) as usize;
        let row = Row {
            line,
            names: &names,
            values: &values,
        };
        take(&row).map_err(|message| (line, message))?;
    }
    Ok(())
}

/// Reads one request from each row.
fn requests(
    text: &str,
    separator: u8,
    names: Option<&[&str]>,
    request: impl Fn(&Row<'_>) -> Result<Request, String>,
) -> Result<Read, Mistake> {
    let mut read = Read::default();
    each_row(text, separator, names, |row| {
        read.requests.push((row.line, request(row)?));
        Ok(())
    })?;
    Ok(read)
}

/// Reports whether a line is vegeta's: a time since 1970 in ns, then whole numbers.
pub(super) fn is_vegeta(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').collect();
    let is_whole = |field: &&str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit());
    fields.len() >= VEGETA.len() && fields[0].len() >= 18 && fields[..5].iter().all(is_whole)
}

pub(super) fn vegeta(text: &str) -> Result<Read, Mistake> {
    let rest = ["body", "attack", "seq", "method", "url", "headers"];
    let names: Vec<&str> = VEGETA.into_iter().chain(rest).collect();
    requests(text, b',', Some(&names), |row| {
        Ok(Request {
            group: group(
                row.get("method").unwrap_or_default(),
                row.get("url").unwrap_or_default(),
            ),
            end_ns: time("latency", row.required("latency")?, 1.0)?,
            request_bytes: row.count("bytes_out"),
            response_bytes: row.count("bytes_in"),
            failure: Failure::of(row.status("code")?, row.required("error")?),
            ..Request::default()
        })
    })
}

pub(super) fn oha(text: &str) -> Result<Read, Mistake> {
    requests(text, b',', None, |row| {
        let seconds = |name: &str| time(name, row.required(name)?, 1e9);
        let first_byte_ns = seconds("Response-delay")?;
        Ok(Request {
            first_over_h1: Some(seconds("DNS+dialup")? > 0),
            // 0 if the response has no body.
            first_byte_ns: (first_byte_ns > 0).then_some(first_byte_ns),
            end_ns: seconds("request-duration")?,
            response_bytes: row.count("bytes"),
            failure: Failure::of(row.status("status")?, ""),
            ..Request::default()
        })
    })
}

/// Reports whether a line is h2load's: three whole numbers or more.
pub(super) fn is_h2load(line: &str) -> bool {
    let fields: Vec<&str> = line.split('\t').collect();
    fields.len() >= H2LOAD.len() && fields.iter().all(|field| field.parse::<i64>().is_ok())
}

pub(super) fn h2load(text: &str) -> Result<Read, Mistake> {
    requests(text, b'\t', Some(&H2LOAD), |row| {
        Ok(Request {
            // Its connection was opened before.
            first: Some(false),
            end_ns: time("elapsed time", row.required("elapsed time")?, 1e3)?,
            failure: Failure::of(row.status("status")?, ""),
            ..Request::default()
        })
    })
}
