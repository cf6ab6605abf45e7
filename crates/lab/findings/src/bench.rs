//! The codec bench beside claims: what `commute codec --format json` measured, and how it answers them.

use std::path::Path;

use config::{ConfigError, Source};
use report::{Bound, Method, Quantity, Unit};
use serde::Deserialize;
use toml::Spanned;

use crate::codec_question::{CodecQuestion, Part, Per};
use crate::expect::Size;
use crate::outcome::Outcome;
use crate::run::{date, short};
use crate::words::version;
use crate::{FindingsError, known, read};

/// The file that is kept of the bench, in the study's folder.
pub(crate) const FILE: &str = "codec.json";

/// The coverage of the bench's intervals.
pub(crate) const COVERAGE: f64 = 0.95;

/// The least coverage of a factor between the ends of two such intervals.
pub(crate) const COVERAGE_OF_FACTORS: f64 = 2.0 * COVERAGE - 1.0;

/// The fewest samples that have an interval of this coverage.
const FEWEST_SAMPLES: usize = 6;

/// What is kept of the bench.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bench {
    /// The version of commute.
    commute: String,
    /// The commit of the checkout that it ran from; absent without one.
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

/// How many figures were measured twice, and of how many the interval of the difference covers zero.
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
    bytes: Option<u64>,
    encode: Option<Cost>,
    decode: Option<Cost>,
}

/// The time of an operation: a median with its interval.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Cost {
    ns: f64,
    low_ns: f64,
    high_ns: f64,
    samples: usize,
    /// How many of the samples are noisy.
    noisy: usize,
}

/// What the bench answers to a question.
pub(crate) struct CodecAnswer<'a> {
    pub(crate) question: &'a CodecQuestion,
    pub(crate) arm: Quantity,
    pub(crate) arm_bytes: u64,
    pub(crate) against: Quantity,
    pub(crate) against_bytes: u64,
    /// How many times as fast the arm is, between the ends that both intervals allow.
    pub(crate) speedup: Quantity,
    /// The factors that the claim allows.
    pub(crate) size: Size,
    pub(crate) outcome: Outcome,
}

impl Bench {
    /// Reads the bench of a study in its folder. `None` if it was not run.
    pub(crate) fn read(dir: &Path, study: &str) -> Result<Option<Bench>, FindingsError> {
        let file = dir.join(FILE);
        if !file.exists() {
            return Ok(None);
        }
        let error = |message: String| FindingsError::Data {
            file: format!("{study}/{FILE}"),
            message,
        };
        let bench: Bench = serde_json::from_str(&read(&file)?).map_err(|e| error(e.to_string()))?;
        for row in &bench.rows {
            if [row.encode, row.decode]
                .iter()
                .flatten()
                .any(|cost| !cost.is_sound())
            {
                return Err(error(format!(
                    "{} by {} in {}, {}: a median lies within its interval and has {FEWEST_SAMPLES} samples or more",
                    row.message, row.codec, row.runtime, row.library
                )));
            }
        }
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

    /// Checks that it has the figures of a question, and that they can be used.
    pub(crate) fn check(
        &self,
        question: &CodecQuestion,
        source: &Source<'_>,
    ) -> Result<(), ConfigError> {
        let rows = || self.rows.iter();
        let messages = rows().map(|row| row.message.as_str());
        known(source, "message", &question.message, messages)?;
        let runtimes = rows().map(|row| row.runtime.as_str());
        known(source, "runtime", &question.runtime, runtimes)?;
        let of_runtime = || rows().filter(|row| row.runtime == *question.runtime.as_ref());
        for (codec, library) in question.codecs() {
            let codecs = of_runtime().map(|row| row.codec.as_str());
            known(source, "codec", codec, codecs)?;
            let of_codec = of_runtime().filter(|row| row.codec == *codec.as_ref());
            let libraries = of_codec.map(|row| row.library.as_str());
            known(source, "library", library, libraries)?;
            let missing = match self.cost(question, codec, library) {
                Some((cost, _)) if cost.low_ns <= 0.0 => "a figure below the cost of the loop",
                Some((cost, _)) if cost.noisy > 0 => "noisy samples",
                Some(_) => continue,
                None => "no such figure",
            };
            let message = format!("{FILE} has {missing} of `{}`", question.message.as_ref());
            return Err(source.error(&codec.span(), message));
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
        let ((arm, arm_bytes), (against, against_bytes)) = (arm?, against?);
        let of_bytes = match question.per {
            Per::Message => 1.0,
            Per::Byte => arm_bytes as f64 / against_bytes as f64,
        };
        let ends = (
            of_bytes * against.low_ns / arm.high_ns,
            of_bytes * against.high_ns / arm.low_ns,
        );
        Some(CodecAnswer {
            question,
            arm: arm.quantity(),
            arm_bytes,
            against: against.quantity(),
            against_bytes,
            speedup: quantity(
                of_bytes * against.ns / arm.ns,
                ends,
                COVERAGE_OF_FACTORS,
                Unit::Factor,
                arm.samples.min(against.samples),
            ),
            size,
            outcome: Outcome::of_factor(*question.expect.as_ref(), size, ends),
        })
    }

    /// Returns a codec's time and the length of its encoding.
    fn cost(
        &self,
        question: &CodecQuestion,
        codec: &Spanned<String>,
        library: &Spanned<String>,
    ) -> Option<(Cost, u64)> {
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
        cost.zip(row.bytes.filter(|&bytes| bytes > 0))
    }
}

impl Cost {
    fn is_sound(&self) -> bool {
        let is_ordered = 0.0 <= self.low_ns && self.low_ns <= self.ns && self.ns <= self.high_ns;
        is_ordered && self.high_ns.is_finite() && self.samples >= FEWEST_SAMPLES
    }

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
