//! k6's points: one for each metric of a request, as CSV or as JSON. The points of a request follow each other, and
//! `http_reqs` is the first.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Failure, Mistake, Read, Request, group, json, table};

/// The metrics that have a request's times.
const TIMES: [&str; 7] = [
    "http_req_duration",
    "http_req_blocked",
    "http_req_connecting",
    "http_req_tls_handshaking",
    "http_req_sending",
    "http_req_waiting",
    "http_req_receiving",
];
const BEGINS: &str = "http_reqs";
/// k6's code for its own time limit.
const TIMEOUT_CODE: &str = "1050";
/// How k6's codes begin for what fails before a connection is open: its name, TCP and TLS.
const OPENING_CODES: [&str; 3] = ["11", "121", "13"];
const NS_PER_MS: f64 = 1e6;

/// One line of k6's JSON. Lines of the type `Metric` have no value.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    metric: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    value: Option<f64>,
    tags: Option<BTreeMap<String, String>>,
}

/// What tells requests apart, and what became of them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Tags {
    method: String,
    name: String,
    proto: String,
    status: String,
    error: String,
    error_code: String,
    expected_response: String,
}

/// A request that may have points still to be read.
struct Open {
    line: usize,
    tags: Tags,
    /// In ms.
    times: BTreeMap<&'static str, f64>,
}

#[derive(Default)]
struct Points {
    read: Read,
    open: Option<Open>,
}

pub(super) fn from_csv(text: &str) -> Result<Read, Mistake> {
    let mut points = Points::default();
    table::each_row(text, b',', None, |row| {
        let metric = row.required("metric_name")?;
        if metric != BEGINS && !TIMES.contains(&metric) {
            return Ok(());
        }
        let value = row.required("metric_value")?;
        let value = value
            .parse()
            .map_err(|_| format!("`metric_value` is {value:?}, expected a number"))?;
        let tags = Tags::new(|name| row.get(name));
        points.add(row.line, metric, value, tags)
    })?;
    points.finish()
}

pub(super) fn from_json(text: &str) -> Result<Read, Mistake> {
    let mut points = Points::default();
    json::each_line(text, |at, line: Line| {
        let is_time = line.metric == BEGINS || TIMES.contains(&line.metric.as_str());
        match line.data.value {
            Some(value) if is_time && line.kind == "Point" => {
                let tags = line.data.tags.unwrap_or_default();
                let tags = Tags::new(|name| tags.get(name).map(String::as_str));
                points.add(at, &line.metric, value, tags)
            }
            _ => Ok(()),
        }
    })?;
    points.finish()
}

impl Tags {
    fn new<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Tags {
        let tag = |name: &str| get(name).unwrap_or_default().to_owned();
        Tags {
            method: tag("method"),
            name: match tag("name") {
                none if none.is_empty() => tag("url"),
                name => name,
            },
            proto: tag("proto"),
            status: tag("status"),
            error: tag("error"),
            error_code: tag("error_code"),
            expected_response: tag("expected_response"),
        }
    }

    fn has_response(&self) -> bool {
        self.status.parse().is_ok_and(|status: u16| status > 0)
    }

    /// Returns the failure of a request, if it failed. k6 expects a status from 200 to 399, unless the script says
    /// otherwise.
    fn failure(&self) -> Option<Failure> {
        let status = self.status.parse().unwrap_or(0);
        let failure = match self.error_code.as_str() {
            TIMEOUT_CODE => Failure::new(0, "request timeout"),
            _ => Failure::new(status, &self.error),
        };
        let is_ok = match self.expected_response.as_str() {
            "true" => status > 0,
            "false" => false,
            _ => (200..400).contains(&status) && self.error.is_empty(),
        };
        (!is_ok).then_some(failure)
    }
}

impl Points {
    fn add(&mut self, line: usize, metric: &str, value: f64, tags: Tags) -> Result<(), String> {
        let goes_on = self.open.as_ref().is_some_and(|open| {
            open.tags == tags && metric != BEGINS && !open.times.contains_key(metric)
        });
        if !goes_on {
            self.close()?;
        }
        let open = self.open.get_or_insert_with(|| Open {
            line,
            tags,
            times: BTreeMap::new(),
        });
        if let Some(time) = TIMES.into_iter().find(|time| *time == metric) {
            if !(0.0..1e12).contains(&value) {
                return Err(format!("{metric} is {value}, expected ms, 0 or more"));
            }
            open.times.insert(time, value);
        }
        Ok(())
    }

    /// Completes the request whose points were read.
    fn close(&mut self) -> Result<(), String> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let ms = |metric: &str| open.times.get(metric).copied();
        let Some(duration) = ms("http_req_duration") else {
            return Err(format!(
                "the request that begins in line {} has no `http_req_duration`",
                open.line
            ));
        };
        let ns = |ms: f64| (ms * NS_PER_MS).round() as u64;
        // On a new connection, `blocked` contains its name, TCP and TLS.
        let blocked = ms("http_req_blocked");
        let opened = ms("http_req_connecting").filter(|_| blocked.is_some());
        let code = &open.tags.error_code;
        let is_opening = code.len() == 4 && OPENING_CODES.iter().any(|of| code.starts_with(of));
        let is_first = match opened.map(|connecting| connecting > 0.0) {
            // k6 writes 0 for a connection that failed, too.
            Some(false) if !open.tags.has_response() => is_opening.then_some(true),
            is_first => is_first,
        };
        let on_new = |ms: Option<f64>| ms.filter(|_| is_first == Some(true));
        let tls = on_new(ms("http_req_tls_handshaking")).filter(|tls| *tls > 0.0);
        let begin = blocked.unwrap_or(0.0);
        let sent = ms("http_req_sending").map(|sending| begin + sending);
        let first_byte = sent
            .zip(ms("http_req_waiting"))
            .map(|(sent, waiting)| sent + waiting);
        let end = begin + duration;
        let within = |ms: Option<f64>| ms.map(|ms| ns(ms.min(end)));
        let request = Request {
            group: group(&open.tags.method, &open.tags.name),
            protocol: match open.tags.proto.as_str() {
                "HTTP/1.0" | "HTTP/1.1" => Some("h1"),
                "HTTP/2.0" => Some("h2"),
                "HTTP/3.0" => Some("h3"),
                _ => None,
            },
            first: is_first,
            connect_ns: within(on_new(blocked).map(|end| (end - tls.unwrap_or(0.0)).max(0.0))),
            tls_ns: within(tls.and(blocked)),
            request_sent_ns: within(sent),
            first_byte_ns: within(first_byte),
            end_ns: ns(end),
            failure: open.tags.failure(),
            ..Request::default()
        };
        self.read.requests.push((open.line, request));
        Ok(())
    }

    fn finish(mut self) -> Result<Read, Mistake> {
        let line = self.open.as_ref().map_or(1, |open| open.line);
        self.close().map_err(|message| (line, message))?;
        Ok(self.read)
    }
}
