//! Does every language read what every other writes, to the same value?

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::bench::{Bench, EMPTY, Progress, live, same_value};
use crate::protocol::Part;
use crate::runner::{RunnerError, Subject};
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
    /// Pairs whose writer or reader says that it is lossy: only that it is read was tried.
    pub lossy: usize,
    /// Refusals by a reader that says it refuses what others write; its own it must read.
    pub narrow: usize,
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
                narrow,
                failed,
            } = counts;
            out += &format!(
                "{codec:16} {writers:2} writers x {readers:2} readers: {equal} equal to the bit"
            );
            if *lossy > 0 {
                out += &format!(", {lossy} with a lossy side");
            }
            if *narrow > 0 {
                out += &format!(", {narrow} refused by a reader known for it");
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

/// A codec of a runner, by their places.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Side {
    runner: usize,
    entry: usize,
}

/// What one writer made.
struct Written {
    side: Side,
    by: String,
    lossy: bool,
    file: PathBuf,
}

/// What one reader made of it.
struct Reading {
    by: String,
    lossy: bool,
    narrow: bool,
    outcome: Result<(), RunnerError>,
}

impl Bench {
    /// Has every writer write and every reader read every message in every codec.
    pub fn matrix(mut self, progress: &mut dyn Progress) -> Result<Matrix, RunnerError> {
        let mut matrix = Matrix {
            runtimes: self
                .runners
                .iter()
                .flatten()
                .map(|r| format!("{} {}", r.runtime(), r.runtime_version()))
                .collect(),
            absent: std::mem::take(&mut self.absent),
            ..Matrix::default()
        };
        let codecs = self.sides();
        progress.begin("reading one another", codecs.len() * self.messages.len());
        let mut done = 0;
        for (codec, sides) in &codecs {
            let counts = matrix.codecs.entry(codec.clone()).or_default();
            counts.writers = self.count(sides, Part::Encode);
            counts.readers = self.count(sides, Part::Decode);
            for message in 0..self.messages.len() {
                if !progress.step(done) {
                    return Ok(matrix);
                }
                done += 1;
                self.exchange(codec, sides, message, &mut matrix)?;
            }
        }
        Ok(matrix)
    }

    /// All codecs, each with whoever has it.
    fn sides(&self) -> BTreeMap<String, Vec<Side>> {
        let mut sides: BTreeMap<String, Vec<Side>> = BTreeMap::new();
        for (runner, running) in self.runners.iter().enumerate() {
            let codecs = running.iter().flat_map(|r| r.codecs().iter().enumerate());
            for (entry, codec) in codecs {
                if codec.codec != EMPTY && self.wanted(&codec.codec) {
                    let side = Side { runner, entry };
                    sides.entry(codec.codec.clone()).or_default().push(side);
                }
            }
        }
        sides
    }

    fn count(&self, sides: &[Side], part: Part) -> usize {
        let has = |side: &&Side| {
            let runner = self.runners[side.runner].as_ref();
            runner.is_some_and(|r| r.codecs()[side.entry].has(part))
        };
        sides.iter().filter(has).count()
    }

    fn exchange(
        &mut self,
        codec: &str,
        sides: &[Side],
        message: usize,
        matrix: &mut Matrix,
    ) -> Result<(), RunnerError> {
        let name = self.messages[message].name.to_string();
        let mut written: Vec<Written> = Vec::new();
        for side in sides {
            let failure = |writer: String, what: String| Failure {
                message: name.clone(),
                codec: codec.to_owned(),
                writer,
                reader: String::new(),
                what,
            };
            match self.write(*side, message, written.len()) {
                Ok(Some(one)) => written.push(one),
                Ok(None) => {}
                Err((by, error @ RunnerError::Unsupported { .. })) => {
                    matrix.unsupported.push(failure(by, error.to_string()));
                }
                Err((by, error)) => {
                    matrix.failures.push(failure(by, error.to_string()));
                    if error.is_fatal() {
                        self.restart(side.runner)?;
                    }
                }
            }
        }
        for side in sides {
            for one in &written {
                let Some(Reading {
                    by,
                    lossy,
                    narrow,
                    outcome,
                }) = self.read(*side, message, one)
                else {
                    continue;
                };
                let counts = matrix.codecs.entry(codec.to_owned()).or_default();
                match outcome {
                    Ok(()) if lossy || one.lossy => counts.lossy += 1,
                    Ok(()) => counts.equal += 1,
                    Err(RunnerError::Unsupported { .. }) => {}
                    Err(RunnerError::Refused(_)) if narrow && one.side != *side => {
                        counts.narrow += 1;
                    }
                    Err(error) => {
                        counts.failed += 1;
                        matrix.failures.push(Failure {
                            message: name.clone(),
                            codec: codec.to_owned(),
                            writer: one.by.clone(),
                            reader: by,
                            what: error.to_string(),
                        });
                        if error.is_fatal() {
                            self.restart(side.runner)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// None: this side only reads.
    fn write(
        &mut self,
        side: Side,
        message: usize,
        number: usize,
    ) -> Result<Option<Written>, (String, RunnerError)> {
        let message = &self.messages[message];
        let file = self.folder.path().join(format!("written-{number}"));
        let runner = live(&mut self.runners, side.runner).map_err(|e| (String::new(), e))?;
        let entry = &runner.codecs()[side.entry].clone();
        let by = format!("{} {}", runner.runtime(), entry.library);
        if !entry.has(Part::Encode) {
            return Ok(None);
        }
        let subject = Subject {
            entry,
            kind: message.name.kind().name(),
        };
        match runner.encode(subject, &message.value_file, &file) {
            Ok(_) => Ok(Some(Written {
                side,
                by,
                lossy: entry.lossy.is_some(),
                file,
            })),
            Err(error) => Err((by, error)),
        }
    }

    /// None: this side only writes.
    fn read(&mut self, side: Side, message: usize, one: &Written) -> Option<Reading> {
        let message = &self.messages[message];
        let back = self.folder.path().join("read");
        let runner = live(&mut self.runners, side.runner).ok()?;
        let entry = &runner.codecs()[side.entry].clone();
        if !entry.has(Part::Decode) {
            return None;
        }
        let by = format!("{} {}", runner.runtime(), entry.library);
        let lossy = entry.lossy.is_some();
        let subject = Subject {
            entry,
            kind: message.name.kind().name(),
        };
        let read = runner.decode(subject, &one.file, &back);
        let outcome = match lossy || one.lossy {
            true => read,
            false => read.and_then(|()| same_value(&message.value, &back)),
        };
        Some(Reading {
            by,
            lossy,
            narrow: entry.narrow.is_some(),
            outcome,
        })
    }
}
