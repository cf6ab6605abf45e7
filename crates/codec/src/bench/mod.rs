//! The bench at work: runners, messages, and what is asked of them in which order.

mod cold;
mod warm;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use wire::{Name, to_value};

use crate::protocol::{CodecEntry, Part};
use crate::runner::{Program, Runner, RunnerError, Subject};
use crate::table::{Absent, Harness, Row, Table};

/// What is measured, and how well.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which messages.
    pub messages: Vec<Name>,
    /// Codecs, as `json+gzip-6`; empty: all.
    pub codecs: Vec<String>,
    /// Where messages and the order's luck come from.
    pub seed: u64,
    /// Samples of each part.
    pub rounds: usize,
    /// About how long all samples may take together.
    pub budget_ns: u64,
    /// Fresh processes for each cold figure; 0: none.
    pub cold: usize,
    /// Messages whose cold figures are taken.
    pub cold_messages: Vec<Name>,
    /// Measure everything twice and compare: an A/A check of the bench itself.
    pub twice: bool,
}

/// Who watches.
pub trait Progress {
    /// A new part of the work begins: so many steps of this.
    fn begin(&mut self, what: &str, steps: usize);
    /// So many steps are done. False: stop, with what there is.
    fn step(&mut self, done: usize) -> bool;
}

/// The runners and the messages they are given.
pub struct Bench {
    programs: Vec<Program>,
    /// By program; none when it could not be started.
    pub(crate) runners: Vec<Option<Runner>>,
    pub(crate) absent: Vec<Absent>,
    pub(crate) messages: Vec<Loaded>,
    pub(crate) folder: TempDir,
    schema_file: PathBuf,
    options: Options,
}

/// A message and its value file.
pub(crate) struct Loaded {
    pub(crate) name: Name,
    pub(crate) value: String,
    pub(crate) value_file: PathBuf,
}

/// A row in the making: whose, and of what.
struct Place {
    runner: usize,
    entry: usize,
    message: usize,
}

impl Bench {
    /// Makes the messages and starts every program. One that cannot be started is absent from
    /// the table, which says why, as it does for those known to be `missing`.
    pub fn open(
        programs: Vec<Program>,
        missing: Vec<Absent>,
        options: Options,
    ) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let schema_file = folder.path().join("schema.json");
        std::fs::write(&schema_file, wire::schema_json())?;
        let load = |name: &Name| -> io::Result<Loaded> {
            let value = to_value(&name.message(options.seed));
            let value_file = folder.path().join(format!("{name}.value"));
            std::fs::write(&value_file, &value)?;
            Ok(Loaded {
                name: *name,
                value,
                value_file,
            })
        };
        let messages = options
            .messages
            .iter()
            .map(load)
            .collect::<io::Result<_>>()?;
        let mut bench = Self {
            runners: Vec::new(),
            absent: missing,
            messages,
            folder,
            schema_file,
            options,
            programs,
        };
        for program in &bench.programs {
            bench
                .runners
                .push(match Runner::start(program, &bench.schema_file) {
                    Ok(runner) => Some(runner),
                    Err(error) => {
                        bench.absent.push(Absent {
                            runtime: program.runtime.clone(),
                            reason: error.to_string(),
                        });
                        None
                    }
                });
        }
        Ok(bench)
    }

    /// Every codec that some runner has.
    pub fn codecs(&self) -> BTreeSet<&str> {
        let entries = self.runners.iter().flatten().flat_map(Runner::codecs);
        let codecs = entries.map(|entry| entry.codec.as_str());
        codecs.filter(|codec| *codec != EMPTY).collect()
    }

    /// Measures everything; stops early, with what there is, when `progress` says so.
    pub fn run(mut self, progress: &mut dyn Progress) -> Result<Table, RunnerError> {
        let (places, mut rows) = self.prepare(progress)?;
        let aa = self.warm(&places, &mut rows, progress);
        self.cold(&places, &mut rows, progress);
        let (nothing, mut rows): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.codec == EMPTY);
        let harness: Vec<Harness> = nothing.iter().filter_map(Harness::new).collect();
        for row in &mut rows {
            if let Some(harness) = harness.iter().find(|h| h.runtime == row.runtime) {
                row.subtract(harness);
            }
        }
        let runtimes = self.runners.iter().flatten();
        Ok(Table {
            seed: self.options.seed,
            rounds: self.options.rounds,
            heap: runtimes
                .filter_map(|r| Some((r.runtime().to_owned(), r.heap()?.to_owned())))
                .collect(),
            harness,
            aa,
            absent: self.absent,
            rows,
        })
    }

    /// Encodes every message by every codec and decodes what came out: a codec whose value does
    /// not come back is a row with a problem and no figures.
    fn prepare(
        &mut self,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<Place>, Vec<Row>), RunnerError> {
        let places = self.places();
        progress.begin("checking round trips", places.len());
        let mut rows = Vec::with_capacity(places.len());
        for (done, place) in places.iter().enumerate() {
            if !progress.step(done) {
                break;
            }
            let tried = self.round_trip(place);
            let Some(runner) = &self.runners[place.runner] else {
                continue;
            };
            let entry = &runner.codecs()[place.entry];
            let mut row = Row::new(
                self.messages[place.message].name,
                runner.runtime(),
                runner.runtime_version(),
                entry,
            );
            match tried {
                Ok(bytes) => row.bytes = Some(bytes),
                Err(error) => {
                    row.problem = Some(error.to_string());
                    if error.is_fatal() {
                        self.restart(place.runner)?;
                    }
                }
            }
            rows.push(row);
        }
        Ok((places, rows))
    }

    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for message in 0..self.messages.len() {
            for (runner, running) in self.runners.iter().enumerate() {
                let codecs = running.iter().flat_map(|r| r.codecs().iter().enumerate());
                for (entry, codec) in codecs {
                    // Nothing is the same of every message: once is enough.
                    let wanted = match codec.codec == EMPTY {
                        true => message == 0,
                        false => self.wanted(&codec.codec),
                    };
                    if wanted {
                        places.push(Place {
                            runner,
                            entry,
                            message,
                        });
                    }
                }
            }
        }
        places
    }

    pub(crate) fn wanted(&self, codec: &str) -> bool {
        self.options.codecs.is_empty() || self.options.codecs.iter().any(|c| c == codec)
    }

    /// Bytes that the message became, if the same value came back.
    fn round_trip(&mut self, place: &Place) -> Result<u64, RunnerError> {
        let message = &self.messages[place.message];
        let encoded = self.folder.path().join("encoded");
        let decoded = self.folder.path().join("decoded");
        let runner = live(&mut self.runners, place.runner)?;
        let entry = &runner.codecs()[place.entry].clone();
        if entry.codec == EMPTY {
            return Ok(0);
        }
        let subject = Subject {
            entry,
            kind: message.name.kind().name(),
        };
        if !entry.has(Part::Encode) {
            let kept = self.folder.path().join("reference");
            write_reference(message, entry, self.options.seed, &kept)?;
            runner.decode(subject, &kept, &decoded)?;
        } else {
            runner.encode(subject, &message.value_file, &encoded)?;
            if entry.has(Part::Decode) {
                runner.decode(subject, &encoded, &decoded)?;
            }
        }
        if entry.has(Part::Decode) && entry.lossy.is_none() {
            same_value(&message.value, &decoded)?;
        }
        let written = match entry.has(Part::Encode) {
            true => &encoded,
            false => &self.folder.path().join("reference"),
        };
        file_len(written)
    }

    /// A runner that broke down gets a successor, lest one bad codec cost all that follow.
    pub(crate) fn restart(&mut self, index: usize) -> Result<(), RunnerError> {
        let runner = Runner::start(&self.programs[index], &self.schema_file)?;
        self.runners[index] = Some(runner);
        Ok(())
    }
}

