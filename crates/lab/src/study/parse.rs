//! Parses a study and reports every mistake with its line.

mod tail;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use config::{Bytes, ConfigError, Ms, Percent, Seconds, Source};
use driver::manifest::{Certificate, OWN_SERVER};
use driver::protocol::{Codec, Discovery, Policy, Protocol};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::count::StepCount;
use super::external::{ExternalServer, RawServer, ServerUrl};
use super::load::check_loads;
use super::origins::{self, ArmOrigins, Placement, RawOrigins};
use super::own::{self, PayloadFiles, ReadFile, read_file};
use super::steps::{MAX_STEPS, RawStep, Surroundings};
use super::sweep::{RawSweep, Sweep, arm_at};
use super::units::to_ns;
use super::{
    Access, Arm, AuthScheme, Behaviour, Chain, Connections, Security, ServerFault, Step, Study,
};
use crate::plan::expansion::Slots;
use crate::slug::slug;

/// quinn's own default; RFC 9002 section 6.1.1 forbids fewer.
const MIN_PACKET_THRESHOLD: u32 = 3;
/// Round trips; later than that, the probe timeout has fired.
const MAX_TIME_THRESHOLD: f64 = 10.0;
/// A JIT compiles hot code after some ten thousand calls; more would only take time.
const MAX_WARMUP_CALLS: u32 = 20_000;
/// Some weeks of cells; the plan is kept in memory.
const MAX_BLOCKS: u32 = 100_000;
const DEFAULT_TIMEOUT_NS: u64 = 30_000_000_000;
/// Names are part of file names, which have at most 255 bytes.
const MAX_NAME_CHARS: usize = 64;
/// What people try, and what to write instead.
const HINTS: &[(&str, &str)] = &[
    (
        "url",
        "a server of your own is [server] with `url`; a request of your own has a `path`, and `commute \
         init --curl 'curl URL'` writes one",
    ),
    (
        "host",
        "requests go to the server of the lab; `origin` tells several hosts apart",
    ),
    (
        "duration",
        "`for_s` makes requests for a time, `times` a number of them",
    ),
    (
        "file",
        "write `request` for the body to send, `response` for the one to receive",
    ),
];

impl Study {
    /// Parses and checks a study. The files that it names are beside `file`, which messages name, too.
    pub fn parse(file: &str, text: &str) -> Result<Study, ConfigError> {
        let base = Path::new(file).parent().unwrap_or(Path::new(""));
        Study::parse_with(file, text, &|path, limit| {
            read_file(&base.join(path), limit)
        })
    }

    /// Parses and checks a study; `file` is used in messages only, and `read` returns the content of the
    /// files that it names.
    pub fn parse_with(file: &str, text: &str, read: &ReadFile<'_>) -> Result<Study, ConfigError> {
        let source = Source::new(file, text).with_hints(HINTS);
        source.parse::<RawStudy>()?.check(&source, read)
    }

    /// Returns the JSON Schema of study files, for editors.
    pub fn file_schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(RawStudy).to_value();
        schema["title"] = "A study of commute".into();
        // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
        schema.sort_all_objects();
        schema
    }
}

