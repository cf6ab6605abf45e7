//! The cross-language matrix: whether every language reads what every other writes.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Part;
use crate::bench::{Bench, Case, EMPTY, Exactness, Progress};
use crate::runner::{Runner, RunnerError};
use crate::table::Unavailable;

/// The results of all pairs of a writer and a reader.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Matrix {
    /// The counts of each codec.
    pub codecs: BTreeMap<String, Counts>,
    /// The runtimes that took part, with their versions.
    pub runtimes: Vec<String>,
    /// The runtimes that did not, with the reasons.
    pub unavailable: Vec<Unavailable>,
    /// Every pair that failed.
    pub failures: Vec<Failure>,
    /// Messages that a writer does not support, with the reasons.
    pub unsupported: Vec<Failure>,
}

/// The results of one codec's pairs, over all messages.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counts {
    /// Libraries that write it.
    pub writers: usize,
    /// Libraries that read it.
    pub readers: usize,
    /// Pairs whose value survived bit for bit.
    pub equal: usize,
    /// Pairs whose writer or reader declares that it loses digits, and where all else survived.
    pub lossy: usize,
    /// Refusals by a reader that declares that it refuses valid bytes of others.
    pub rejects_valid: usize,
    /// Pairs that failed.
    pub failed: usize,
}

/// A pair that failed or was not tried.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The message's name.
    pub message: String,
    /// The codec's name.
    pub codec: String,
    /// The writer's runtime and library.
    pub writer: String,
    /// The reader's runtime and library; empty if the writer failed.
    pub reader: String,
    /// What went wrong, e.g. the first line of the value that differs.
    pub error: String,
}

impl Matrix {
    /// Returns whether no pair failed and at least one was equal.
    pub fn is_green(&self) -> bool {
        self.failures.is_empty() && self.codecs.values().any(|counts| counts.equal > 0)
    }

    /// Formats a line per codec, then the failures.
    pub fn text(&self) -> String {
        let mut out = format!("runtimes: {}\n", self.runtimes.join(", "));
        for (codec, counts) in &self.codecs {
            let Counts {
                writers,
                readers,
                equal,
                lossy,
                rejects_valid,
                failed,
            } = counts;
            out += &format!(
                "{codec:16} {writers:2} writers x {readers:2} readers: {equal} equal bit for bit"
            );
            if *lossy > 0 {
                out += &format!(", {lossy} equal except for digits that one side loses");
            }
            if *rejects_valid > 0 {
                out += &format!(", {rejects_valid} refused by a reader that declares it");
            }
            if *failed > 0 {
                out += &format!(", {failed} FAILED");
            }
            out.push('\n');
        }
        for failure in &self.failures {
            out += &format!("FAILED {failure}\n");
        }
        for failure in &self.unsupported {
            out += &format!("not tried: {failure}\n");
        }
        for Unavailable { runtime, reason } in &self.unavailable {
            out += &format!("not available: {runtime}: {reason}\n");
        }
        out
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            message,
            codec,
            writer,
            reader,
            error,
        } = self;
        match reader.as_str() {
            "" => write!(f, "{message}, {codec} written by {writer}: {error}"),
            _ => write!(
                f,
                "{message}, {codec} written by {writer}, read by {reader}: {error}"
            ),
        }
    }
}

impl Bench {
    /// Makes every library encode every message in every codec, and every library decode the
    /// results.
    pub fn matrix(mut self, progress: &mut dyn Progress) -> Result<Matrix, RunnerError> {
        let runtime = |r: &Runner| format!("{} {}", r.runtime(), r.runtime_version());
        let mut matrix = Matrix {
            runtimes: self.runners.iter().map(runtime).collect(),
            unavailable: std::mem::take(&mut self.unavailable),
            ..Matrix::default()
        };
        let mut groups: BTreeMap<(String, usize), Vec<Case>> = BTreeMap::new();
        for case in self.cases() {
            if case.entry.codec != EMPTY {
                let group = (case.entry.codec.clone(), case.message);
                groups.entry(group).or_default().push(case);
            }
        }
        progress.begin("reading each other's encodings", groups.len());
        for (done, ((codec, _), cases)) in groups.iter().enumerate() {
            if !progress.step(done) {
                break;
            }
            let having = |part| cases.iter().filter(|p| p.entry.has(part)).count();
            let counts = matrix.codecs.entry(codec.clone()).or_default();
            (counts.writers, counts.readers) = (having(Part::Encode), having(Part::Decode));
            self.exchange(cases, &mut matrix)?;
        }
        Ok(matrix)
    }

    /// Checks one message in one codec: every runtime that supports it encodes, and every one
    /// decodes all encodings.
    fn exchange(&mut self, cases: &[Case], matrix: &mut Matrix) -> Result<(), RunnerError> {
        let mut written: Vec<&Case> = Vec::new();
        for writer in cases.iter().filter(|p| p.entry.has(Part::Encode)) {
            let Err(error) = self.write(writer) else {
                written.push(writer);
                continue;
            };
            let failure = self.failure(writer, None, &error);
            match error {
                RunnerError::Unsupported { .. } => matrix.unsupported.push(failure),
                _ => matrix.failures.push(failure),
            }
            self.restart_after(&error, writer)?;
        }
        for reader in cases.iter().filter(|p| p.entry.has(Part::Decode)) {
            for writer in &written {
                let exactness = reader.exactness().max(writer.exactness());
                let outcome = self.read(reader, &writer.encoded, exactness);
                let own = reader.encoded == writer.encoded;
                let counts = matrix.codecs.entry(reader.entry.codec.clone());
                let counts = counts.or_default();
                match outcome {
                    Ok(()) if exactness == Exactness::Digits => counts.lossy += 1,
                    Ok(()) => counts.equal += 1,
                    Err(RunnerError::Unsupported { .. }) => {}
                    Err(RunnerError::Refused(_))
                        if reader.entry.rejects_valid.is_some() && !own =>
                    {
                        counts.rejects_valid += 1;
                    }
                    Err(error) => {
                        counts.failed += 1;
                        let failure = self.failure(writer, Some(reader), &error);
                        matrix.failures.push(failure);
                        self.restart_after(&error, reader)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn failure(&self, writer: &Case, reader: Option<&Case>, error: &RunnerError) -> Failure {
        let name = |case: &Case| {
            let runtime = self.runners[case.runner].runtime();
            format!("{runtime} {}", case.entry.library)
        };
        Failure {
            message: self.messages[writer.message].name.to_string(),
            codec: writer.entry.codec.clone(),
            writer: name(writer),
            reader: reader.map_or(String::new(), name),
            error: error.to_string(),
        }
    }
}