/// A codec that only reads is given what our own codec writes.
pub(crate) fn write_reference(
    message: &Loaded,
    entry: &CodecEntry,
    seed: u64,
    file: &Path,
) -> Result<(), RunnerError> {
    let unsupported = |reason: String| RunnerError::Unsupported {
        what: format!("codec {}", entry.codec),
        reason,
    };
    let codec: wire::Codec = entry
        .codec
        .parse()
        .map_err(|e: wire::CodecError| unsupported(e.to_string()))?;
    let bytes = codec.coder().encode(&message.name.message(seed));
    std::fs::write(file, bytes).map_err(|e| unsupported(e.to_string()))
}

/// Compares a value file with the value; an error names the first line that differs.
pub(crate) fn same_value(value: &str, file: &Path) -> Result<(), RunnerError> {
    let read = std::fs::read(file).map_err(|e| RunnerError::Refused(e.to_string()))?;
    if read == value.as_bytes() {
        return Ok(());
    }
    let read = String::from_utf8_lossy(&read);
    let mut lines = value.lines().zip(read.lines()).enumerate();
    let shown = |line: &str| -> String { line.chars().take(40).collect() };
    let what = match lines.find(|(_, (a, b))| a != b) {
        Some((at, (was, is))) => format!(
            "line {} of the value was `{}`, came back as `{}`",
            at + 1,
            shown(was),
            shown(is)
        ),
        None => format!(
            "{} lines of value came back as {}",
            value.lines().count(),
            read.lines().count()
        ),
    };
    Err(RunnerError::Refused(what))
}

pub(crate) fn live(
    runners: &mut [Option<Runner>],
    index: usize,
) -> Result<&mut Runner, RunnerError> {
    runners[index].as_mut().ok_or(RunnerError::Refused(
        "its runner could not be started".to_owned(),
    ))
}

fn file_len(file: &Path) -> Result<u64, RunnerError> {
    let meta = std::fs::metadata(file).map_err(|e| RunnerError::Refused(e.to_string()))?;
    Ok(meta.len())
}

/// The codec that does nothing.
pub(crate) const EMPTY: &str = "empty";
