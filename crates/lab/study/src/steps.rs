//! Parses the steps of a workload.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use config::{Bytes, ConfigError, Ms, Seconds, Source};
use driver::protocol::Reconnect;
use record::{LoadPlan, Pace};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::own::{OwnRequest, PayloadFiles, RawOwn, RawPayload};
use super::units::to_ns;
use super::{DEFAULT_BODY, Step, load};

/// The most steps a study may expand to: a driver receives them in one message.
pub(super) const MAX_STEPS: usize = 4096;
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
        check_step(raw, surroundings, 0)
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

    /// Takes the keys of a request of the study's own.
    fn own(&mut self) -> RawOwn {
        RawOwn {
            method: self.method.take(),
            path: self.path.take(),
            request: RawPayload {
                file: self.request.take(),
                bytes: self.request_bytes.take().map(u64::from),
                content_type: self.content_type.take(),
            },
            response: RawPayload {
                file: self.response.take(),
                bytes: self.response_bytes.take().map(u64::from),
                content_type: self.response_type.take(),
            },
            headers: self.headers.take(),
        }
    }

    fn times(&self) -> Result<u32, String> {
        let times = self.times.unwrap_or(1);
        in_range("times", u64::from(times), MAX_STEPS as u64).map(|()| times)
    }

    /// Returns how long requests are made and when each starts, if the step is bound by time.
    fn load(&self) -> Result<Option<LoadPlan>, String> {
        let pace = match (self.outstanding, self.rate_per_s) {
            (Some(_), Some(_)) => {
                return Err(
                    "`outstanding` is a closed loop and `rate_per_s` an open one: \
                            a step has one of them"
                        .to_owned(),
                );
            }
            (None, Some(rate)) => Pace::RatePerS(rate),
            (calls, None) => Pace::Outstanding(calls.unwrap_or(1)),
        };
        let Some(for_s) = self.for_s else {
            let alone = [
                ("warmup_s", self.warmup_s.is_some()),
                ("outstanding", self.outstanding.is_some()),
                ("rate_per_s", self.rate_per_s.is_some()),
            ];
            return match alone.iter().find(|(_, set)| *set) {
                Some((key, _)) => Err(format!("`{key}` goes with `for_s`")),
                None => Ok(None),
            };
        };
        if self.times.is_some() {
            return Err("`for_s` makes requests until time is over; leave out `times`".to_owned());
        }
        let warmup_s = self.warmup_s.map_or(0.0, f64::from);
        load::check(for_s.into(), warmup_s, pace).map(Some)
    }

    /// Returns the step that makes one of its requests.
    fn once(self) -> RawStep {
        RawStep {
            for_s: None,
            warmup_s: None,
            outstanding: None,
            rate_per_s: None,
            ..self
        }
    }

    fn bytes(&self, action: &str) -> Result<u64, String> {
        let bytes = self
            .bytes
            .ok_or_else(|| format!("{action} needs `bytes`"))?
            .into();
        in_range("bytes", bytes, MAX_FILE_BYTES).map(|()| bytes)
    }

    fn body(&self) -> Result<String, String> {
        if let Some(bytes) = self.body_bytes {
            return match self.body {
                Some(_) => Err("`body` has its own length; leave out `body_bytes`".to_owned()),
                None => padded_body(bytes.into()),
            };
        }
        let body = self.body.as_deref().unwrap_or(DEFAULT_BODY);
        if body.len() > MAX_BODY_BYTES {
            let len = body.len();
            return Err(format!(
                "the body has {len} bytes; at most {MAX_BODY_BYTES}"
            ));
        }
        serde_json::from_str::<serde_json::Value>(body)
            .map_err(|e| format!("body is not JSON: {e}"))?;
        Ok(body.to_owned())
    }

    fn stream_messages(&self) -> Result<u32, String> {
        let messages = self.messages.unwrap_or(1);
        in_range("messages", u64::from(messages), MAX_STREAM_MESSAGES).map(|()| messages)
    }

    fn submitted_message(&self) -> Result<messages::Name, String> {
        let name = self.message.as_deref().map(str::parse::<messages::Name>);
        match name {
            Some(Ok(name)) if is_submittable(&name) => Ok(name),
            _ => Err("submit needs `message`, \"diag-100kB\" or \"diag-1MB\"".to_owned()),
        }
    }

    fn exchange_messages(&self) -> Result<Vec<messages::Name>, String> {
        match &self.message {
            Some(file) if file.contains('/') || file.ends_with(".json") => Err(format!(
                "`message` is one of the codec bench's, e.g. \"api-2kB\"; a payload of your own is \
                 sent by `call = \"GROUP\"` with `request = \"{file}\"`"
            )),
            Some(text) => message_names(text),
            None => Err("exchange needs `message`, e.g. \"api-2kB\" or \"big-0..99\"".to_owned()),
        }
    }
}