/// A file that is at most half as long again is still of the same size class.
const MAX_VARY_PERCENT: f64 = 50.0;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawStudy {
    /// Lower-case letters, digits and dashes.
    #[schemars(with = "String")]
    name: Spanned<String>,
    /// The question, printed above the answer.
    question: String,
    /// Names from `commute networks`, or paths of TOML files relative to the study.
    #[schemars(with = "Vec<String>")]
    networks: Spanned<Vec<String>>,
    /// The arm that every other arm is compared with.
    #[schemars(with = "String")]
    baseline: Spanned<String>,
    /// Blocks per network; verdicts need at least 6.
    #[schemars(with = "u32")]
    blocks: Spanned<u32>,
    /// Random seed of the order of arms, the links and the messages.
    #[serde(default = "default_seed")]
    seed: u64,
    /// A request that takes longer is censored: seconds, or text such as "500ms"; 30 s by default.
    #[schemars(with = "Option<Seconds>")]
    timeout_s: Option<Spanned<Seconds>>,
    /// The largest difference that counts as no difference: milliseconds, or text; by default the larger of 2 ms and 5 %.
    #[schemars(with = "Option<Ms>")]
    margin_ms: Option<Spanned<Ms>>,
    /// The percentile, e.g. 95, of each group's requests that arms are also compared in.
    #[schemars(with = "Option<Percent>")]
    tail_percent: Option<Spanned<Percent>>,
    /// Exit with 3 if fewer of the planned cells end clean.
    #[schemars(with = "Option<Percent>")]
    min_clean_percent: Option<Spanned<Percent>>,
    /// By how much of its length, 0 to 50, a file differs from block to block.
    #[schemars(with = "Option<Percent>")]
    vary_percent: Option<Spanned<Percent>>,
    /// The default for arms that do not set their own.
    #[serde(default)]
    warmup_calls: u32,
    /// The default for arms that do not name their own.
    #[schemars(with = "Option<RawServer>")]
    server: Option<Spanned<RawServer>>,
    /// The default for arms that do not set their own.
    key: Option<Certificate>,
    /// Other hosts than the first, by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Placement>")]
    origins: RawOrigins,
    /// Each network at several levels: at most two settings, each with its values.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    sweep: RawSweep,
    /// The configurations that are compared.
    #[serde(default)]
    #[schemars(with = "Vec<RawArm>")]
    arm: Vec<Spanned<RawArm>>,
    /// What the app does, in order.
    #[serde(default)]
    #[schemars(with = "Vec<RawStep>")]
    step: Vec<Spanned<RawStep>>,
}

