//! The codec bench beside claims: what `commute codec --format json` measured, and how it answers them.

use std::path::Path;

use config::{ConfigError, Source};
use report::{Bound, Method, Quantity, Unit};
use serde::Deserialize;
use toml::Spanned;

use crate::claims::{Expect, NEAR, Size};
use crate::outcome::Outcome;
use crate::run::{date, short};
use crate::words::version;
use crate::{FindingsError, known, read};

/// The file that is kept of the bench, in the study's folder.
pub(crate) const FILE: &str = "codec.json";

/// The coverage of the bench's intervals.
const COVERAGE: f64 = 0.95;

/// The least coverage of a factor between the ends of two such intervals.
const COVERAGE_OF_FACTORS: f64 = 0.90;

/// A comparison of two codecs in one runtime, and what the claim expects of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodecQuestion {
    /// The message, e.g. `newsfeed`.
    pub(crate) message: Spanned<String>,
    /// The runtime, e.g. `jvm`.
    pub(crate) runtime: Spanned<String>,
    /// What is timed.
    pub(crate) part: Part,
    /// The codec that the claim is about.
    pub(crate) arm: Spanned<String>,
    /// Its library, as the bench names it.
    pub(crate) library: Spanned<String>,
    /// The codec that it is compared with.
    pub(crate) against: Spanned<String>,
    /// Its library.
    pub(crate) against_library: Spanned<String>,
    /// Whether the claim expects the arm to be faster or slower.
    pub(crate) expect: Spanned<Expect>,
    /// The smallest factor in the expected direction that the claim allows.
    pub(crate) at_least: Option<f64>,
    /// The published factor, by its name in `figures`, to which the claim's is near.
    pub(crate) near: Option<Spanned<String>>,
}

/// What the bench times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    /// From the library's objects to bytes.
    Encode,
    /// From bytes to the library's objects.
    Decode,
}

/// What is kept of the bench.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bench {
    /// The version of commute.
    commute: String,
    /// Its git commit; absent when unknown.
    git: Option<String>,
    /// When it began.
    started_unix_ns: u64,
    /// The machine in words.
    pub(crate) machine: String,
    /// The command that measures it again.
    pub(crate) command: String,
    /// The check against itself, if everything was measured twice.
    pub(crate) aa: Option<Twice>,
    rows: Vec<Row>,
}

/// How many figures were measured twice, and how many of them agree.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Twice {
    pub(crate) pairs: usize,
    pub(crate) agreeing: usize,
}

#[derive(Clone, Debug, Deserialize)]
struct Row {
    message: String,
    codec: String,
    runtime: String,
    library: String,
    encode: Option<Cost>,
    decode: Option<Cost>,
}

/// The time of one operation: a median with its interval.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Cost {
    ns: f64,
    low_ns: f64,
    high_ns: f64,
    samples: usize,
}

/// What the bench answers to a question.
pub(crate) struct CodecAnswer<'a> {
    pub(crate) question: &'a CodecQuestion,
    pub(crate) arm: Quantity,
    pub(crate) against: Quantity,
    /// How many times as fast the arm is, between the ends that both intervals allow.
    pub(crate) speedup: Quantity,
    /// The factors that the claim allows.
    pub(crate) size: Size,
    pub(crate) outcome: Outcome,
}

impl Part {
    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Encode => "encode",
            Part::Decode => "decode",
        }
    }
}

impl Bench {
    /// Reads the bench of a study in its folder. `None` if it was not run.
    pub(crate) fn read(dir: &Path, study: &str) -> Result<Option<Bench>, FindingsError> {
        let file = dir.join(FILE);
        if !file.exists() {
            return Ok(None);
        }
        let bench: Bench =
            serde_json::from_str(&read(&file)?).map_err(|e| FindingsError::Data {
                file: format!("{study}/{FILE}"),
                message: e.to_string(),
            })?;
        Ok(Some(bench))
    }

    /// Returns the day on which it began, in UTC.
    pub(crate) fn date(&self) -> String {
        date(self.started_unix_ns)
    }

    /// Returns the version of commute and its commit.
    pub(crate) fn version(&self) -> String {
        let commits: Vec<String> = self.git.iter().map(|git| short(git)).collect();
        version(&self.commute, &commits)
    }

    /// Returns the samples of the figure that has fewest.
    pub(crate) fn fewest_samples(&self) -> usize {
        let costs = self.rows.iter().flat_map(|row| [row.encode, row.decode]);
        let samples = costs.flatten().map(|cost| cost.samples);
        samples.min().unwrap_or(0)
    }

