//! JSON, one object per line: of vegeta and fortio.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Failure, Mistake, Read, Request, group, time};

/// One request of `vegeta encode`.
#[derive(Deserialize)]
struct Vegeta {
    code: i64,
    latency: serde_json::Number,
    bytes_out: Option<u64>,
    bytes_in: Option<u64>,
    error: String,
    #[serde(default)]
    method: String,
    #[serde(default)]
    url: String,
}

/// One request of fortio's `-access-log-file`.
#[derive(Deserialize)]
struct Fortio {
    latency: serde_json::Number,
    ok: bool,
    #[serde(default)]
    details: String,
}

/// Calls `take` for each line that is not empty.
pub(super) fn each_line<T: DeserializeOwned>(
    text: &str,
    mut take: impl FnMut(usize, T) -> Result<(), String>,
) -> Result<(), Mistake> {
    for (line, json) in (1..).zip(text.lines()) {
        if json.trim().is_empty() {
            continue;
        }
        let wrong = |message: String| (line, message);
        let value =
            serde_json::from_str(json).map_err(|e| wrong(format!("not as expected: {e}")))?;
        take(line, value).map_err(wrong)?;
    }
    Ok(())
}

pub(super) fn vegeta(text: &str) -> Result<Read, Mistake> {
    let mut read = Read::default();
    each_line(text, |line, row: Vegeta| {
        let request = Request {
            group: group(&row.method, &row.url),
            end_ns: time("latency", &row.latency.to_string(), 1.0)?,
            request_bytes: row.bytes_out,
            response_bytes: row.bytes_in,
            failure: Failure::of(row.code, &row.error),
            ..Request::default()
        };
        read.requests.push((line, request));
        Ok(())
    })?;
    Ok(read)
}

/// Returns what fortio calls a failure: by its status, which is -1 without a response, or by an error of gRPC.
fn failure(details: &str) -> Failure {
    match details.parse() {
        Ok(status) => Failure::new(status, ""),
        Err(_) => Failure::new(0, details),
    }
}

pub(super) fn fortio(text: &str) -> Result<Read, Mistake> {
    let mut read = Read::default();
    each_line(text, |line, row: Fortio| {
        let request = Request {
            end_ns: time("latency", &row.latency.to_string(), 1e9)?,
            failure: (!row.ok).then(|| failure(&row.details)),
            ..Request::default()
        };
        read.requests.push((line, request));
        Ok(())
    })?;
    Ok(read)
}