fn default_seed() -> u64 {
    1
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawArm {
    /// Unique in the study; stack and protocol by default.
    name: Option<String>,
    /// A driver's name: `commute stacks` lists them.
    stack: String,
    /// The protocol, or `auto`: as the client decides for each request.
    protocol: Protocol,
    /// Codec of exchanges, e.g. `msgpack` or `json+gzip-6`.
    codec: Option<Codec>,
    /// The server at the far end: `commute`, `go`, `envoy` or `envoy-l4`.
    server: Option<String>,
    /// What is wrong with HTTP/3 of the server, while TCP works.
    fault: Option<ServerFault>,
    /// How many later packets must be acknowledged before the server takes one for lost: at least 3.
    packet_threshold: Option<u32>,
    /// After how many round trips the server takes a packet for lost: above 1.
    time_threshold: Option<f64>,
    /// How the connection is secured.
    #[serde(default = "default_security")]
    security: Security,
    /// How every request proves who sends it.
    auth: Option<AuthScheme>,
    /// Congestion control of both ends: `cubic` or `bbr`.
    congestion: Option<String>,
    /// Kind of all keys.
    key: Option<Certificate>,
    /// Length of the server's certificate chain.
    #[serde(default)]
    chain: Chain,
    /// Requests to another origin that warm the runtime up; 0 is a cold process.
    warmup_calls: Option<u32>,
    /// `frame:60`: the application sees the end of a request at its next frame.
    observe: Option<String>,
    /// HTTP/3 is discovered instead of being forced.
    discovery: Option<Discovery>,
    /// How a client with `protocol = "auto"` decides.
    policy: Option<Policy>,
    /// Whether requests share connections.
    #[serde(default)]
    connections: Connections,
    /// New connections use the session tickets of the last one.
    #[serde(default)]
    resumption: bool,
    /// How the requests of a step with `times` follow each other: `sequential`, `paused:3000ms`, `parallel` or `first-alone`.
    #[serde(default)]
    #[schemars(with = "String")]
    access: Access,
    /// gRPC: the payload's bytes in each part of a submitted message.
    chunk_bytes: Option<Bytes>,
    /// Where all origins of the study are.
    origins: Option<ArmOrigins>,
}

fn percent(written: &Spanned<Percent>) -> f64 {
    (*written.get_ref()).into()
}

fn default_security() -> Security {
    Security::Tls
}

impl RawStudy {
    fn check(self, source: &Source<'_>, read: &ReadFile<'_>) -> Result<Study, ConfigError> {
        self.check_head(source)?;
        let external = self.external(source)?;
        let arms = self.checked_arms(source)?;
        let baseline = self.baseline_of(&arms, source)?;
        let names: Vec<&str> = (self.origins.keys())
            .map(|n| n.get_ref().as_str())
            .collect();
        let surroundings = Surroundings {
            origins: &names,
            files: PayloadFiles::new(read),
            external: external.is_some(),
            source,
        };
        let mut workload = (self.step.into_iter())
            .map(|raw| RawStep::check(raw, &surroundings))
            .collect::<Result<Vec<_>, _>>()?;
        origins::check(&self.origins, &workload, source)?;
        check_workload(&workload, &arms, &self.arm, source)?;
        if external.is_none() {
            own::for_lab_servers(&workload).map_err(|reason| source.error(&(0..0), reason))?;
        }
        for (arm, raw) in arms.iter().zip(&self.arm) {
            own::prepare(&mut workload, arm)
                .map_err(|e| source.error(&raw.span(), format!("arm `{}`: {e}", arm.name)))?;
        }
        let sweep = Sweep::check(self.sweep, source)?;
        check_levels(&sweep, &arms, &workload, &self.arm, source)?;
        if let Some(percent) = &self.tail_percent {
            tail::check(percent, &workload, source)?;
        }
        let mut study = Study {
            name: self.name.into_inner(),
            question: self.question,
            networks: self.networks.into_inner(),
            sweep,
            arms,
            baseline,
            blocks: self.blocks.into_inner(),
            seed: self.seed,
            timeout_ns: (self.timeout_s.as_ref()).map_or(Ok(DEFAULT_TIMEOUT_NS), |s| {
                to_ns(s, 1e9, "timeout_s", source)
            })?,
            margin_ns: (self.margin_ms.as_ref())
                .map(|ms| to_ns(ms, 1e6, "margin_ms", source))
                .transpose()?,
            tail_percent: self.tail_percent.as_ref().map(percent),
            min_clean_percent: self.min_clean_percent.as_ref().map(percent),
            vary_percent: self.vary_percent.as_ref().map_or(0.0, percent),
            payload_files: surroundings.files.into_files(),
            external: None,
            workload,
        };
        if let Some(server) = external {
            study.use_external(server);
        }
        Ok(study)
    }

    /// Returns the user's own server, if the study names one.
    fn external(&self, source: &Source<'_>) -> Result<Option<ExternalServer>, ConfigError> {
        let Some(server) = &self.server else {
            return Ok(None);
        };
        match server.get_ref() {
            RawServer::External(raw) => raw.check(source).map(Some),
            RawServer::Named(name) if ServerUrl::looks_like(name) => {
                let message =
                    format!("server: write a server of your own as [server] url = {name:?}");
                Err(source.error(&server.span(), message))
            }
            RawServer::Named(_) => Ok(None),
        }
    }

    /// Returns what is wrong with the server that an arm names.
    fn wrong_server(&self, arm: &RawArm) -> Option<String> {
        let name = arm.server.as_deref()?;
        let external = matches!(
            self.server.as_ref().map(Spanned::get_ref),
            Some(RawServer::External(_))
        );
        (external || ServerUrl::looks_like(name)).then(|| {
            "a server of your own, [server] with `url`, is every arm's; leave the arm's `server` out"
                .to_owned()
        })
    }

    /// Returns the name of the server of arms that name none.
    fn server_name(&self) -> String {
        match self.server.as_ref().map(Spanned::get_ref) {
            Some(RawServer::Named(name)) => name.clone(),
            // Replaced once the arms are checked.
            Some(RawServer::External(_)) | None => OWN_SERVER.to_owned(),
        }
    }

    /// Checks the keys that stand for themselves.
    fn check_head(&self, source: &Source<'_>) -> Result<(), ConfigError> {
        let name = self.name.get_ref();
        if name.is_empty() || *name != slug(name) {
            return Err(source.error(
                &self.name.span(),
                "name: use lower-case letters, digits and dashes",
            ));
        }
        if self.networks.get_ref().is_empty() {
            return Err(source.error(
                &self.networks.span(),
                "networks is empty, so the study has no cells; name at least one \
                 (`commute networks` lists them)",
            ));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = (self.networks.get_ref().iter()).find(|n| !seen.insert(*n)) {
            return Err(source.error(
                &self.networks.span(),
                format!("networks names `{twice}` twice"),
            ));
        }
        if *self.blocks.get_ref() > MAX_BLOCKS {
            return Err(source.error(
                &self.blocks.span(),
                format!("blocks is out of range: 1 to {MAX_BLOCKS}"),
            ));
        }
        if *self.blocks.get_ref() == 0 {
            return Err(source.error(
                &self.blocks.span(),
                "blocks = 0, so the study has no cells; 10 blocks give verdicts",
            ));
        }
        match &self.min_clean_percent {
            Some(p) if !(0.0..=100.0).contains(&percent(p)) => Err(source.error(
                &p.span(),
                format!(
                    "min_clean_percent = {} is out of range: 0 to 100",
                    percent(p)
                ),
            )),
            _ => self.check_vary(source),
        }
    }

    fn check_vary(&self, source: &Source<'_>) -> Result<(), ConfigError> {
        match &self.vary_percent {
            Some(p) if !(0.0..=MAX_VARY_PERCENT).contains(&percent(p)) => Err(source.error(
                &p.span(),
                format!(
                    "vary_percent = {} is out of range: 0 to {MAX_VARY_PERCENT}",
                    percent(p)
                ),
            )),
            _ => Ok(()),
        }
    }

    fn checked_arms(&self, source: &Source<'_>) -> Result<Vec<Arm>, ConfigError> {
        let mut arms: Vec<Arm> = Vec::new();
        for raw in &self.arm {
            let arm = raw.get_ref().to_arm(self);
            let wrong = self
                .wrong_server(raw.get_ref())
                .or_else(|| contradiction(&arm))
                .or_else(|| arm.not_with_its_server())
                .or_else(|| origins::contradiction(&arm));
            if let Some(e) = wrong {
                return Err(source.error(&raw.span(), format!("arm `{}`: {e}", arm.name)));
            }
            if arm.name.chars().count() > MAX_NAME_CHARS || arm.name.chars().any(char::is_control) {
                return Err(source.error(
                    &raw.span(),
                    format!(
                        "arm {:?}: a name has at most {MAX_NAME_CHARS} characters, none of them a control \
                         character",
                        arm.name
                    ),
                ));
            }
            let id = slug(&arm.name);
            if id.is_empty() || arms.iter().any(|a| slug(&a.name) == id) {
                return Err(source.error(
                    &raw.span(),
                    format!(
                        "arm `{}`: another arm has this name; give it its own `name`",
                        arm.name
                    ),
                ));
            }
            arms.push(arm);
        }
        if arms.is_empty() {
            return Err(source.error(&(0..0), "no [[arm]]: the study has no cells"));
        }
        Ok(arms)
    }

    fn baseline_of(&self, arms: &[Arm], source: &Source<'_>) -> Result<usize, ConfigError> {
        let wanted = self.baseline.get_ref();
        arms.iter().position(|a| a.name == *wanted).ok_or_else(|| {
            let hint = config::did_you_mean(wanted, arms.iter().map(|a| a.name.as_str()));
            source.error(
                &self.baseline.span(),
                format!("baseline `{wanted}` is not an arm of this study{hint}"),
            )
        })
    }
}

/// Checks that the workload has requests, is not too long, and uses the codecs that arms name.
fn check_workload(
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
fn check_levels(
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

impl RawArm {
    /// A default name shows another server than the study's.
    fn to_arm(&self, study: &RawStudy) -> Arm {
        let plain = Arm::plain(&self.stack, self.protocol);
        let name = match &self.server {
            Some(other) if *other != study.server_name() => {
                format!("{} ({other} server)", plain.name)
            }
            _ => plain.name,
        };
        Arm {
            name: self.name.clone().unwrap_or(name),
            codec: self.codec.clone().unwrap_or(plain.codec),
            server: (self.server.clone()).unwrap_or_else(|| study.server_name()),
            fault: self.fault,
            packet_threshold: self.packet_threshold,
            time_threshold: self.time_threshold,
            security: self.security,
            auth: self.auth,
            congestion: self.congestion.clone(),
            key: self.key.or(study.key),
            chain: self.chain,
            warmup_calls: self.warmup_calls.unwrap_or(study.warmup_calls),
            observe: self.observe.clone(),
            discovery: self.discovery,
            policy: self.policy,
            behaviour: Behaviour {
                connections: self.connections,
                resumption: self.resumption,
                access: self.access,
                chunk_bytes: self.chunk_bytes.map(u64::from),
            },
            origins: origins::of_arm(&study.origins, self.origins),
            stack: plain.stack,
            protocol: plain.protocol,
        }
    }
}

/// Returns what is wrong with an arm by itself.
fn contradiction(arm: &Arm) -> Option<String> {
    let codec = arm.codec.name();
    if let Err(e) = codec.parse::<wire::Codec>() {
        return Some(e.to_string());
    }
    let out_of_range = |round_trips: f64| !(round_trips > 1.0 && round_trips <= MAX_TIME_THRESHOLD);
    let too_few = |packets| packets < MIN_PACKET_THRESHOLD;
    let bad_frames = |observe: &str| frame_hz(observe).is_none();
    match arm.protocol {
        Protocol::Grpc if codec != "protobuf" => {
            Some("gRPC always uses Protobuf here; leave `codec` out".to_owned())
        }
        _ if arm.discovery.is_some() && !matches!(arm.protocol, Protocol::H3 | Protocol::Auto) => {
            Some(
                "`discovery` says how HTTP/3 is found; use it with protocol = \"h3\" or \"auto\""
                    .to_owned(),
            )
        }
        _ if arm.policy.is_some() && arm.protocol != Protocol::Auto => Some(
            "`policy` says how a client decides; use it with protocol = \"auto\"".to_owned(),
        ),
        _ if arm.protocol != Protocol::H3
            && (arm.packet_threshold.is_some() || arm.time_threshold.is_some()) =>
        {
            Some(
                "`packet_threshold` and `time_threshold` are QUIC's; use them with \
                 protocol = \"h3\""
                    .to_owned(),
            )
        }
        _ if arm.time_threshold.is_some_and(out_of_range) => {
            Some("time_threshold: above 1, and at most 10 round trips".to_owned())
        }
        _ if arm.packet_threshold.is_some_and(too_few) => Some(format!(
            "packet_threshold: at least {MIN_PACKET_THRESHOLD}, the default of QUIC"
        )),
        _ if arm.observe.as_deref().is_some_and(bad_frames) => {
            Some("observe: write e.g. \"frame:60\", with 1 to 1000 frames per second".to_owned())
        }
        Protocol::H2 | Protocol::H3 | Protocol::Auto if arm.security == Security::None => Some(
            "security = \"none\" is for h1 and grpc only: no client has HTTP/2 or HTTP/3 without TLS"
                .to_owned(),
        ),
        _ if arm.behaviour.chunk_bytes.is_some() && arm.protocol != Protocol::Grpc => {
            Some("`chunk_bytes` is for gRPC's streams; use it with protocol = \"grpc\"".to_owned())
        }
        _ if arm.behaviour.chunk_bytes == Some(0) => {
            Some("chunk_bytes = 0; at least 1".to_owned())
        }
        _ if arm.warmup_calls > MAX_WARMUP_CALLS => Some(format!(
            "warmup_calls = {}; at most {MAX_WARMUP_CALLS}",
            arm.warmup_calls
        )),
        _ => None,
    }
}

/// The frames per second of `frame:HZ`.
fn frame_hz(observe: &str) -> Option<u32> {
    let hz = observe.strip_prefix("frame:")?.parse().ok()?;
    (1..=1000).contains(&hz).then_some(hz)
}

#[cfg(test)]
mod tests;
