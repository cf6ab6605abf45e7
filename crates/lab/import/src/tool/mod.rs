//! The output of load testers, as they write it. `FORMATS` is the one list of what is known.

mod jmeter;
mod json;
mod k6;
mod table;
#[cfg(test)]
mod tests;
mod xml;

use driver::protocol::ErrorKind;
use serde_json::{Map, Value};

use super::row::{ImportedCall, PROTOCOLS};
use super::unit::whole_ns;

/// What a file that some tool wrote begins with.
struct Head<'a> {
    /// The first line.
    line: &'a str,
    /// The first JSON object.
    json: Option<Map<String, Value>>,
}

/// One kind of file that a load tester writes.
pub struct Format {
    name: &'static str,
    /// Reports whether a file that begins like this is of this kind.
    is: fn(&Head<'_>) -> bool,
    content: Content,
    caveat: Option<&'static str>,
}

enum Content {
    /// A row, or several, for each request.
    Requests(fn(&str) -> Result<Read, Mistake>),
    /// No requests; says how to get them.
    Summary(&'static str),
}

/// A mistake, with its line.
type Mistake = (usize, String);

/// The requests of a file, each with its line.
#[derive(Default)]
struct Read {
    requests: Vec<(usize, Request)>,
    /// Rows that are no request, e.g. the sum of several.
    left_out: usize,
}

/// What all requests of a file have in common, since load testers do not write it.
#[derive(Clone, Debug)]
pub struct Labels {
    /// The network.
    pub network: String,
    /// The arm.
    pub arm: String,
    /// The protocol, if the user says it.
    pub protocol: Option<String>,
    /// The block.
    pub block: u32,
}

/// What a load tester says of one request. Times are in ns after its start.
#[derive(Debug, Default, PartialEq)]
struct Request {
    group: Option<String>,
    protocol: Option<&'static str>,
    first: Option<bool>,
    /// Whether it opened its connection, where the time contains that over HTTP/1.1 only.
    first_over_h1: Option<bool>,
    connect_ns: Option<u64>,
    tls_ns: Option<u64>,
    request_sent_ns: Option<u64>,
    first_byte_ns: Option<u64>,
    end_ns: u64,
    request_bytes: Option<u64>,
    response_bytes: Option<u64>,
    failure: Option<Failure>,
}

#[derive(Debug, PartialEq)]
struct Failure {
    kind: ErrorKind,
    detail: String,
}

/// The formats, each with its clock as its tool documents it.
const FORMATS: &[Format] = &[
    // Milliseconds. `http_req_duration` begins on an open connection, `http_req_blocked` before it.
    Format {
        name: "k6's CSV",
        is: |head| head.line.starts_with("metric_name,timestamp,metric_value"),
        content: Content::Requests(k6::from_csv),
        caveat: None,
    },
    Format {
        name: "k6's JSON",
        is: |head| head.has(&["type", "metric", "data"]),
        content: Content::Requests(k6::from_json),
        caveat: None,
    },
    Format {
        name: "k6's summary",
        is: |head| head.has(&["metrics", "root_group"]),
        content: Content::Summary("k6 run --out csv=FILE"),
        caveat: None,
    },
    // Nanoseconds, from before a connection is opened to the end of the body.
    Format {
        name: "vegeta's JSON",
        is: |head| head.has(&["attack", "seq", "code", "latency"]),
        content: Content::Requests(json::vegeta),
        caveat: None,
    },
    Format {
        name: "vegeta's CSV",
        is: |head| table::is_vegeta(head.line),
        content: Content::Requests(table::vegeta),
        caveat: None,
    },
    Format {
        name: "vegeta's report",
        is: |head| head.has(&["latencies", "bytes_in"]),
        content: Content::Summary("vegeta encode RESULTS > FILE"),
        caveat: None,
    },
    // Seconds. Over HTTP/1.1 they begin before a connection is opened, over HTTP/2 and HTTP/3 on an open one.
    Format {
        name: "oha's CSV",
        is: |head| head.line.starts_with("request-start,DNS,DNS+dialup,"),
        content: Content::Requests(table::oha),
        caveat: Some(
            "oha's CSV has no row for a request without a response: its text and JSON output count them as errors",
        ),
    },
    Format {
        name: "oha's JSON",
        is: |head| head.has(&["summary", "latencyPercentiles"]),
        content: Content::Summary("oha --output-format csv"),
        caveat: None,
    },
    // Microseconds, on an open connection.
    Format {
        name: "h2load's log",
        is: |head| table::is_h2load(head.line),
        content: Content::Requests(table::h2load),
        caveat: Some(
            "h2load opens its connections before its clock starts: no time contains a handshake",
        ),
    },
    Format {
        name: "h2load's summary",
        is: |head| head.line.starts_with("starting benchmark..."),
        content: Content::Summary("h2load --log-file=FILE"),
        caveat: None,
    },
    // Seconds, from before a connection is opened.
    Format {
        name: "fortio's access log",
        is: |head| head.has(&["latency", "timestamp", "thread", "ok"]),
        content: Content::Requests(json::fortio),
        caveat: None,
    },
    Format {
        name: "fortio's access log for InfluxDB",
        is: |head| head.line.starts_with("latency,thread="),
        content: Content::Summary("fortio load -access-log-file FILE -access-log-format json"),
        caveat: None,
    },
    Format {
        name: "fortio's histogram",
        is: |head| head.has(&["DurationHistogram"]),
        content: Content::Summary("fortio load -access-log-file FILE"),
        caveat: None,
    },
    // Milliseconds, from before a connection is opened.
    Format {
        name: "JMeter's CSV",
        is: |head| {
            let has = |name: &str| head.line.split(SEPARATORS).any(|column| column == name);
            has("elapsed") && has("label")
        },
        content: Content::Requests(jmeter::from_csv),
        caveat: Some(JMETER_CAVEAT),
    },
    Format {
        name: "JMeter's XML",
        is: |head| head.line.starts_with("<?xml") || head.line.starts_with("<testResults"),
        content: Content::Requests(jmeter::from_xml),
        caveat: Some(JMETER_CAVEAT),
    },
    Format {
        name: "JMeter's summary",
        is: |head| head.line.starts_with("Label,# Samples,"),
        content: Content::Summary("jmeter -n -t PLAN -l FILE"),
        caveat: None,
    },
];

const JMETER_CAVEAT: &str = "JMeter's times are whole ms: a connection that opened in less than 1 ms counts as one that was open";

/// What JMeter's `default_delimiter` may be.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

impl Head<'_> {
    fn has(&self, keys: &[&str]) -> bool {
        let json = self.json.as_ref();
        json.is_some_and(|json| keys.iter().all(|key| json.contains_key(*key)))
    }
}

impl Format {
    /// Returns the format of a text; none if no load tester is known to write such.
    pub fn of(text: &str) -> Option<&'static Format> {
        let text = text.trim_start();
        let head = Head {
            line: text.lines().next().unwrap_or_default(),
            json: serde_json::Deserializer::from_str(text)
                .into_iter()
                .next()
                .and_then(Result::ok),
        };
        FORMATS.iter().find(|format| (format.is)(&head))
    }

