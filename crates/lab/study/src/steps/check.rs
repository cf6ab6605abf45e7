//! From a step as written to a checked one.

use std::ops::Range;

use config::ConfigError;
use driver::protocol::Reconnect;
use toml::Spanned;

use super::values::in_range;
use super::{MAX_DEPTH, MAX_STEPS, RawStep, Surroundings};
use crate::Step;
use crate::units::to_ns;

/// Checks a step that is inside `depth` others, and the steps inside it.
pub(super) fn check_step(
    raw: Spanned<RawStep>,
    surroundings: &Surroundings<'_>,
    depth: u32,
) -> Result<Step, ConfigError> {
    let Surroundings {
        origins, source, ..
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
    match own_request(&mut raw, action, &span, surroundings).map_err(fail)? {
        Some(step) => Ok(step),
        None => single(action, raw, &span, surroundings, depth),
    }
}

/// Returns the step if it is a request of the study's own, which is added to the others.
fn own_request(
    raw: &mut RawStep,
    action: &str,
    span: &Range<usize>,
    surroundings: &Surroundings<'_>,
) -> Result<Option<Step>, String> {
    let own = raw.own();
    let Some(key) = own.first_key() else {
        return Ok(None);
    };
    if action != "call" {
        return Err(format!("`{key}` goes with call, not with {action}"));
    }
    if raw.body.is_some() || raw.body_bytes.is_some() {
        return Err(format!(
            "`body` and `body_bytes` are the echo's, and `{key}` makes the call a request of your own: \
             use `request` or `request_bytes`"
        ));
    }
    let request = own.check(&surroundings.files)?;
    let mut own_requests = surroundings.own_requests.borrow_mut();
    own_requests.push((span.clone(), request.clone()));
    Ok(Some(Step::Own {
        group: group(&raw.call),
        request: Box::new(request),
        times: raw.times()?,
    }))
}

/// Checks a step that is neither bound by time nor at an origin nor a request of the study's own.
fn single(
    action: &str,
    raw: RawStep,
    span: &Range<usize>,
    surroundings: &Surroundings<'_>,
    depth: u32,
) -> Result<Step, ConfigError> {
    let source = surroundings.source;
    let fail = |message: String| source.error_in(span, message);
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
        "wait_until_ms" if depth > 0 => Err(fail(
            "`wait_until_ms` is for steps of their own, not inside repeat or parallel".to_owned(),
        )),
        "wait_until_ms" => {
            let ms = Spanned::new(span.clone(), raw.wait_until_ms.map_or(0.0, f64::from));
            let ns = to_ns(&ms, 1e6, "wait_until_ms", source).map_err(|e| fail(e.message))?;
            Ok(Step::WaitUntil { ns })
        }
        "reconnect" => Ok(Step::Reconnect(raw.reconnect.unwrap_or(Reconnect::Cold))),
        "restart" => Ok(Step::Restart),
        "repeat" => {
            let times = raw.repeat.unwrap_or_default();
            in_range("repeat", u64::from(times), MAX_STEPS as u64).map_err(fail)?;
            let steps = inner_steps("repeat", raw.steps, span, surroundings, depth)?;
            Ok(Step::Repeat { times, steps })
        }
        _ => {
            let steps = inner_steps("parallel", raw.steps, span, surroundings, depth)?;
            if !steps.iter().all(runs_in_parallel) {
                return Err(fail(
                    "parallel takes call, get, put, exchange and submit only, and a repeat of these, each once, \
                     and of pause_ms"
                        .to_owned(),
                ));
            }
            Ok(Step::Parallel(steps))
        }
    }
}

fn group(name: &Option<String>) -> String {
    name.clone().unwrap_or_default()
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
    use Step::{At, Call, Exchange, Get, Own, Put, Repeat, Submit};
    match step {
        At { step, .. } => runs_in_parallel(step),
        Call { .. } | Own { .. } | Get { .. } | Put { .. } | Exchange { .. } | Submit { .. } => {
            true
        }
        Repeat { steps, .. } => steps.iter().all(runs_in_turn),
        _ => false,
    }
}

/// Reports whether a step can follow another while a third runs.
fn runs_in_turn(step: &Step) -> bool {
    use Step::{At, Call, Exchange, Get, Own, Pause, Put, Repeat, Submit};
    match step {
        At { step, .. } => runs_in_turn(step),
        Call { times, .. }
        | Own { times, .. }
        | Get { times, .. }
        | Put { times, .. }
        | Exchange { times, .. }
        | Submit { times, .. } => *times == 1,
        Repeat { steps, .. } => steps.iter().all(runs_in_turn),
        Pause { .. } => true,
        _ => false,
    }
}
