//! A study: one question, in one TOML file.

use std::ops::Range;

use driver::protocol::{Codec, Protocol, Reconnect};
use serde::Deserialize;
use toml::Spanned;

/// A study as parsed and checked; nothing in it names something that does not exist,
/// stacks and networks apart (see [`crate::plan`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// Names of networks.
    pub networks: Vec<String>,
    /// Arms, in order; at least the reference.
    pub arms: Vec<Arm>,
    /// Index of the reference in `arms`.
    pub reference: usize,
    /// Blocks per network.
    pub blocks: u32,
    /// Where all luck comes from.
    pub seed: u64,
    /// Time-out of a call.
    pub timeout_ns: u64,
    /// Smallest difference of interest.
    pub margin_ns: Option<u64>,
    /// The run fails its threshold when fewer of the planned cells end clean.
    pub min_clean_percent: Option<f64>,
    /// What the app does.
    pub workload: Vec<Step>,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Unique in the study.
    pub name: String,
    /// A stack's name.
    pub stack: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// How bodies are encoded.
    pub codec: Codec,
    /// Client certificates?
    pub security: Security,
    /// Congestion control of both ends; absent: each stack's default.
    pub congestion: Option<String>,
}

/// How the connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// The server proves who it is.
    Tls,
    /// Both do.
    Mtls,
}

/// One step of the workload, repetitions not yet expanded.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A small request and its echo.
    Call {
        /// Its group in the report.
        group: String,
        /// JSON text.
        body: String,
        /// How often, one after another.
        times: u32,
    },
    /// A download.
    Get {
        /// Its group in the report.
        group: String,
        /// Length.
        bytes: u64,
        /// How often.
        times: u32,
    },
    /// An upload.
    Put {
        /// Its group in the report.
        group: String,
        /// Length.
        bytes: u64,
        /// How often.
        times: u32,
    },
    /// Echoes on one bidirectional stream.
    Stream {
        /// Its group in the report.
        group: String,
        /// JSON text.
        body: String,
        /// How many messages.
        messages: u32,
    },
    /// Nothing for a while.
    Pause {
        /// How long.
        ns: u64,
    },
    /// Next call on a new connection.
    Reconnect(Reconnect),
    /// The steps inside, several times.
    Repeat {
        /// How often.
        times: u32,
        /// What.
        steps: Vec<Step>,
    },
    /// The steps inside, all at once.
    Parallel(Vec<Step>),
}

/// What is wrong with a study, where, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct StudyError {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What was wrong and what would be right.
    pub message: String,
}

impl Study {
    /// Parses a study; `file` is only for messages.
    pub fn parse(file: &str, text: &str) -> Result<Study, StudyError> {
        let source = Source { file, text };
        let raw: RawStudy = toml::from_str(text).map_err(|e| source.from_toml(&e))?;
        raw.check(&source)
    }
}

/// The most steps a study may expand to: a driver is sent them in one line of at most 1 MiB.
pub(crate) const MAX_STEPS: usize = 4096;
const MAX_BYTES: u64 = 1 << 30;
const MAX_BODY: usize = 32 * 1024;
/// The message of the game-api study: 13 digits of milliseconds, 26 bytes in all.
pub(crate) const DEFAULT_BODY: &str = r#"{"start_ts":1763757325123}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStudy {
    name: Spanned<String>,
    question: String,
    networks: Spanned<Vec<String>>,
    reference: Spanned<String>,
    blocks: Spanned<u32>,
    #[serde(default = "default_seed")]
    seed: u64,
    #[serde(default = "default_timeout")]
    timeout_s: Spanned<f64>,
    margin_ms: Option<Spanned<f64>>,
    min_clean_percent: Option<Spanned<f64>>,
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
}

fn default_security() -> Security {
    Security::Tls
}

/// Exactly one of the keys that name an action, and the keys that go with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    call: Option<String>,
    get: Option<String>,
    put: Option<String>,
    stream: Option<String>,
    pause_ms: Option<f64>,
    reconnect: Option<Reconnect>,
    repeat: Option<u32>,
    #[serde(default)]
    parallel: bool,
    body: Option<String>,
    bytes: Option<u64>,
    times: Option<u32>,
    messages: Option<u32>,
    steps: Option<Vec<Spanned<RawStep>>>,
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn at(&self, span: &Range<usize>, message: impl Into<String>) -> StudyError {
        let upto = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = 1 + upto.iter().filter(|&&b| b == b'\n').count();
        StudyError {
            file: self.file.to_owned(),
            line,
            message: message.into(),
        }
    }

    fn from_toml(&self, e: &toml::de::Error) -> StudyError {
        let message = crate::nearest::with_hint(e.message());
        self.at(&e.span().unwrap_or(0..0), message)
    }
}

