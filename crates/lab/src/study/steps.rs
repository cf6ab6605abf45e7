//! The workload as people write it.

use config::{ConfigError, Source};
use driver::protocol::Reconnect;
use serde::Deserialize;
use toml::Spanned;

use super::parse::ns;
use super::{DEFAULT_BODY, Step};

/// Exactly one of the keys that name an action, and the keys that go with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    call: Option<String>,
    get: Option<String>,
    put: Option<String>,
    stream: Option<String>,
    exchange: Option<String>,
    pause_ms: Option<f64>,
    reconnect: Option<Reconnect>,
    repeat: Option<u32>,
    #[serde(default)]
    parallel: bool,
    body: Option<String>,
    bytes: Option<u64>,
    times: Option<u32>,
    messages: Option<u32>,
    message: Option<String>,
    steps: Option<Vec<Spanned<RawStep>>>,
}

/// One step and those inside it.
pub(super) fn check_step(
    raw: Spanned<RawStep>,
    source: &Source<'_>,
    depth: u32,
) -> Result<Step, ConfigError> {
    let span = raw.span();
    let mut raw = raw.into_inner();
    let steps = raw.steps.take();
    let fail = |m: String| source.error(&span, m);
    let actions = [
        ("call", raw.call.is_some()),
        ("get", raw.get.is_some()),
        ("put", raw.put.is_some()),
        ("stream", raw.stream.is_some()),
        ("exchange", raw.exchange.is_some()),
        ("pause_ms", raw.pause_ms.is_some()),
        ("reconnect", raw.reconnect.is_some()),
        ("repeat", raw.repeat.is_some()),
        ("parallel", raw.parallel),
    ];
    let given: Vec<&str> = actions
        .iter()
        .filter(|(_, set)| *set)
        .map(|(name, _)| *name)
        .collect();
    let [action] = given[..] else {
        return Err(fail(format!(
            "a step does one thing: exactly one of {}; this one has {}",
            actions.map(|(name, _)| name).join(", "),
            if given.is_empty() {
                "none".to_owned()
            } else {
                given.join(" and ")
            },
        )));
    };
    let companions: &[(&str, bool, &[&str])] = &[
        ("body", raw.body.is_some(), &["call", "stream"]),
        ("bytes", raw.bytes.is_some(), &["get", "put"]),
        (
            "times",
            raw.times.is_some(),
            &["call", "get", "put", "exchange"],
        ),
        ("messages", raw.messages.is_some(), &["stream"]),
        ("message", raw.message.is_some(), &["exchange"]),
        ("steps", steps.is_some(), &["repeat", "parallel"]),
    ];
    for (key, set, with) in companions {
        if *set && !with.contains(&action) {
            return Err(fail(format!(
                "`{key}` goes with {}, not with {action}",
                with.join(" or ")
            )));
        }
    }
    let times = raw.times.unwrap_or(1);
    let within = |key: &str, v: u64, max: u64| {
        if v == 0 || v > max {
            Err(source.error(&span, format!("{key} = {v}: from 1 to {max}")))
        } else {
            Ok(())
        }
    };
    within("times", u64::from(times), MAX_STEPS as u64)?;
    let bytes = || {
        let b = raw
            .bytes
            .ok_or_else(|| fail(format!("{action} needs `bytes`")))?;
        within("bytes", b, MAX_BYTES).map(|()| b)
    };
    let body = || -> Result<String, ConfigError> {
        let body = raw.body.clone().unwrap_or_else(|| DEFAULT_BODY.to_owned());
        if body.len() > MAX_BODY {
            return Err(fail(format!(
                "body of {} B: at most {MAX_BODY} B",
                body.len()
            )));
        }
        serde_json::from_str::<serde_json::Value>(&body)
            .map_err(|e| fail(format!("body is not JSON: {e}")))?;
        Ok(body)
    };
    let inner = |what: &str, steps: Option<Vec<Spanned<RawStep>>>| {
        if depth >= 4 {
            return Err(fail(format!("{what}: nested more than 4 deep")));
        }
        let steps = steps.unwrap_or_default();
        if steps.is_empty() {
            return Err(fail(format!("{what} needs `steps`")));
        }
        steps
            .into_iter()
            .map(|s| check_step(s, source, depth + 1))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(match action {
        "call" => Step::Call {
            group: raw.call.clone().unwrap_or_default(),
            body: body()?,
            times,
        },
        "get" => Step::Get {
            group: raw.get.clone().unwrap_or_default(),
            bytes: bytes()?,
            times,
        },
        "put" => Step::Put {
            group: raw.put.clone().unwrap_or_default(),
            bytes: bytes()?,
            times,
        },
        "stream" => {
            let messages = raw.messages.unwrap_or(1);
            within("messages", u64::from(messages), 100_000)?;
            Step::Stream {
                group: raw.stream.clone().unwrap_or_default(),
                body: body()?,
                messages,
            }
        }
        "exchange" => {
            let message = raw.message.as_deref();
            let message = message.ok_or_else(|| {
                fail("exchange needs `message`, as \"api-2kB\" or \"big-0..99\"".to_owned())
            })?;
            Step::Exchange {
                group: raw.exchange.clone().unwrap_or_default(),
                messages: messages(message).map_err(fail)?,
                times,
            }
        }
        "pause_ms" => {
            let ms = Spanned::new(span.clone(), raw.pause_ms.unwrap_or_default());
            Step::Pause {
                ns: ns(&ms, 1e6, "pause_ms", source)?,
            }
        }
        "reconnect" => Step::Reconnect(raw.reconnect.unwrap_or(Reconnect::Cold)),
        "repeat" => {
            let times = raw.repeat.unwrap_or_default();
            within("repeat", u64::from(times), MAX_STEPS as u64)?;
            Step::Repeat {
                times,
                steps: inner("repeat", steps)?,
            }
        }
        _ => {
            let steps = inner("parallel", steps)?;
            let may = |s: &Step| {
                use Step::{Call, Exchange, Get, Put};
                matches!(s, Call { .. } | Get { .. } | Put { .. } | Exchange { .. })
            };
            if !steps.iter().all(may) {
                return Err(fail(
                    "parallel takes call, get, put and exchange only".to_owned(),
                ));
            }
            Step::Parallel(steps)
        }
    })
}

/// One message, or a range of them: `big-0..99` is a hundred.
fn messages(text: &str) -> Result<Vec<wire::Name>, String> {
    let named = |name: &str| name.parse::<wire::Name>().map_err(|e| e.to_string());
    let Some((first, last)) = text.split_once("..") else {
        return Ok(vec![named(text)?]);
    };
    let (family, low) = first.rsplit_once('-').unwrap_or((first, ""));
    let bad = || format!("message = \"{text}\": a range is written as \"big-0..99\"");
    let (low, high): (u32, u32) = (
        low.parse().map_err(|_| bad())?,
        last.parse().map_err(|_| bad())?,
    );
    if low > high {
        return Err(format!(
            "message = \"{text}\": from the smaller to the larger"
        ));
    }
    // The ends are known to be few enough before anything is made of them.
    named(&format!("{family}-{low}"))?;
    named(&format!("{family}-{high}"))?;
    (low..=high)
        .map(|n| named(&format!("{family}-{n}")))
        .collect()
}

/// The most steps a study may expand to: a driver is sent them in one message.
pub(super) const MAX_STEPS: usize = 4096;
const MAX_BYTES: u64 = 1 << 30;
const MAX_BODY: usize = 32 * 1024;