/// Returns an echo message of this many bytes.
fn padded_body(bytes: u64) -> Result<String, String> {
    let (head, tail) = (r#"{"start_ts":1763757325123,"padding":""#, r#""}"#);
    let least = head.len() + tail.len();
    if !(least as u64..=MAX_BODY_BYTES as u64).contains(&bytes) {
        return Err(format!(
            "body_bytes = {bytes} is out of range: {least} to {MAX_BODY_BYTES}"
        ));
    }
    // Text that compresses to nothing would flatter whatever compresses.
    let letters = (0..bytes as usize - least).map(|i| char::from(b'a' + (i * i % 97 % 26) as u8));
    Ok(head.chars().chain(letters).chain(tail.chars()).collect())
}

/// Reports whether the server takes this message without returning it.
fn is_submittable(name: &messages::Name) -> bool {
    matches!(name, messages::Name::Diag { .. })
}

fn check_step(
    raw: Spanned<RawStep>,
    surroundings: &Surroundings<'_>,
    depth: u32,
) -> Result<Step, ConfigError> {
    let Surroundings {
        origins,
        files,
        own_requests,
        source,
    } = surroundings;
    let span = raw.span();
    let mut raw = raw.into_inner();
    let fail = |message: String| source.error_in(&span, message);
    let action = raw.action().map_err(fail)?;
    raw.check_companions(action).map_err(fail)?;
    if let Some(plan) = raw.load().map_err(fail)? {
        if depth > 0 {
            return Err(fail(
                "`for_s` is for steps of their own, not inside repeat or parallel".to_owned(),
            ));
        }
        if raw.origin.is_some() {
            return Err(fail("`origin` does not go with `for_s`".to_owned()));
        }
        let once = Spanned::new(span, raw.once());
        let request = Box::new(check_step(once, surroundings, depth)?);
        return Ok(Step::Load { plan, request });
    }
    if let Some(origin) = raw.origin.take() {
        if !origins.contains(&origin.as_str()) {
            let hint = config::did_you_mean(&origin, origins.iter().copied());
            return Err(fail(format!("there is no origin `{origin}`{hint}")));
        }
        let step = Box::new(check_step(Spanned::new(span, raw), surroundings, depth)?);
        return Ok(Step::At { origin, step });
    }
    let group = |name: &Option<String>| name.clone().unwrap_or_default();
    let own = raw.own();
    if let Some(key) = own.first_key() {
        if action != "call" {
            return Err(fail(format!("`{key}` goes with call, not with {action}")));
        }
        if raw.body.is_some() || raw.body_bytes.is_some() {
            return Err(fail(format!(
                "`body` and `body_bytes` are the echo's, and `{key}` makes the call a request of your own: \
                 use `request` or `request_bytes`"
            )));
        }
        let request = own.check(files).map_err(fail)?;
        own_requests
            .borrow_mut()
            .push((span.clone(), request.clone()));
        return Ok(Step::Own {
            group: group(&raw.call),
            request: Box::new(request),
            times: raw.times().map_err(fail)?,
        });
    }
    match action {
        "call" => Ok(Step::Call {
            group: group(&raw.call),
            body: raw.body().map_err(fail)?,
            times: raw.times().map_err(fail)?,
        }),
        "get" => Ok(Step::Get {
            group: group(&raw.get),
            bytes: raw.bytes(action).map_err(fail)?,
            times: raw.times().map_err(fail)?,
        }),
        "put" => Ok(Step::Put {
            group: group(&raw.put),
            bytes: raw.bytes(action).map_err(fail)?,
            times: raw.times().map_err(fail)?,
        }),
        "stream" => Ok(Step::Stream {
            group: group(&raw.stream),
            body: raw.body().map_err(fail)?,
            messages: raw.stream_messages().map_err(fail)?,
        }),
        "exchange" => Ok(Step::Exchange {
            group: group(&raw.exchange),
            messages: raw.exchange_messages().map_err(fail)?,
            times: raw.times().map_err(fail)?,
        }),
        "submit" => Ok(Step::Submit {
            group: group(&raw.submit),
            message: raw.submitted_message().map_err(fail)?,
            times: raw.times().map_err(fail)?,
        }),
        "pause_ms" => {
            let ms = Spanned::new(span.clone(), raw.pause_ms.map_or(0.0, f64::from));
            let ns = to_ns(&ms, 1e6, "pause_ms", source).map_err(|e| fail(e.message))?;
            Ok(Step::Pause { ns })
        }
        "reconnect" => Ok(Step::Reconnect(raw.reconnect.unwrap_or(Reconnect::Cold))),
        "restart" => Ok(Step::Restart),
        "repeat" => {
            let times = raw.repeat.unwrap_or_default();
            in_range("repeat", u64::from(times), MAX_STEPS as u64).map_err(fail)?;
            let steps = inner_steps("repeat", raw.steps, &span, surroundings, depth)?;
            Ok(Step::Repeat { times, steps })
        }
        _ => {
            let steps = inner_steps("parallel", raw.steps, &span, surroundings, depth)?;
            if !steps.iter().all(runs_in_parallel) {
                return Err(fail(
                    "parallel takes call, get, put, exchange and submit only".to_owned(),
                ));
            }
            Ok(Step::Parallel(steps))
        }
    }
}

fn inner_steps(
    action: &str,
    steps: Option<Vec<Spanned<RawStep>>>,
    span: &Range<usize>,
    surroundings: &Surroundings<'_>,
    depth: u32,
) -> Result<Vec<Step>, ConfigError> {
    let fail = |message: String| Err(surroundings.source.error_in(span, message));
    if depth >= MAX_DEPTH {
        return fail(format!("{action}: nested more than {MAX_DEPTH} deep"));
    }
    let steps = steps.unwrap_or_default();
    if steps.is_empty() {
        return fail(format!("{action} needs `steps`"));
    }
    (steps.into_iter())
        .map(|step| check_step(step, surroundings, depth + 1))
        .collect()
}

fn runs_in_parallel(step: &Step) -> bool {
    use Step::{At, Call, Exchange, Get, Own, Put, Submit};
    match step {
        At { step, .. } => runs_in_parallel(step),
        Call { .. } | Own { .. } | Get { .. } | Put { .. } | Exchange { .. } | Submit { .. } => {
            true
        }
        _ => false,
    }
}

fn in_range(key: &str, value: u64, max: u64) -> Result<(), String> {
    match value {
        v if v == 0 || v > max => Err(format!("{key} = {v} is out of range: 1 to {max}")),
        _ => Ok(()),
    }
}

/// Parses one message name, or a range of them: `big-0..99` is a hundred.
fn message_names(text: &str) -> Result<Vec<messages::Name>, String> {
    let name = |name: &str| name.parse::<messages::Name>().map_err(|e| e.to_string());
    let Some((first, last)) = text.split_once("..") else {
        return Ok(vec![name(text)?]);
    };
    let (family, low) = first.rsplit_once('-').unwrap_or((first, ""));
    let bad = || format!("message = \"{text}\": write a range as e.g. \"big-0..99\"");
    let (low, high): (u32, u32) = (
        low.parse().map_err(|_| bad())?,
        last.parse().map_err(|_| bad())?,
    );
    if low > high {
        return Err(format!(
            "message = \"{text}\": a range goes from the smaller to the larger number"
        ));
    }
    // Both ends must be valid before the range is expanded, which bounds its length.
    name(&format!("{family}-{low}"))?;
    name(&format!("{family}-{high}"))?;
    (low..=high)
        .map(|n| name(&format!("{family}-{n}")))
        .collect()
}
