//! One runner's process and our conversation with it: deadline-driven, trusting nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use driver::{Channel, ChannelError, printable};
use tempfile::TempDir;
use wire::Name;

use crate::protocol::{Answer, Ask, CodecEntry, Hello, Part, VERSION};

/// A runner that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its runtime, as its manifest says.
    pub runtime: String,
    /// Program and arguments.
    pub command: Vec<String>,
}

/// A runner that runs, introduced and set up.
pub struct Runner {
    channel: Channel,
    child: Child,
    hello: Hello,
    home: TempDir,
}

/// How long a loop took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// On the runner's monotonic clock.
    pub elapsed_ns: u64,
    /// What the loop allocated, where the runtime can tell.
    pub heap_bytes: Option<u64>,
}

/// Something is wrong with a runner, or it cannot do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// It cannot be started.
    #[error("the {runtime} runner cannot be started: {source}")]
    Start {
        /// Which.
        runtime: String,
        /// Why.
        source: io::Error,
    },
    /// The conversation broke down; the runner is of no more use.
    #[error("the {runtime} runner {problem}")]
    Broken {
        /// Which.
        runtime: String,
        /// What happened.
        problem: String,
    },
    /// It cannot do that; the next question may be asked.
    #[error("{what}: {reason}")]
    Unsupported {
        /// What was asked.
        what: String,
        /// Why it cannot be had.
        reason: String,
    },
    /// It takes these bytes for no such message; the next question may be asked.
    #[error("refused: {0}")]
    Refused(String),
}

impl RunnerError {
    /// Nothing more can be asked of the runner.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::Broken { .. })
    }
}

/// What is encoded or decoded, by what.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    entry: &'a CodecEntry,
    kind: &'static str,
}

/// Of each thread, how long it has run and has waited for a core.
pub(crate) type Threads = BTreeMap<OsString, (u64, u64)>;

impl<'a> Subject<'a> {
    pub(crate) fn new(entry: &'a CodecEntry, message: Name) -> Self {
        Subject {
            entry,
            kind: message.kind().name(),
        }
    }
}

