//! Parses the steps of a workload.

mod check;
mod values;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use config::{Bytes, ConfigError, Ms, Seconds, Source};
use driver::protocol::Reconnect;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::Step;
use crate::own::{OwnRequest, PayloadFiles};

/// The most steps a study may expand to: a driver receives them in one message.
pub(crate) const MAX_STEPS: usize = 4096;
/// The server takes no larger upload.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 30;
const MAX_BODY_BYTES: usize = 32 * 1024;
const MAX_STREAM_MESSAGES: u64 = 100_000;
const MAX_DEPTH: u32 = 4;
/// What can be bound by time.
const LOADS: &[&str] = &["call", "get", "exchange", "submit"];

/// A step as written: exactly one key that names an action, and the keys that go with it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    /// A small request and its echo, in this group.
    call: Option<String>,
    /// A download, in this group.
    get: Option<String>,
    /// An upload, in this group.
    put: Option<String>,
    /// Echoes on one gRPC stream, in this group.
    stream: Option<String>,
    /// A message sent and returned in the arm's codec, in this group.
    exchange: Option<String>,
    /// A message sent in the arm's codec and answered with a receipt, in this group.
    submit: Option<String>,
    /// Waits: milliseconds, or text such as "3s".
    pause_ms: Option<Ms>,
    /// Waits until so long after the start of the run: milliseconds, or text such as "3s".
    wait_until_ms: Option<Ms>,
    /// The next request goes on a new connection.
    reconnect: Option<Reconnect>,
    /// The driver's process ends and another starts with what the first has stored.
    #[serde(default)]
    restart: bool,
    /// The inner `steps`, so many times.
    repeat: Option<u32>,
    /// The inner `steps`, all at once.
    #[serde(default)]
    parallel: bool,
    /// The echo message, JSON text.
    body: Option<String>,
    /// Length of the echo message, or text such as "2kB".
    body_bytes: Option<Bytes>,
    /// Length of the file, or text such as "160kB".
    bytes: Option<Bytes>,
    /// Repetitions, one after another.
    times: Option<u32>,
    /// Instead of `times`: requests that start within so many seconds are measured; or text such as "60s".
    for_s: Option<Seconds>,
    /// Before them come so many seconds whose requests are left out.
    warmup_s: Option<Seconds>,
    /// Closed loop: so many requests are in flight.
    outstanding: Option<u32>,
    /// Open loop: so many requests per second start.
    rate_per_s: Option<u32>,
    /// Messages on the stream.
    messages: Option<u32>,
    /// A message of the codec bench, e.g. `api-2kB`, or a range, e.g. `big-0..99`.
    message: Option<String>,
    /// The origin that the request goes to; the first if none is named.
    origin: Option<String>,
    /// The method of a request of your own; POST with a body, else GET.
    method: Option<String>,
    /// Path and query of a request of your own.
    path: Option<String>,
    /// The file of the request's body, relative to the study.
    request: Option<String>,
    /// Instead of a file: so many bytes, or text such as "2kB".
    request_bytes: Option<Bytes>,
    /// Content type of the request's body; by default by the file's name.
    content_type: Option<String>,
    /// The file of the response's body, relative to the study.
    response: Option<String>,
    /// Instead of a file: so many bytes, or text such as "20kB".
    response_bytes: Option<Bytes>,
    /// Content type of the response's body; by default by the file's name.
    response_type: Option<String>,
    /// Header fields of the request.
    headers: Option<BTreeMap<String, String>>,
    /// The steps of `repeat` or `parallel`.
    #[schemars(with = "Option<Vec<RawStep>>")]
    steps: Option<Vec<Spanned<RawStep>>>,
}

/// What a study says and has beside its steps.
pub(super) struct Surroundings<'a> {
    /// The names of the origins that a step may go to.
    pub(super) origins: &'a [&'a str],
    pub(super) files: PayloadFiles<'a>,
    /// The study's own requests so far, each with the place of its step.
    pub(super) own_requests: RefCell<Vec<(Range<usize>, OwnRequest)>>,
    pub(super) source: &'a Source<'a>,
}

impl RawStep {
    /// Checks a step and the steps inside it.
    pub(super) fn check(
        raw: Spanned<RawStep>,
        surroundings: &Surroundings<'_>,
    ) -> Result<Step, ConfigError> {
        check::check_step(raw, surroundings, 0)
    }

    /// Returns the one key that names an action. Fails unless there is exactly one.
    fn action(&self) -> Result<&'static str, String> {
        let actions = [
            ("call", self.call.is_some()),
            ("get", self.get.is_some()),
            ("put", self.put.is_some()),
            ("stream", self.stream.is_some()),
            ("exchange", self.exchange.is_some()),
            ("submit", self.submit.is_some()),
            ("pause_ms", self.pause_ms.is_some()),
            ("wait_until_ms", self.wait_until_ms.is_some()),
            ("reconnect", self.reconnect.is_some()),
            ("restart", self.restart),
            ("repeat", self.repeat.is_some()),
            ("parallel", self.parallel),
        ];
        let given = actions.iter().filter(|(_, set)| *set);
        let given: Vec<&str> = given.map(|(name, _)| *name).collect();
        match given[..] {
            [action] => Ok(action),
            _ => Err(format!(
                "a step does one thing: exactly one of {}; this one has {}",
                actions.map(|(name, _)| name).join(", "),
                if given.is_empty() {
                    "none".to_owned()
                } else {
                    given.join(" and ")
                },
            )),
        }
    }

    /// Checks that every other key goes with the action.
    fn check_companions(&self, action: &str) -> Result<(), String> {
        let companions: [(&str, bool, &[&str]); 12] = [
            ("body", self.body.is_some(), &["call", "stream"]),
            ("body_bytes", self.body_bytes.is_some(), &["call", "stream"]),
            ("bytes", self.bytes.is_some(), &["get", "put"]),
            (
                "times",
                self.times.is_some(),
                &["call", "get", "put", "exchange", "submit"],
            ),
            ("for_s", self.for_s.is_some(), LOADS),
            ("warmup_s", self.warmup_s.is_some(), LOADS),
            ("outstanding", self.outstanding.is_some(), LOADS),
            ("rate_per_s", self.rate_per_s.is_some(), LOADS),
            ("messages", self.messages.is_some(), &["stream"]),
            ("message", self.message.is_some(), &["exchange", "submit"]),
            (
                "origin",
                self.origin.is_some(),
                &["call", "get", "put", "stream", "exchange", "submit"],
            ),
            ("steps", self.steps.is_some(), &["repeat", "parallel"]),
        ];
        match (companions.iter()).find(|(_, set, with)| *set && !with.contains(&action)) {
            Some((key, _, with)) => Err(format!(
                "`{key}` goes with {}, not with {action}",
                with.join(" or ")
            )),
            None => Ok(()),
        }
    }
}
