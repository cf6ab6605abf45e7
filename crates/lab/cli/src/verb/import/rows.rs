//! The rows of an import, as CSV or as JSON, one object per line.

use std::collections::BTreeSet;
use std::path::Path;

use import::ImportedCall;
use serde_json::{Map, Value};

use super::unit;
use crate::out;

const REQUIRED: [&str; 5] = ["network", "arm", "protocol", "block", "end_ns"];

const WHOLE_NUMBER: &str = "a whole number, 0 or more";
const NUMBER: &str = "a number, 0 or more";

pub(super) type Rows = Vec<(usize, ImportedCall)>;

/// Reads every row, with the number of its line.
pub(super) fn read(path: &Path, text: &str) -> anyhow::Result<Rows> {
    let extension = path.extension().unwrap_or_default();
    match extension == "ndjson" || extension == "jsonl" {
        true => from_json(text),
        false => from_csv(text),
    }
}

fn from_json(text: &str) -> anyhow::Result<Rows> {
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let mut rows = Rows::new();
    let mut unread = BTreeSet::new();
    for (n, line) in lines {
        let object: Map<String, Value> = serde_json::from_str(line)
            .map_err(|e| anyhow::anyhow!("line {n}: not a JSON object: {}", plain(&e)))?;
        let object = object_in_ns(object).map_err(|e| anyhow::anyhow!("line {n}: {e}"))?;
        let unknown = object
            .keys()
            .filter(|key| !report::COLUMNS.contains(&key.as_str()));
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        let is_absent = |key: &&str| object.get(*key).is_none_or(Value::is_null);
        refuse_absent(n, "key", REQUIRED.into_iter().filter(is_absent), &unknown)?;
        unread.extend(unknown.into_iter().map(str::to_owned));
        match serde_json::from_value(Value::Object(object.clone())) {
            Ok(row) => rows.push((n, row)),
            Err(e) => anyhow::bail!("line {n}: {}", wrong_value(&object, &e)),
        }
    }
    note_unread("key", &unread);
    Ok(rows)
}

/// Returns an object with all of its times in ns.
fn object_in_ns(object: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut converted = Map::new();
    for (key, value) in object {
        let pair = match unit::in_ns(&key) {
            None => (key, value),
            Some((name, _)) if value.is_null() => (name, value),
            Some((name, ns)) => {
                let time = import::whole_ns(&value.to_string(), ns);
                let time = time.ok_or_else(|| format!("`{key}` is {value}, expected {NUMBER}"))?;
                (name, time.into())
            }
        };
        if converted.contains_key(&pair.0) {
            return Err(format!("`{}` is given in two units", pair.0));
        }
        converted.insert(pair.0, pair.1);
    }
    Ok(converted)
}

/// Returns an error that names the key whose value is of the wrong kind; that of serde does not.
fn wrong_value(object: &Map<String, Value>, error: &serde_json::Error) -> String {
    let expected = |error: &serde_json::Error| {
        let text = plain(error);
        let expected = text
            .rsplit_once("expected ")
            .map_or(text.as_str(), |(_, what)| what);
        match expected {
            "u32" | "u64" => WHOLE_NUMBER.to_owned(),
            other => other.to_owned(),
        }
    };
    for (key, value) in object {
        let mut right = serde_json::json!({
            "network": "n", "arm": "a", "protocol": "h2", "block": 0, "end_ns": 1,
        });
        right[key] = value.clone();
        if let Err(error) = serde_json::from_value::<ImportedCall>(right) {
            return format!("`{key}` is {value}, expected {}", expected(&error));
        }
    }
    plain(error)
}

/// Formats an error of serde_json without its place within the line.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

fn from_csv(text: &str) -> anyhow::Result<Rows> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let columns = reader.headers()?.clone();
    let units: Vec<_> = columns.iter().map(unit::in_ns).collect();
    let in_ns = columns.iter().zip(&units);
    let in_ns = in_ns.map(|(column, unit)| unit.as_ref().map_or(column, |(name, _)| name));
    let header: csv::StringRecord = in_ns.collect();
    check_columns(&header)?;
    let mut rows = Rows::new();
    let mut record = csv::StringRecord::new();
    loop {
        let line = next_line(reader.position(), text);
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(rows),
            Err(error) => return Err(with_line(line, &error)),
        }
        record = record_in_ns(&record, &columns, &units)
            .map_err(|e| anyhow::anyhow!("line {line}: {e}"))?;
        let row = record.deserialize(Some(&header));
        rows.push((
            line,
            row.map_err(|e| with_value(line, &e, &header, &record))?,
        ));
    }
}