impl RawStudy {
    fn check(self, source: &Source<'_>) -> Result<Study, StudyError> {
        let name_span = self.name.span();
        let name = self.name.into_inner();
        if name.is_empty() || name != crate::plan::slug(&name) {
            return Err(source.at(&name_span, "name: use lower-case letters, digits and -"));
        }
        if self.networks.get_ref().is_empty() {
            return Err(source.at(
                &self.networks.span(),
                "networks is empty: the study has no cells; name at least one \
                 (`commute networks` lists them)",
            ));
        }
        if *self.blocks.get_ref() == 0 {
            return Err(source.at(
                &self.blocks.span(),
                "blocks = 0: the study has no cells; 10 blocks give verdicts",
            ));
        }
        let mut arms: Vec<Arm> = Vec::new();
        for raw in self.arm {
            let span = raw.span();
            let arm = raw.into_inner().check();
            if let Some(e) = contradiction(&arm) {
                return Err(source.at(&span, e));
            }
            let id = crate::plan::slug(&arm.name);
            if id.is_empty() || arms.iter().any(|a| crate::plan::slug(&a.name) == id) {
                return Err(source.at(
                    &span,
                    format!(
                        "arm `{}`: another arm has this name; give it its own `name`",
                        arm.name
                    ),
                ));
            }
            arms.push(arm);
        }
        if arms.is_empty() {
            return Err(source.at(&(0..0), "no [[arm]]: the study has no cells"));
        }
        let wanted = self.reference.get_ref();
        let Some(reference) = arms.iter().position(|a| a.name == *wanted) else {
            let hint = crate::nearest::name(wanted, arms.iter().map(|a| a.name.as_str()));
            return Err(source.at(
                &self.reference.span(),
                format!("reference `{wanted}` is no arm of this study{hint}"),
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
            reference,
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
                    return Err(source.at(
                        &p.span(),
                        format!("min_clean_percent = {}: from 0 to 100", p.get_ref()),
                    ));
                }
                None => None,
            },
            workload,
        };
        let steps = crate::workload::count(&study.workload);
        if steps.calls == 0 {
            return Err(source.at(&(0..0), "no [[step]] makes a call: nothing to measure"));
        }
        if steps.all > MAX_STEPS {
            return Err(source.at(
                &(0..0),
                format!("the workload has {} steps; at most {MAX_STEPS}", steps.all),
            ));
        }
        Ok(study)
    }
}

impl RawArm {
    fn check(self) -> Arm {
        let protocol = protocol_name(self.protocol);
        Arm {
            name: self
                .name
                .unwrap_or_else(|| format!("{} {protocol}", self.stack)),
            stack: self.stack,
            protocol: self.protocol,
            codec: self.codec.unwrap_or(match self.protocol {
                Protocol::Grpc => Codec::Protobuf,
                _ => Codec::Json,
            }),
            security: self.security,
            congestion: self.congestion,
        }
    }
}

/// The protocol's name as used in studies and records.
pub(crate) fn protocol_name(p: Protocol) -> &'static str {
    match p {
        Protocol::H1 => "h1",
        Protocol::H2 => "h2",
        Protocol::H3 => "h3",
        Protocol::Grpc => "grpc",
    }
}

fn contradiction(arm: &Arm) -> Option<String> {
    match (arm.protocol, arm.codec) {
        (Protocol::Grpc, Codec::Json) => Some(format!(
            "arm `{}`: gRPC here speaks protobuf; leave `codec` out",
            arm.name
        )),
        (Protocol::H1 | Protocol::H2 | Protocol::H3, Codec::Protobuf) => Some(format!(
            "arm `{}`: protobuf over plain HTTP is not measured yet; use codec = \"json\"",
            arm.name
        )),
        _ => None,
    }
}

fn ns(value: &Spanned<f64>, unit: f64, key: &str, source: &Source<'_>) -> Result<u64, StudyError> {
    let v = *value.get_ref();
    if !(v > 0.0 && v * unit < 3.6e12) {
        return Err(source.at(
            &value.span(),
            format!("{key} = {v}: above 0 and at most an hour"),
        ));
    }
    Ok((v * unit).round() as u64)
}

