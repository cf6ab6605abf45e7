//! Checks that the workload suits the arms, at every level of the sweep.

use config::{ConfigError, Source};
use driver::protocol::Codec;
use toml::Spanned;

use super::arm::{RawArm, contradiction};
use crate::count::StepCount;
use crate::load::check_loads;
use crate::own;
use crate::slots::Slots;
use crate::steps::MAX_STEPS;
use crate::sweep::{Sweep, arm_at};
use crate::{Access, Arm, AuthScheme, Connections, Step};

/// Checks that the workload has requests, is not too long, and uses the codecs that arms name.
pub(super) fn check_workload(
    workload: &[Step],
    arms: &[Arm],
    raw_arms: &[Spanned<RawArm>],
    source: &Source<'_>,
) -> Result<(), ConfigError> {
    let count = StepCount::of(workload);
    let unused = |arm: &Arm| count.encoded == 0 && arm.codec != Codec::plain(arm.protocol);
    if let Some((arm, raw)) = arms.iter().zip(raw_arms).find(|(arm, _)| unused(arm)) {
        return Err(source.error(
            &raw.span(),
            format!(
                "arm `{}`: codec = \"{}\" has no effect, since no step is an exchange or a request of \
                 the study's own; leave it out, or add a [[step]] with `exchange` and `message`",
                arm.name,
                arm.codec.name()
            ),
        ));
    }
    if count.calls == 0 {
        return Err(source.error(
            &(0..0),
            "no [[step]] makes a request, so there is nothing to measure",
        ));
    }
    let slots = Slots::of(arms).count();
    let steps = (count.steps).saturating_add(count.calls.saturating_mul(slots));
    if steps > MAX_STEPS {
        return Err(source.error(
            &(0..0),
            format!("the workload has {steps} steps; at most {MAX_STEPS}"),
        ));
    }
    let restarts = any_step(workload, &|step| matches!(step, Step::Restart));
    if restarts && any_step(workload, &|step| matches!(step, Step::Load { .. })) {
        return Err(source.error(
            &(0..0),
            "`restart` does not go with `for_s`, whose times count from the start of the run",
        ));
    }
    if restarts && any_step(workload, &|step| matches!(step, Step::WaitUntil { .. })) {
        return Err(source.error(
            &(0..0),
            "`restart` does not go with `wait_until_ms`, whose time counts from the start of the run",
        ));
    }
    if let Some(reason) = check_loads(workload) {
        return Err(source.error(&(0..0), reason));
    }
    for (arm, raw) in arms.iter().zip(raw_arms) {
        if let Some(reason) =
            cannot_follow(arm, workload).or_else(|| own::not_with_arm(arm, workload))
        {
            return Err(source.error(&raw.span(), format!("arm `{}`: {reason}", arm.name)));
        }
    }
    Ok(())
}

/// Checks that every arm can be at every level of the sweep.
pub(super) fn check_levels(
    sweep: &Sweep,
    arms: &[Arm],
    workload: &[Step],
    raw_arms: &[Spanned<RawArm>],
    source: &Source<'_>,
) -> Result<(), ConfigError> {
    for levels in sweep.combinations() {
        for (arm, raw) in arms.iter().zip(raw_arms) {
            let objection = match arm_at(arm, &levels) {
                Ok(arm) => contradiction(&arm)
                    .or_else(|| arm.not_with_its_server())
                    .or_else(|| own::not_with_arm(&arm, workload)),
                Err(e) => Some(e),
            };
            if let Some(e) = objection {
                let at: Vec<String> = (levels.iter())
                    .map(|level| format!("{}={}", level.setting, level.value))
                    .collect();
                let message = format!("arm `{}` at {}: {e}", arm.name, at.join(" "));
                return Err(source.error(&raw.span(), message));
            }
        }
    }
    Ok(())
}

/// Returns why the workload has a step that the arm cannot follow, if it has.
fn cannot_follow(arm: &Arm, steps: &[Step]) -> Option<String> {
    let per_request = arm.behaviour.connections == Connections::PerRequest;
    if arm.warmup_calls > 0 && any_step(steps, &|step| matches!(step, Step::Restart)) {
        return Some("a `restart` step starts a cold process; leave out `warmup_calls`".to_owned());
    }
    let submits = any_step(steps, &|step| matches!(step, Step::Submit { .. }));
    if per_request && any_step(steps, &|step| matches!(step, Step::Parallel(_))) {
        Some("connections = \"per-request\" closes every connection before a request, so it does not go with parallel steps".to_owned())
    } else if per_request && any_step(steps, &|step| matches!(step, Step::Load { .. })) {
        Some("connections = \"per-request\" does not go with `for_s`: a driver cannot close a connection before each of a load's requests".to_owned())
    } else if per_request && matches!(arm.behaviour.access, Access::Parallel | Access::FirstAlone) {
        Some("connections = \"per-request\" closes every connection before a request, so its requests cannot overlap".to_owned())
    } else if arm.auth == Some(AuthScheme::Hmac)
        && any_step(steps, &|step| matches!(step, Step::Stream { .. }))
    {
        Some(
            "auth = \"hmac\" signs requests and uploads, not the messages of a `stream`".to_owned(),
        )
    } else if arm.behaviour.chunk_bytes.is_some() && !submits {
        Some("`chunk_bytes` has no effect, since no step is a `submit`; leave it out".to_owned())
    } else {
        None
    }
}

fn any_step(steps: &[Step], is_wanted: &dyn Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| {
        is_wanted(step)
            || match step {
                Step::Repeat { steps, .. } | Step::Parallel(steps) => any_step(steps, is_wanted),
                Step::Load { request, .. } => is_wanted(request),
                Step::At { step, .. } => is_wanted(step),
                _ => false,
            }
    })
}