    /// Checks that it has the figures of a question.
    pub(crate) fn check(
        &self,
        question: &CodecQuestion,
        source: &Source<'_>,
    ) -> Result<(), ConfigError> {
        let rows = self.rows.iter();
        known(
            source,
            "message",
            &question.message,
            rows.clone().map(|row| row.message.as_str()),
        )?;
        let runtimes = rows.clone().map(|row| row.runtime.as_str());
        known(source, "runtime", &question.runtime, runtimes)?;
        for (codec, library) in question.codecs() {
            let codecs = rows.clone().map(|row| row.codec.as_str());
            known(source, "codec", codec, codecs)?;
            let libraries = rows.clone().filter(|row| {
                row.runtime == *question.runtime.as_ref() && row.codec == *codec.as_ref()
            });
            known(
                source,
                "library",
                library,
                libraries.map(|row| row.library.as_str()),
            )?;
            if self.cost(question, codec, library).is_none() {
                let message = format!(
                    "{FILE} has no such figure of `{}`",
                    question.message.as_ref()
                );
                return Err(source.error(&codec.span(), message));
            }
        }
        Ok(())
    }

    /// Returns what it answers to a question. `None` if it lacks a figure.
    pub(crate) fn answer<'a>(
        &self,
        question: &'a CodecQuestion,
        size: Size,
    ) -> Option<CodecAnswer<'a>> {
        let [arm, against] = question
            .codecs()
            .map(|(codec, library)| self.cost(question, codec, library));
        let (arm, against) = (arm?, against?);
        let (low, high) = (against.low_ns / arm.high_ns, against.high_ns / arm.low_ns);
        let factor = quantity(
            against.ns / arm.ns,
            (low, high),
            COVERAGE_OF_FACTORS,
            Unit::Factor,
            arm.samples.min(against.samples),
        );
        Some(CodecAnswer {
            question,
            arm: arm.quantity(),
            against: against.quantity(),
            speedup: factor,
            size,
            outcome: Outcome::of_factor(*question.expect.as_ref(), size, (low, high)),
        })
    }

    fn cost(
        &self,
        question: &CodecQuestion,
        codec: &Spanned<String>,
        library: &Spanned<String>,
    ) -> Option<Cost> {
        let mut rows = self.rows.iter();
        let row = rows.find(|row| {
            row.message == *question.message.as_ref()
                && row.runtime == *question.runtime.as_ref()
                && row.codec == *codec.as_ref()
                && row.library == *library.as_ref()
        })?;
        let cost = match question.part {
            Part::Encode => row.encode,
            Part::Decode => row.decode,
        };
        // Below the cost of the loop nothing is known.
        cost.filter(|cost| cost.low_ns > 0.0)
    }
}

impl CodecQuestion {
    /// Returns the word for what the claim expects.
    pub(crate) fn direction(&self) -> &'static str {
        match self.expect.as_ref() {
            Expect::Slower => "slower",
            _ => "faster",
        }
    }

    /// Checks that the rule is whole.
    pub(crate) fn check(&self, source: &Source<'_>) -> Result<(), ConfigError> {
        match self.expect.as_ref() {
            Expect::Faster | Expect::Slower => Ok(()),
            Expect::NoDifference | Expect::Within => Err(source.error(
                &self.expect.span(),
                "of a codec a claim expects that it is `faster` or `slower`",
            )),
        }
    }

    /// Returns the factors that the claim allows, given the published factor that `near` names.
    pub(crate) fn size(&self, near: Option<f64>) -> Size {
        match near {
            Some(factor) => Some((factor / NEAR, factor * NEAR)),
            None => self.at_least.map(|least| (least, f64::INFINITY)),
        }
    }

    /// Returns both codecs with their libraries, that of the claim first.
    pub(crate) fn codecs(&self) -> [(&Spanned<String>, &Spanned<String>); 2] {
        [
            (&self.arm, &self.library),
            (&self.against, &self.against_library),
        ]
    }
}

impl Cost {
    fn quantity(self) -> Quantity {
        let ends = (self.low_ns, self.high_ns);
        quantity(self.ns, ends, COVERAGE, Unit::Ns, self.samples)
    }
}

fn quantity(
    value: f64,
    (low, high): (f64, f64),
    coverage: f64,
    unit: Unit,
    samples: usize,
) -> Quantity {
    Quantity {
        value: Some(value),
        bound: Bound::Exact,
        low: Some(low),
        high: Some(high),
        coverage,
        interval: Method::OrderStatistics,
        blocks: samples,
        unit,
    }
}
