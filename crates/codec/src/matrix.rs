//! Does every language read what every other writes, to the same value?

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bench::{Bench, EMPTY, Exactness, Place, Progress};
use crate::protocol::Part;
use crate::runner::{Runner, RunnerError};
use crate::table::Absent;

/// The outcome of all pairs of a writer and a reader.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Matrix {
    /// By codec.
    pub codecs: BTreeMap<String, Counts>,
    /// Runtimes that took part.
    pub runtimes: Vec<String>,
    /// Runtimes that could not be had.
    pub absent: Vec<Absent>,
    /// Every pair that failed.
    pub failures: Vec<Failure>,
    /// What a message could not be tried with, and why.
    pub unsupported: Vec<Failure>,
}

/// How the pairs of one codec ended.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counts {
    /// Libraries that write it.
    pub writers: usize,
    /// Libraries that read it.
    pub readers: usize,
    /// Pairs whose value came through to the bit, over all messages.
    pub equal: usize,
    /// Pairs whose writer or reader says that it loses digits: all else came through.
    pub lossy: usize,
    /// Refusals by a reader that says it refuses what others write; its own it must read.
    pub rejects_valid: usize,
    /// Pairs that failed.
    pub failed: usize,
}

/// A pair that failed, or could not be tried.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Which message.
    pub message: String,
    /// In which codec.
    pub codec: String,
    /// Runtime and library.
    pub writer: String,
    /// Runtime and library; empty when the writer was the trouble.
    pub reader: String,
    /// What happened.
    pub what: String,
}

impl Matrix {
    /// Every pair that was tried is equal, and something was tried.
    pub fn is_green(&self) -> bool {
        self.failures.is_empty() && self.codecs.values().any(|counts| counts.equal > 0)
    }

    /// A line a codec, then the failures.
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
                "{codec:16} {writers:2} writers x {readers:2} readers: {equal} equal to the bit"
            );
            if *lossy > 0 {
                out += &format!(", {lossy} equal but for digits that one side loses");
            }
            if *rejects_valid > 0 {
                out += &format!(", {rejects_valid} refused by a reader known for it");
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
        for Absent { runtime, reason } in &self.absent {
            out += &format!("absent: {runtime}: {reason}\n");
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
            what,
        } = self;
        match reader.as_str() {
            "" => write!(f, "{message}, {codec} written by {writer}: {what}"),
            _ => write!(
                f,
                "{message}, {codec} written by {writer}, read by {reader}: {what}"
            ),
        }
    }
}

impl Bench {
    /// Has every writer write and every reader read every message in every codec.
    pub fn matrix(mut self, progress: &mut dyn Progress) -> Result<Matrix, RunnerError> {
        let runtime = |r: &Runner| format!("{} {}", r.runtime(), r.runtime_version());
        let mut matrix = Matrix {
            runtimes: self.runners.iter().map(runtime).collect(),
            absent: std::mem::take(&mut self.absent),
            ..Matrix::default()
        };
        let mut tables: BTreeMap<(String, usize), Vec<Place>> = BTreeMap::new();
        for place in self.places() {
            if place.entry.codec != EMPTY {
                let table = (place.entry.codec.clone(), place.message);
                tables.entry(table).or_default().push(place);
            }
        }
        progress.begin("reading one another", tables.len());
        for (done, ((codec, _), places)) in tables.iter().enumerate() {
            if !progress.step(done) {
                break;
            }
            let having = |part| places.iter().filter(|p| p.entry.has(part)).count();
            let counts = matrix.codecs.entry(codec.clone()).or_default();
            (counts.writers, counts.readers) = (having(Part::Encode), having(Part::Decode));
            self.exchange(places, &mut matrix)?;
        }
        Ok(matrix)
    }

    /// One message in one codec: whoever can writes it, whoever can reads all that was written.
    fn exchange(&mut self, places: &[Place], matrix: &mut Matrix) -> Result<(), RunnerError> {
        let mut written: Vec<&Place> = Vec::new();
        for writer in places.iter().filter(|p| p.entry.has(Part::Encode)) {
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
        for reader in places.iter().filter(|p| p.entry.has(Part::Decode)) {
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

    fn failure(&self, writer: &Place, reader: Option<&Place>, error: &RunnerError) -> Failure {
        let name = |place: &Place| {
            let runtime = self.runners[place.runner].runtime();
            format!("{runtime} {}", place.entry.library)
        };
        Failure {
            message: self.messages[writer.message].name.to_string(),
            codec: writer.entry.codec.clone(),
            writer: name(writer),
            reader: reader.map_or(String::new(), name),
            what: error.to_string(),
        }
    }
}
