//! What people write, and every way in which it can be wrong.

use std::ops::Range;

use config::{ConfigError, Source};
use driver::protocol::{Codec, Discovery, Protocol};
use serde::Deserialize;
use toml::Spanned;

use super::steps::{MAX_STEPS, RawStep, check_step};
use super::{Arm, Security, Study};

/// Parses and checks a study.
pub(super) fn read(file: &str, text: &str) -> Result<Study, ConfigError> {
    let source = Source::new(file, text);
    source.parse::<RawStudy>()?.check(&source)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStudy {
    name: Spanned<String>,
    question: String,
    networks: Spanned<Vec<String>>,
    baseline: Spanned<String>,
    blocks: Spanned<u32>,
    #[serde(default = "default_seed")]
    seed: u64,
    #[serde(default = "default_timeout")]
    timeout_s: Spanned<f64>,
    margin_ms: Option<Spanned<f64>>,
    min_clean_percent: Option<Spanned<f64>>,
    /// Of every arm that does not say otherwise.
    #[serde(default)]
    warmup_calls: u32,
    #[serde(default)]
    arm: Vec<Spanned<RawArm>>,
    #[serde(default)]
    step: Vec<Spanned<RawStep>>,
}

fn default_seed() -> u64 {
    1
}

fn default_timeout() -> Spanned<f64> {
    Spanned::new(0..0, 30.0)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArm {
    name: Option<String>,
    stack: String,
    protocol: Protocol,
    codec: Option<Codec>,
    #[serde(default = "default_security")]
    security: Security,
    congestion: Option<String>,
    warmup_calls: Option<u32>,
    observe: Option<String>,
    discovery: Option<Discovery>,
}

fn default_security() -> Security {
    Security::Tls
}

impl RawStudy {
    fn check(self, source: &Source<'_>) -> Result<Study, ConfigError> {
        let name_span = self.name.span();
        let name = self.name.into_inner();
        if name.is_empty() || name != crate::plan::slug(&name) {
            return Err(source.error(&name_span, "name: use lower-case letters, digits and -"));
        }
        if self.networks.get_ref().is_empty() {
            return Err(source.error(
                &self.networks.span(),
                "networks is empty: the study has no cells; name at least one \
                 (`commute networks` lists them)",
            ));
        }
        if *self.blocks.get_ref() == 0 {
            return Err(source.error(
                &self.blocks.span(),
                "blocks = 0: the study has no cells; 10 blocks give verdicts",
            ));
        }
        let (mut arms, mut spans): (Vec<Arm>, Vec<Range<usize>>) = Default::default();
        for raw in self.arm {
            let span = raw.span();
            let arm = raw.into_inner().check(self.warmup_calls);
            if let Some(e) = contradiction(&arm) {
                return Err(source.error(&span, e));
            }
            let id = crate::plan::slug(&arm.name);
            if id.is_empty() || arms.iter().any(|a| crate::plan::slug(&a.name) == id) {
                return Err(source.error(
                    &span,
                    format!(
                        "arm `{}`: another arm has this name; give it its own `name`",
                        arm.name
                    ),
                ));
            }
            arms.push(arm);
            spans.push(span);
        }
        if arms.is_empty() {
            return Err(source.error(&(0..0), "no [[arm]]: the study has no cells"));
        }
        let wanted = self.baseline.get_ref();
        let Some(baseline) = arms.iter().position(|a| a.name == *wanted) else {
            let hint = config::did_you_mean(wanted, arms.iter().map(|a| a.name.as_str()));
            return Err(source.error(
                &self.baseline.span(),
                format!("baseline `{wanted}` is no arm of this study{hint}"),
            ));
        };
        let mut workload = Vec::new();
        for raw in self.step {
            workload.push(check_step(raw, source, 0)?);
        }
        let study = Study {
            name,
            question: self.question,
            networks: self.networks.into_inner(),
            arms,
            baseline,
            blocks: self.blocks.into_inner(),
            seed: self.seed,
            timeout_ns: ns(&self.timeout_s, 1e9, "timeout_s", source)?,
            margin_ns: match &self.margin_ms {
                Some(ms) => Some(ns(ms, 1e6, "margin_ms", source)?),
                None => None,
            },
            min_clean_percent: match &self.min_clean_percent {
                Some(p) if (0.0..=100.0).contains(p.get_ref()) => Some(*p.get_ref()),
                Some(p) => {
                    return Err(source.error(
                        &p.span(),
                        format!("min_clean_percent = {}: from 0 to 100", p.get_ref()),
                    ));
                }
                None => None,
            },
            workload,
        };
        let steps = crate::plan::workload::count(&study.workload);
        if let Some((arm, span)) = study
            .arms
            .iter()
            .zip(&spans)
            .find(|(arm, _)| steps.exchanges == 0 && arm.codec != Codec::plain(arm.protocol))
        {
            return Err(source.error(
                span,
                format!(
                    "arm `{}`: codec = \"{}\" changes nothing here, for no step is an exchange; \
                     leave it out, or add a [[step]] with `exchange` and `message`",
                    arm.name,
                    arm.codec.name()
                ),
            ));
        }
        if steps.calls == 0 {
            return Err(source.error(&(0..0), "no [[step]] makes a call: nothing to measure"));
        }
        if steps.all > MAX_STEPS {
            return Err(source.error(
                &(0..0),
                format!("the workload has {} steps; at most {MAX_STEPS}", steps.all),
            ));
        }
        Ok(study)
    }
}

impl RawArm {
    fn check(self, warmup_calls: u32) -> Arm {
        let plain = Arm::plain(&self.stack, self.protocol);
        Arm {
            name: self.name.unwrap_or(plain.name),
            codec: self.codec.unwrap_or(plain.codec),
            security: self.security,
            congestion: self.congestion,
            warmup_calls: self.warmup_calls.unwrap_or(warmup_calls),
            observe: self.observe,
            discovery: self.discovery,
            stack: plain.stack,
            protocol: plain.protocol,
        }
    }
}

fn contradiction(arm: &Arm) -> Option<String> {
    let codec = arm.codec.name();
    if let Err(e) = codec.parse::<wire::Codec>() {
        return Some(format!("arm `{}`: {e}", arm.name));
    }
    match arm.protocol {
        Protocol::Grpc if codec != "protobuf" => Some(format!(
            "arm `{}`: gRPC here speaks protobuf; leave `codec` out",
            arm.name
        )),
        _ if arm.discovery.is_some() && arm.protocol != Protocol::H3 => Some(format!(
            "arm `{}`: `discovery` says how HTTP/3 is found; use protocol = \"h3\"",
            arm.name
        )),
        _ if arm
            .observe
            .as_deref()
            .is_some_and(|o| frame_hz(o).is_none()) =>
        {
            Some(format!(
                "arm `{}`: observe = \"frame:60\" is how it is written; 1 to 1000 frames a second",
                arm.name
            ))
        }
        _ if arm.warmup_calls > MAX_WARMUP_CALLS => Some(format!(
            "arm `{}`: warmup_calls = {}; at most {MAX_WARMUP_CALLS}",
            arm.name, arm.warmup_calls
        )),
        _ => None,
    }
}

/// Frames a second of `frame:HZ`.
fn frame_hz(observe: &str) -> Option<u32> {
    let hz = observe.strip_prefix("frame:")?.parse().ok()?;
    (1..=1000).contains(&hz).then_some(hz)
}

/// A JIT compiles hot code after some ten thousand calls; more would only take time.
const MAX_WARMUP_CALLS: u32 = 20_000;

/// A time in ns, above zero and at most an hour.
pub(super) fn ns(
    value: &Spanned<f64>,
    unit: f64,
    key: &str,
    source: &Source<'_>,
) -> Result<u64, ConfigError> {
    let v = *value.get_ref();
    if !(v > 0.0 && v * unit < 3.6e12) {
        return Err(source.error(
            &value.span(),
            format!("{key} = {v}: above 0 and at most an hour"),
        ));
    }
    Ok((v * unit).round() as u64)
}

#[cfg(test)]
mod tests;
