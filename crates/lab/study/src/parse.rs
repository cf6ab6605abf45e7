//! Parses a study and reports every mistake with its line.

mod arm;
mod suitability;
mod tail;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use config::{ConfigError, Ms, Percent, Seconds, Source};
use driver::manifest::{Certificate, OWN_SERVER};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::external::{ExternalServer, RawServer, ServerUrl};
use super::moves::{self, RawMove};
use super::origins::{self, Placement, RawOrigins};
use super::own::{self, PayloadFiles, ReadFile};
use super::steps::{RawStep, Surroundings};
use super::sweep::{RawSweep, Sweep};
use super::units::to_ns;
use super::{Arm, ArmRole, Study};
use crate::slug::slug;
use arm::{RawArm, contradiction};

/// Hints for keys of other tables. TOML takes a key below a table for one of that table.
const OF_STEP: &str =
    "it is a key of a [[step]]; write it below one, e.g. headers = { accept = \"*/*\" }";
const OF_ARM: &str = "it is a key of an [[arm]]; write it below one";
/// Some weeks of cells; the plan is kept in memory.
const MAX_BLOCKS: u32 = 100_000;
const DEFAULT_TIMEOUT_NS: u64 = 30_000_000_000;
/// A file that is at most half as long again is still of the same size class.
const MAX_VARY_PERCENT: f64 = 50.0;
/// Names are part of file names, which have at most 255 bytes.
const MAX_NAME_CHARS: usize = 64;
/// What people try, and what to write instead.
const HINTS: &[(&str, &str)] = &[
    ("headers", OF_STEP),
    ("path", OF_STEP),
    ("method", OF_STEP),
    ("request", OF_STEP),
    ("response", OF_STEP),
    ("times", OF_STEP),
    ("call", OF_STEP),
    ("get", OF_STEP),
    ("put", OF_STEP),
    ("stack", OF_ARM),
    ("protocol", OF_ARM),
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
    /// Parses and checks a study that names no files; `file` is used in messages only.
    pub fn parse(file: &str, text: &str) -> Result<Study, ConfigError> {
        let none =
            |_: &str, _: u64| Err(io::Error::other("files of this study cannot be read here"));
        Study::parse_with(file, text, &none)
    }

    /// Parses and checks a study; `file` is used in messages only, and `read` returns the content of the
    /// files that it names.
    pub fn parse_with(file: &str, text: &str, read: &ReadFile<'_>) -> Result<Study, ConfigError> {
        let source = Source::new(file, text).with_hints(HINTS);
        source.parse::<RawStudy>()?.check(&source, read)
    }

    /// Checks that a text is TOML with the keys of a study, and values of their types.
    pub fn check_keys(file: &str, text: &str) -> Result<(), ConfigError> {
        Source::new(file, text).parse::<RawStudy>().map(drop)
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
    /// By how much of its length, 0 to 50, a file or made-up body differs from block to block.
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
    /// When the phone gets other addresses meanwhile.
    #[serde(default, rename = "move")]
    #[schemars(with = "Vec<RawMove>")]
    moves: Vec<Spanned<RawMove>>,
}

fn default_seed() -> u64 {
    1
}

fn percent(written: &Spanned<Percent>) -> f64 {
    (*written.get_ref()).into()
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
            own_requests: RefCell::default(),
            source,
        };
        let mut workload = (self.step.into_iter())
            .map(|raw| RawStep::check(raw, &surroundings))
            .collect::<Result<Vec<_>, _>>()?;
        origins::check(&self.origins, &workload, source)?;
        suitability::check_workload(&workload, &arms, &self.arm, source)?;
        let moves = moves::check(&self.moves, external.is_some(), &workload, source)?;
        for (arm, raw) in arms.iter().zip(&self.arm) {
            own::prepare(&mut workload, arm)
                .map_err(|e| source.error(&raw.span(), format!("arm `{}`: {e}", arm.name)))?;
        }
        let sweep = Sweep::check(self.sweep, source)?;
        suitability::check_levels(&sweep, &arms, &workload, &self.arm, source)?;
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
            not_for_lab: own::not_for_lab(&surroundings.own_requests.borrow(), source),
            workload,
            moves,
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
            let wrong = (raw.get_ref())
                .wrong_server(self)
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
        let error = |message| Err(source.error(&self.baseline.span(), message));
        let Some(index) = arms.iter().position(|a| a.name == *wanted) else {
            let hint = config::did_you_mean(wanted, arms.iter().map(|a| a.name.as_str()));
            return error(format!(
                "baseline `{wanted}` is not an arm of this study{hint}"
            ));
        };
        match arms[index].role {
            ArmRole::Candidate => Ok(index),
            role => error(format!(
                "baseline `{wanted}` has the role `{}`; it is recommended where no arm is faster, so that it is a \
                 candidate",
                role.name()
            )),
        }
    }
}

#[cfg(test)]
mod tests;