fn check_step(raw: Spanned<RawStep>, source: &Source<'_>, depth: u32) -> Result<Step, StudyError> {
    let span = raw.span();
    let mut raw = raw.into_inner();
    let steps = raw.steps.take();
    let fail = |m: String| source.at(&span, m);
    let actions = [
        ("call", raw.call.is_some()),
        ("get", raw.get.is_some()),
        ("put", raw.put.is_some()),
        ("stream", raw.stream.is_some()),
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
        ("times", raw.times.is_some(), &["call", "get", "put"]),
        ("messages", raw.messages.is_some(), &["stream"]),
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
            Err(source.at(&span, format!("{key} = {v}: from 1 to {max}")))
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
    let body = || -> Result<String, StudyError> {
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
            if steps
                .iter()
                .any(|s| !matches!(s, Step::Call { .. } | Step::Get { .. } | Step::Put { .. }))
            {
                return Err(fail("parallel takes call, get and put only".to_owned()));
            }
            Step::Parallel(steps)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::SMALL;

    fn refused(text: &str) -> String {
        Study::parse("s.toml", text).unwrap_err().to_string()
    }

    /// SMALL with one line replaced; says which line that is.
    fn with(line: &str, instead: &str) -> (String, usize) {
        assert!(SMALL.contains(line), "{line}");
        let at = 1 + SMALL[..SMALL.find(line).unwrap()].matches('\n').count();
        (SMALL.replacen(line, instead, 1), at)
    }

    #[test]
    fn a_study_is_read() {
        let study = Study::parse("s.toml", SMALL).unwrap();
        assert_eq!((study.arms.len(), study.reference, study.blocks), (3, 0, 3));
        assert_eq!(study.arms[2].name, "quinn h3");
        assert_eq!(study.timeout_ns, 30_000_000_000);
    }

    #[test]
    fn the_studies_that_come_with_commute_are_valid() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
        let mut seen = 0;
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            Study::parse(&path.display().to_string(), &text).unwrap();
            seen += 1;
        }
        assert!(seen > 0);
    }

    #[test]
    fn every_mistake_is_named_with_its_line() {
        let cases = [
            ("blocks = 3", "blocks = 0", "no cells"),
            ("blocks = 3", "blocks = -3", "invalid value"),
            ("blocks = 3", "blcks = 3", "did you mean `blocks`?"),
            ("blocks = 3", "blocks = ", "TOML"),
            ("blocks = 3", "blocks = 3\ntimeout_s = 0", "timeout_s = 0"),
            (
                "blocks = 3",
                "blocks = 3\nmin_clean_percent = 150",
                "from 0 to 100",
            ),
            (
                "networks = [\"lan\", \"true-metro\"]",
                "networks = []",
                "name at least one",
            ),
            (
                "reference = \"hyper h2\"",
                "reference = \"hyper h3\"",
                "did you mean `hyper h2`?",
            ),
            ("name = \"small\"", "name = \"../x\"", "lower-case letters"),
            (
                "protocol = \"h3\"",
                "protocol = \"h4\"",
                "unknown variant `h4`",
            ),
            (
                "protocol = \"h3\"",
                "protocol = \"h3\"\ncodec = \"protobuf\"",
                "not measured yet",
            ),
            (
                "protocol = \"h3\"",
                "protocol = \"grpc\"\ncodec = \"json\"",
                "gRPC here speaks protobuf",
            ),
            (
                "name = \"again\"",
                "name = \"Hyper  H2\"",
                "another arm has this name",
            ),
            (
                "call = \"echo\"",
                "call = \"echo\"\nget = \"x\"",
                "call and get",
            ),
            ("call = \"echo\"", "body = \"{}\"", "this one has none"),
            (
                "call = \"echo\"",
                "call = \"echo\"\nbody = \"{\"",
                "body is not JSON",
            ),
            (
                "call = \"echo\"",
                "call = \"echo\"\nbytes = 3",
                "`bytes` goes with get or put",
            ),
            ("times = 2", "times = 0", "times = 0"),
            ("times = 2", "times = 4097", "times = 4097"),
            (
                "call = \"echo\"\ntimes = 2",
                "get = \"f\"",
                "get needs `bytes`",
            ),
            (
                "call = \"echo\"\ntimes = 2",
                "reconnect = \"cold\"",
                "makes a call",
            ),
            (
                "call = \"echo\"\ntimes = 2",
                "repeat = 2",
                "repeat needs `steps`",
            ),
            (
                "call = \"echo\"\ntimes = 2",
                "repeat = 4000\nsteps = [{ call = \"echo\", times = 4000 }]",
                "16000000 steps",
            ),
            (
                "call = \"echo\"\ntimes = 2",
                "parallel = true\nsteps = [{ pause_ms = 1 }]",
                "parallel takes call, get and put only",
            ),
        ];
        for (line, instead, message) in cases {
            let (text, at) = with(line, instead);
            let got = refused(&text);
            assert!(got.starts_with("s.toml:"), "{got}");
            let place: usize = got.split(':').nth(1).unwrap().parse().unwrap();
            assert!(place <= at + 3, "{got}: expected near line {at}");
            assert!(
                message.split('|').any(|m| got.contains(m)),
                "{instead:?} gives {got:?}, which should say {message:?}"
            );
        }
    }

    #[test]
    fn a_study_without_arms_has_no_cells() {
        let end = SMALL.find("[[arm]]").unwrap();
        let steps = SMALL.find("[[step]]").unwrap();
        assert!(refused(&format!("{}{}", &SMALL[..end], &SMALL[steps..])).contains("no [[arm]]"));
    }
}
