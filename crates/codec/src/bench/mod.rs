//! The bench at work: runners, messages, and what is asked of them in which order.

mod check;
mod cold;
mod pulse;
mod warm;

pub(crate) use check::Exactness;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use tempfile::TempDir;
use wire::{Name, to_value};

use crate::protocol::CodecEntry;
use crate::runner::{Program, Runner, RunnerError};
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
    /// Samples of each part, if time allows; more of what varies.
    pub rounds: usize,
    /// About how long all samples may take together, retaken ones and beats included.
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
    /// Those that could be started.
    pub(crate) runners: Vec<Runner>,
    /// What starts each of them again.
    programs: Vec<Program>,
    pub(crate) absent: Vec<Absent>,
    pub(crate) messages: Vec<Loaded>,
    schema_file: PathBuf,
    options: Options,
    /// Holds the files; goes last.
    folder: TempDir,
}

/// A message and its value file.
pub(crate) struct Loaded {
    pub(crate) name: Name,
    value: String,
    value_file: PathBuf,
}

/// A row in the making: whose, and of what.
pub(crate) struct Place {
    pub(crate) runner: usize,
    pub(crate) message: usize,
    pub(crate) entry: CodecEntry,
    /// Where the message lies in this codec, once it was written.
    pub(crate) encoded: PathBuf,
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
        let mut bench = Self {
            runners: Vec::new(),
            programs: Vec::new(),
            absent: missing,
            messages: (options.messages.iter().map(load)).collect::<io::Result<_>>()?,
            schema_file,
            options,
            folder,
        };
        for program in programs {
            match Runner::start(&program, &bench.schema_file) {
                Ok(runner) => {
                    bench.runners.push(runner);
                    bench.programs.push(program);
                }
                Err(error) => bench.absent.push(Absent {
                    runtime: program.runtime,
                    reason: error.to_string(),
                }),
            }
        }
        Ok(bench)
    }

    /// Every codec that some runner has.
    pub fn codecs(&self) -> BTreeSet<&str> {
        let entries = self.runners.iter().flat_map(Runner::codecs);
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
        let heap = |r: &Runner| Some((r.runtime().to_owned(), r.heap()?.to_owned()));
        Ok(Table {
            seed: self.options.seed,
            rounds: self.options.rounds,
            heap: self.runners.iter().filter_map(heap).collect(),
            harness,
            aa,
            absent: self.absent,
            rows,
        })
    }

    /// Encodes every message by every codec and decodes what came out: a codec whose value does
    /// not come back is a row with a problem and no figures. Rows are as many as places, or
    /// fewer when it was stopped.
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
            let runner = &self.runners[place.runner];
            let mut row = Row::new(
                self.messages[place.message].name,
                runner.runtime(),
                runner.runtime_version(),
                &place.entry,
            );
            match self.round_trip(place) {
                Ok(bytes) => row.bytes = Some(bytes),
                Err(error) => {
                    row.problem = Some(error.to_string());
                    self.restart_after(&error, place)?;
                }
            }
            rows.push(row);
        }
        Ok((places, rows))
    }

    /// Whatever is to be measured or checked.
    pub(crate) fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for message in 0..self.messages.len() {
            for (runner, running) in self.runners.iter().enumerate() {
                for entry in running.codecs() {
                    // Nothing is the same of every message: once is enough.
                    let wanted = match entry.codec == EMPTY {
                        true => message == 0,
                        false => self.wanted(&entry.codec),
                    };
                    if wanted {
                        let file = format!("encoded-{}", places.len());
                        places.push(Place {
                            runner,
                            message,
                            entry: entry.clone(),
                            encoded: self.folder.path().join(file),
                        });
                    }
                }
            }
        }
        places
    }

    fn wanted(&self, codec: &str) -> bool {
        self.options.codecs.is_empty() || self.options.codecs.iter().any(|c| c == codec)
    }

    /// A runner that broke down gets a successor, lest one bad codec cost all that follow.
    pub(crate) fn restart_after(
        &mut self,
        error: &RunnerError,
        place: &Place,
    ) -> Result<(), RunnerError> {
        if error.is_fatal() {
            let program = &self.programs[place.runner];
            self.runners[place.runner] = Runner::start(program, &self.schema_file)?;
        }
        Ok(())
    }
}

/// The codec that does nothing.
pub(crate) const EMPTY: &str = "empty";