impl Runner {
    /// Starts it, hears its `hello`, sets it up.
    pub fn start(program: &Program, schema_file: &Path) -> Result<Self, RunnerError> {
        let runtime = &program.runtime;
        let fail = |source| RunnerError::Start {
            runtime: runtime.clone(),
            source,
        };
        let home = tempfile::tempdir().map_err(fail)?;
        let log = File::create(home.path().join(LOG)).map_err(fail)?;
        let mut command = Command::new(&program.command[0]);
        command
            .args(&program.command[1..])
            .env_clear()
            .envs(driver::env::base_env(home.path()))
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(fail)?)
            .stderr(log);
        let started = driver::process::start(command).map_err(fail)?;
        let channel = Channel::new(started.read, started.write, LINE_LIMIT).map_err(fail)?;
        let mut runner = Self {
            channel,
            child: started.child,
            hello: Hello {
                version: 0,
                runtime: runtime.clone(),
                runtime_version: String::new(),
                codecs: Vec::new(),
                heap: None,
            },
            home,
        };
        let hello = runner.ask(&Ask::Hello { version: VERSION }, "hello")?;
        runner.hello = match hello {
            Answer::Hello(hello) => sane(hello, runtime).map_err(|p| runner.broken(&p))?,
            other => return Err(runner.unexpected(other, "hello")),
        };
        match runner.ask(&Ask::Setup { schema_file }, "ready")? {
            Answer::Ready => Ok(runner),
            other => Err(runner.unexpected(other, "ready")),
        }
    }

    /// Its codecs, each by each library.
    pub fn codecs(&self) -> &[CodecEntry] {
        &self.hello.codecs
    }

    /// Its runtime.
    pub fn runtime(&self) -> &str {
        &self.hello.runtime
    }

    /// Its runtime's version.
    pub fn runtime_version(&self) -> &str {
        &self.hello.runtime_version
    }

    /// Where its heap figures come from.
    pub fn heap(&self) -> Option<&str> {
        self.hello.heap.as_deref()
    }

    /// Encodes a value file; how many bytes it became.
    pub(crate) fn encode(
        &mut self,
        subject: Subject<'_>,
        value_file: &Path,
        encoded_file: &Path,
    ) -> Result<u64, RunnerError> {
        let ask = Ask::Encode {
            codec: &subject.entry.codec,
            library: &subject.entry.library,
            message: subject.kind,
            value_file,
            encoded_file,
        };
        match self.ask(&ask, "encoded")? {
            Answer::Encoded { bytes } => Ok(bytes),
            other => Err(self.unexpected(other, "encoded")),
        }
    }

    /// Decodes bytes into a value file.
    pub(crate) fn decode(
        &mut self,
        subject: Subject<'_>,
        encoded_file: &Path,
        value_file: &Path,
    ) -> Result<(), RunnerError> {
        let ask = Ask::Decode {
            codec: &subject.entry.codec,
            library: &subject.entry.library,
            message: subject.kind,
            encoded_file,
            value_file,
        };
        match self.ask(&ask, "decoded")? {
            Answer::Decoded => Ok(()),
            other => Err(self.unexpected(other, "decoded")),
        }
    }

    /// Times a loop.
    pub(crate) fn time(
        &mut self,
        subject: Subject<'_>,
        part: Part,
        value_file: &Path,
        encoded_file: Option<&Path>,
        iterations: u64,
    ) -> Result<Timed, RunnerError> {
        let ask = Ask::Time {
            codec: &subject.entry.codec,
            library: &subject.entry.library,
            message: subject.kind,
            value_file,
            encoded_file,
            part,
            iterations,
        };
        let asked = Instant::now();
        match self.ask(&ask, "timed")? {
            Answer::Timed {
                elapsed_ns,
                heap_bytes,
            } => {
                // Our own clock bounds what it may claim.
                if u128::from(elapsed_ns) > asked.elapsed().as_nanos() {
                    let claim = format!("claims {elapsed_ns} ns, more than it had");
                    return Err(self.broken(&claim));
                }
                Ok(Timed {
                    elapsed_ns,
                    heap_bytes,
                })
            }
            other => Err(self.unexpected(other, "timed")),
        }
    }

    /// How long its threads have run and have waited for a core so far (`schedstat`), by id.
    pub(crate) fn threads(&self) -> Threads {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        let Ok(tasks) = std::fs::read_dir(tasks) else {
            return Threads::new();
        };
        let thread = |task: std::fs::DirEntry| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            let mut figures = text.split_whitespace().map(str::parse::<u64>);
            let (ran, waited) = (figures.next()?.ok()?, figures.next()?.ok()?);
            Some((task.file_name(), (ran, waited)))
        };
        tasks.filter_map(|task| thread(task.ok()?)).collect()
    }

    fn ask(&mut self, ask: &Ask<'_>, awaited: &'static str) -> Result<Answer, RunnerError> {
        let deadline = Instant::now() + PATIENCE;
        let answer = self
            .channel
            .send(ask, awaited, deadline)
            .and_then(|()| self.channel.receive(awaited, deadline));
        answer
            .map(|received| received.message)
            .map_err(|e: ChannelError| self.broken(&e.to_string()))
    }

    fn unexpected(&mut self, answer: Answer, awaited: &str) -> RunnerError {
        match answer {
            Answer::Unsupported { what, reason } => RunnerError::Unsupported {
                what: printable(&what),
                reason: printable(&reason),
            },
            Answer::Refused { error } => RunnerError::Refused(printable(&error)),
            Answer::Failed { reason } => self.broken(&format!("gave up: {}", printable(&reason))),
            Answer::Hello(_)
            | Answer::Ready
            | Answer::Encoded { .. }
            | Answer::Decoded
            | Answer::Timed { .. } => {
                self.broken(&format!("said something else where {awaited} was due"))
            }
        }
    }

    fn broken(&mut self, problem: &str) -> RunnerError {
        self.child.kill().ok();
        self.child.wait().ok();
        let log = std::fs::read(self.home.path().join(LOG)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log[log.len().saturating_sub(4096)..]).into_owned();
        let last = log.lines().rfind(|line| !line.trim().is_empty());
        let problem = match last {
            Some(last) => format!("{problem}; its log ends: {}", printable(last.trim())),
            None => problem.to_owned(),
        };
        RunnerError::Broken {
            runtime: self.hello.runtime.clone(),
            problem,
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let asked = self.channel.send(&Ask::Close, "close", Instant::now());
        let until = Instant::now() + CLOSE_PATIENCE;
        while asked.is_ok() && Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// How long the thread that ran most between two looks waited for a core. The others are the
/// runtime's own, and their waiting is part of its ways.
pub(crate) fn waited_ns(before: &Threads, after: &Threads) -> u64 {
    let since = after.iter().map(|(thread, (ran, waited))| {
        let (ran_before, waited_before) = before.get(thread).copied().unwrap_or((0, 0));
        (
            ran.saturating_sub(ran_before),
            waited.saturating_sub(waited_before),
        )
    });
    since.max().map_or(0, |(_, waited)| waited)
}

fn sane(hello: Hello, runtime: &str) -> Result<Hello, String> {
    if hello.version != VERSION {
        let said = hello.version;
        return Err(format!(
            "speaks version {said}; this bench speaks {VERSION}"
        ));
    }
    if hello.runtime != runtime {
        let said = printable(&hello.runtime);
        return Err(format!("says that its runtime is `{said}`"));
    }
    let words = hello.codecs.iter().flat_map(|entry| {
        [&entry.codec, &entry.library]
            .into_iter()
            .chain(&entry.caveat)
            .chain(&entry.lossy)
            .chain(&entry.rejects_valid)
    });
    for word in words.chain([&hello.runtime_version]).chain(&hello.heap) {
        if word.is_empty() || *word != printable(word) {
            return Err(format!("has a word in its hello that is none: {word:?}"));
        }
    }
    for (i, entry) in hello.codecs.iter().enumerate() {
        let same =
            |other: &CodecEntry| (&other.codec, &other.library) == (&entry.codec, &entry.library);
        if hello.codecs[..i].iter().any(same) {
            return Err(format!("names {} by {} twice", entry.codec, entry.library));
        }
    }
    Ok(hello)
}

/// A start, or one loop, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
const LINE_LIMIT: usize = 64 << 10;
const LOG: &str = "runner.log";