    /// Returns its name in messages, e.g. `k6's CSV`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns what its times leave open.
    pub fn caveat(&self) -> Option<&'static str> {
        self.caveat
    }

    /// Reads the requests of a text, each with its line, and returns how many rows were no request. Fails with the
    /// line of a mistake.
    pub fn read(
        &self,
        text: &str,
        labels: &Labels,
    ) -> Result<(Vec<(usize, ImportedCall)>, usize), Mistake> {
        let read = match &self.content {
            Content::Requests(read) => read(text)?,
            Content::Summary(how) => {
                let message = format!(
                    "{} has no row for each request; write one: {how}",
                    self.name
                );
                return Err((1, message));
            }
        };
        let seen = read
            .requests
            .iter()
            .find_map(|(_, request)| request.protocol);
        let Some(protocol) = labels.protocol.as_deref().or(seen) else {
            let message = format!(
                "{} does not say which protocol was used; write ARM:PROTOCOL=FILE, where PROTOCOL is one of {}",
                self.name,
                PROTOCOLS.join(", ")
            );
            return Err((1, message));
        };
        let call = |(line, request): (usize, Request)| match request.protocol {
            Some(used) if used != protocol && protocol != "auto" => Err((
                line,
                format!(
                    "the request used {used}, the arm {} uses {protocol}",
                    labels.arm
                ),
            )),
            _ => Ok((
                line,
                ImportedCall {
                    caveat: self.caveat,
                    ..request.into_call(protocol, labels)
                },
            )),
        };
        let calls: Result<Vec<_>, Mistake> = read.requests.into_iter().map(call).collect();
        Ok((calls?, read.left_out))
    }
}