/// Returns a row with all of its times in ns.
fn record_in_ns(
    record: &csv::StringRecord,
    columns: &csv::StringRecord,
    units: &[Option<(String, f64)>],
) -> Result<csv::StringRecord, String> {
    let fields = record.iter().zip(columns).zip(units);
    fields
        .map(|((value, column), unit)| match unit {
            Some((_, ns)) if !value.is_empty() => import::whole_ns(value, *ns)
                .map(|time| time.to_string())
                .ok_or_else(|| format!("`{column}` is {value:?}, expected {NUMBER}")),
            _ => Ok(value.to_owned()),
        })
        .collect()
}

/// Returns the line in which the next row begins. The reader is at the end of the last one, before empty lines.
fn next_line(at: &csv::Position, text: &str) -> usize {
    let rest = text
        .as_bytes()
        .get(at.byte() as usize..)
        .unwrap_or_default();
    let breaks = rest.iter().take_while(|b| b"\r\n".contains(b));
    at.line() as usize + breaks.filter(|b| **b == b'\n').count()
}

/// Refuses a header that lacks a required column, and notes what nothing reads.
fn check_columns(header: &csv::StringRecord) -> anyhow::Result<()> {
    let has = |name: &str| header.iter().any(|column| column == name);
    let mut seen = BTreeSet::new();
    if let Some(twice) = header
        .iter()
        .find(|name| report::COLUMNS.contains(name) && !seen.insert(*name))
    {
        anyhow::bail!("line 1: there are two columns {twice}, or one in two units");
    }
    let unknown = header.iter().filter(|c| !report::COLUMNS.contains(c));
    let unknown: Vec<&str> = unknown.collect();
    let absent = REQUIRED.into_iter().filter(|name| !has(name));
    refuse_absent(1, "column", absent, &unknown)?;
    note_unread("column", &unknown.into_iter().map(str::to_owned).collect());
    Ok(())
}

/// Refuses a row without what is required, and names what nothing reads: often, one of these is what was
/// meant.
fn refuse_absent<'a>(
    line: usize,
    what: &str,
    absent: impl Iterator<Item = &'a str>,
    unknown: &[&str],
) -> anyhow::Result<()> {
    let absent: Vec<&str> = absent.collect();
    if absent.is_empty() {
        return Ok(());
    }
    let unknown: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    let unread = match unknown.is_empty() {
        true => String::new(),
        false => format!(", and nothing reads {}", unknown.join(", ")),
    };
    anyhow::bail!(
        "line {line}: there is no {what} {}{unread}; `commute import --help` says what the {what}s are",
        absent.join(", ")
    )
}

fn note_unread(what: &str, names: &BTreeSet<String>) {
    for name in names {
        out::note!("note: nothing reads the {what} `{name}`");
    }
}

/// Returns an error that names the line of an invalid row.
fn with_line(line: usize, error: &csv::Error) -> anyhow::Error {
    match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => anyhow::anyhow!(
            "line {line}: {}, but the header has {expected_len}",
            report::count(*len as usize, "field")
        ),
        _ => anyhow::anyhow!("line {line}: {error}"),
    }
}

/// Returns an error that names the line, the column, the value and what it should be.
fn with_value(
    line: usize,
    error: &csv::Error,
    header: &csv::StringRecord,
    record: &csv::StringRecord,
) -> anyhow::Error {
    use csv::DeserializeErrorKind::{ParseBool, ParseInt};
    let csv::ErrorKind::Deserialize { err, .. } = error.kind() else {
        return with_line(line, error);
    };
    let at = err.field().unwrap_or_default() as usize;
    let name = header.get(at).unwrap_or_default();
    let value = record.get(at).unwrap_or_default();
    match err.kind() {
        ParseInt(_) => {
            anyhow::anyhow!("line {line}: `{name}` is {value:?}, expected {WHOLE_NUMBER}")
        }
        ParseBool(_) => {
            anyhow::anyhow!("line {line}: `{name}` is {value:?}, expected true or false")
        }
        other => anyhow::anyhow!("line {line}: `{name}` is {value:?}: {other}"),
    }
}
