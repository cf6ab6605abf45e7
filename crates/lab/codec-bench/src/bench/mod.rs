//! The bench itself: runners, messages, and what is asked of them in which order.

mod check;
mod cold;
mod core_speed;
mod warm;

pub(crate) use check::Exactness;

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::chown;
use std::path::PathBuf;

use driver::codec_runner::{CodecEntry, Task};
use messages::{Name, to_value};
use tempfile::TempDir;

use crate::runner::{FOLDER, Program, Runner, RunnerError, task};
use crate::table::{Harness, Row, Table, Unavailable};

/// The codec that does nothing.
pub(crate) const EMPTY: &str = "empty";

/// What to measure, and how well.
#[derive(Clone, Debug)]
pub struct Options {
    /// The messages to measure.
    pub messages: Vec<Name>,
    /// The codecs to measure, e.g. `json+gzip-6`; empty: all.
    pub codecs: Vec<String>,
    /// The seed of the messages and of the random order.
    pub seed: u64,
    /// Samples of each part if time allows; parts that vary get more.
    pub rounds: usize,
    /// About how long all samples may take together, including retaken ones and reference loops.
    pub budget_ns: u64,
    /// Fresh processes for each cold figure; 0: none.
    pub cold: usize,
    /// The messages with cold figures.
    pub cold_messages: Vec<Name>,
    /// Measures everything twice and compares: an A/A check of the bench itself.
    pub twice: bool,
}

/// Receives progress, and can stop the bench.
pub trait Progress {
    /// Begins a stage of the work with this many steps.
    fn begin(&mut self, what: &str, steps: usize);
    /// Reports how many steps are done. Returns false to stop with the results so far.
    fn step(&mut self, done: usize) -> bool;
}

/// The runners and the messages they are given.
pub struct Bench {
    /// The runners that started.
    pub(crate) runners: Vec<Runner>,
    /// The program of each runner, to restart it.
    programs: Vec<Program>,
    pub(crate) unavailable: Vec<Unavailable>,
    pub(crate) messages: Vec<LoadedMessage>,
    schema_file: PathBuf,
    options: Options,
    /// Holds all files. Dropped last.
    folder: TempDir,
}

/// A message and its value file.
pub(crate) struct LoadedMessage {
    pub(crate) name: Name,
    value: String,
    value_file: PathBuf,
}

/// One message in one codec of one runner: what a row is about.
pub(crate) struct Case {
    /// An index in [`Bench::runners`].
    pub(crate) runner: usize,
    /// An index in [`Bench::messages`].
    pub(crate) message: usize,
    pub(crate) entry: CodecEntry,
    /// Where the encoded message is, once it has been written.
    pub(crate) encoded: PathBuf,
}

impl Bench {
    /// Makes the messages and starts every program. A program that cannot be started is listed in
    /// the table with the reason, as are the runtimes in `missing`.
    pub fn open(
        mut programs: Vec<Program>,
        missing: Vec<Unavailable>,
        options: Options,
    ) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        if let Some(user) = programs.iter().find_map(|program| program.user) {
            chown(folder.path(), Some(user), Some(user))?;
        }
        let words = programs.iter_mut().flat_map(|program| &mut program.command);
        for word in words.filter(|word| *word == FOLDER) {
            *word = folder.path().display().to_string();
        }
        let schema_file = folder.path().join("schema.json");
        std::fs::write(&schema_file, messages::schema_json())?;
        let load = |name: &Name| -> io::Result<LoadedMessage> {
            let value = to_value(&name.message(options.seed));
            let value_file = folder.path().join(format!("{name}.value"));
            std::fs::write(&value_file, &value)?;
            Ok(LoadedMessage {
                name: *name,
                value,
                value_file,
            })
        };
        let mut bench = Self {
            runners: Vec::new(),
            programs: Vec::new(),
            unavailable: missing,
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
                Err(error) => bench.unavailable.push(Unavailable {
                    runtime: program.runtime,
                    reason: error.to_string(),
                }),
            }
        }
        Ok(bench)
    }

    /// Returns the runtimes that do not take part, with the reasons.
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Returns every codec that at least one runner has.
    pub fn codecs(&self) -> BTreeSet<&str> {
        let entries = self.runners.iter().flat_map(Runner::codecs);
        let codecs = entries.map(|entry| entry.codec.as_str());
        codecs.filter(|codec| *codec != EMPTY).collect()
    }

    /// Measures everything. Stops early, with the results so far, when `progress` says so.
    pub fn run(mut self, progress: &mut dyn Progress) -> Result<Table, RunnerError> {
        let (cases, mut rows) = self.prepare(progress)?;
        let aa = self.warm(&cases, &mut rows, progress);
        self.cold(&cases, &mut rows, progress);
        let (empty, mut rows): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.codec == EMPTY);
        let harness: Vec<Harness> = empty.iter().filter_map(Harness::new).collect();
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
            unavailable: self.unavailable,
            rows,
        })
    }

    /// Checks that every message survives every codec. A codec that fails gets a row with the
    /// problem and no figures. There is a row per case, or fewer if the bench was stopped.
    fn prepare(
        &mut self,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<Case>, Vec<Row>), RunnerError> {
        let cases = self.cases();
        progress.begin("checking round trips", cases.len());
        let mut rows = Vec::with_capacity(cases.len());
        for (done, case) in cases.iter().enumerate() {
            if !progress.step(done) {
                break;
            }
            let runner = &self.runners[case.runner];
            let mut row = Row::new(
                self.messages[case.message].name,
                runner.runtime(),
                runner.runtime_version(),
                &case.entry,
            );
            match self.round_trip(case) {
                Ok(bytes) => row.bytes = Some(bytes),
                Err(error) => {
                    row.problem = Some(error.to_string());
                    self.restart_after(&error, case)?;
                }
            }
            rows.push(row);
        }
        Ok((cases, rows))
    }

    /// Returns all cases to be measured or checked.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for message in 0..self.messages.len() {
            for (runner, running) in self.runners.iter().enumerate() {
                for entry in running.codecs() {
                    // The empty codec costs the same for every message.
                    let wanted = match entry.codec == EMPTY {
                        true => message == 0,
                        false => self.is_wanted(&entry.codec),
                    };
                    if wanted {
                        let file = format!("encoded-{}", cases.len());
                        cases.push(Case {
                            runner,
                            message,
                            entry: entry.clone(),
                            encoded: self.folder.path().join(file),
                        });
                    }
                }
            }
        }
        cases
    }

    fn is_wanted(&self, codec: &str) -> bool {
        self.options.codecs.is_empty() || self.options.codecs.iter().any(|c| c == codec)
    }

    fn task(&self, case: &Case) -> Task {
        task(&case.entry, self.messages[case.message].name)
    }

    /// Restarts a crashed runner so that one bad codec does not abort the rest.
    pub(crate) fn restart_after(
        &mut self,
        error: &RunnerError,
        case: &Case,
    ) -> Result<(), RunnerError> {
        if error.is_fatal() {
            let program = &self.programs[case.runner];
            self.runners[case.runner] = Runner::start(program, &self.schema_file)?;
        }
        Ok(())
    }
}