impl Request {
    fn into_call(self, protocol: &str, labels: &Labels) -> ImportedCall {
        let is_timeout = |failure: &Failure| failure.kind == ErrorKind::Timeout;
        // A failure may end before the phases that its tool writes for it.
        let phase = |ns: Option<u64>| ns.filter(|_| self.failure.is_none());
        ImportedCall {
            network: labels.network.clone(),
            arm: labels.arm.clone(),
            protocol: protocol.to_owned(),
            block: labels.block,
            end_ns: self.end_ns,
            first: (self.first).or(self.first_over_h1.filter(|_| protocol == "h1")),
            connect_ns: phase(self.connect_ns),
            tls_ns: phase(self.tls_ns),
            request_sent_ns: phase(self.request_sent_ns),
            first_byte_ns: phase(self.first_byte_ns),
            group: self.group,
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            result: match &self.failure {
                None => Some("ok".to_owned()),
                Some(failure) if is_timeout(failure) => Some("timed_out".to_owned()),
                Some(_) => Some("error".to_owned()),
            },
            error: self
                .failure
                .map(|failure| format!("{}: {}", failure.kind.name(), failure.detail)),
            ..ImportedCall::default()
        }
    }
}

impl Failure {
    /// Returns why a request failed, if its status or its error says so. A status of 0 or less is none.
    fn of(status: i64, error: &str) -> Option<Failure> {
        let is_ok = (200..400).contains(&status) && error.is_empty();
        (!is_ok).then(|| Failure::new(status, error))
    }

    /// Returns the failure of a request. Its status or its error may be missing.
    fn new(status: i64, error: &str) -> Failure {
        // Go's clients begin with `Get "https://a.example/?token=1": `.
        let error = error
            .rsplit_once("\": ")
            .map_or(error, |(_, reason)| reason);
        let error: &str = &without_queries(error);
        let lower = error.to_lowercase();
        let is_timeout = ["timeout", "timed out", "deadline exceeded"]
            .iter()
            .any(|words| lower.contains(words));
        let (kind, detail) = match (status, error) {
            (..=0, _) if is_timeout => (ErrorKind::Timeout, error.to_owned()),
            (..=0, "") => (ErrorKind::Other, "no response".to_owned()),
            (..=0, error) => (ErrorKind::Other, error.to_owned()),
            (200..400, error) if !error.is_empty() => (ErrorKind::Other, error.to_owned()),
            (status, _) => (ErrorKind::Status, status.to_string()),
        };
        Failure { kind, detail }
    }
}

/// Names a group by its method and by the path of its URL. The server is left out, since arms may differ in it, and so
/// is the query, which may have credentials. Another name is kept, without the queries in it.
fn group(method: &str, name: &str) -> Option<String> {
    let path = match name.split_once("://") {
        Some((_, rest)) => rest.find(['/', '?']).map_or("/", |at| &rest[at..]),
        None => name,
    };
    let name = match path.starts_with(['/', '?']) {
        true => match path.split(['?', '#']).next() {
            None | Some("") => "/".to_owned(),
            Some(path) => path.to_owned(),
        },
        false => without_queries(path),
    };
    let name = format!("{method} {name}").trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Returns a text in which URLs and paths end before their queries. A URL that was refused may have spaces in its query, so
/// later words with `=` or `&` are left out, too.
fn without_queries(text: &str) -> String {
    let mut kept = Vec::new();
    let mut was_cut = false;
    for word in text.split(' ') {
        match word.find(['?', '#']) {
            Some(at) if word.contains('/') => {
                was_cut = true;
                kept.push(&word[..at]);
            }
            _ if was_cut && word.contains(['=', '&']) => {}
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}

/// Reads a time, or says what it is instead.
fn time(name: &str, value: &str, unit_ns: f64) -> Result<u64, String> {
    whole_ns(value, unit_ns)
        .ok_or_else(|| format!("`{name}` is {value:?}, expected a number, 0 or more"))
}
