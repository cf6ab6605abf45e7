//! A runner's process and the conversation with it. Every wait has a deadline, and nothing the
//! runner says is trusted.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use driver::codec_runner::{
    CodecEntry, Decode, Encode, Hello, Part, Reply, Request, Task, Time, VERSION,
};
use driver::process::{Process, Started};
use driver::{Channel, ChannelError, printable};
use messages::Name;

use crate::threads::{self, Threads};

/// Time for a start, or for one loop, on a slow and busy machine.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const LINE_LIMIT_BYTES: usize = 64 << 10;
/// Stands in commands for the folder of the files that runners exchange.
pub const FOLDER: &str = "{folder}";

/// A runner that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The runtime's name in its manifest.
    pub runtime: String,
    /// The program and its arguments, of which [`FOLDER`] is the folder of files that runners exchange.
    pub command: Vec<String>,
    /// The user that it runs as, if not the caller: it is given the files that runners exchange.
    pub user: Option<u32>,
    /// Whether the command is `commute confined`, whose grandchild is the program.
    pub is_confined: bool,
}

/// A running runner, after `hello` and `setup`.
pub struct Runner {
    channel: Channel,
    process: Process,
    /// The process that encodes and decodes.
    program: u32,
    hello: Hello,
}

/// The result of one timed loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    /// How long it took on the runner's monotonic clock.
    pub elapsed_ns: u64,
    /// Bytes that the loop allocated, if the runtime can tell.
    pub heap_bytes: Option<u64>,
}

/// Why a runner did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The process cannot be started.
    #[error("the {runtime} runner cannot be started: {source}")]
    Start {
        /// The runtime's name in its manifest.
        runtime: String,
        /// The I/O error that stopped the start.
        source: io::Error,
    },
    /// The runner died or broke the contract, and was killed.
    #[error("the {runtime} runner {problem}")]
    Broken {
        /// The runtime's name.
        runtime: String,
        /// What it did, and the last line of its log.
        problem: String,
    },
    /// The runner does not support the request and goes on.
    #[error("{what}: {reason}")]
    Unsupported {
        /// The unsupported word, e.g. `codec cbor`.
        what: String,
        /// The runner's reason.
        reason: String,
    },
    /// The library refused the bytes, with this error; the runner goes on.
    #[error("refused: {0}")]
    Refused(String),
}

impl RunnerError {
    /// Returns whether the runner is gone.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::Broken { .. })
    }
}

/// Makes the task of a codec entry and a message.
pub(crate) fn task(entry: &CodecEntry, message: Name) -> Task {
    Task {
        codec: entry.codec.clone(),
        library: entry.library.clone(),
        message: message.kind().name().to_owned(),
    }
}

impl Runner {
    /// Starts a runner, reads its `hello` and sends it the schema.
    pub fn start(program: &Program, schema_file: &Path) -> Result<Self, RunnerError> {
        let runtime = &program.runtime;
        let fail = |source| RunnerError::Start {
            runtime: runtime.clone(),
            source,
        };
        let Started {
            process,
            read,
            write,
        } = Process::start(&program.command).map_err(fail)?;
        let channel = Channel::new(read, write, LINE_LIMIT_BYTES).map_err(fail)?;
        let mut runner = Self {
            channel,
            program: process.id(),
            process,
            hello: Hello {
                version: 0,
                runtime: runtime.clone(),
                runtime_version: String::new(),
                codecs: Vec::new(),
                heap: None,
            },
        };
        let hello = runner.ask(&Request::Hello { version: VERSION }, "hello")?;
        runner.hello = match hello {
            Reply::Hello(hello) => checked(hello, runtime).map_err(|p| runner.broken(&p))?,
            other => return Err(runner.unexpected(other, "hello")),
        };
        if program.is_confined {
            runner.program = threads::grandchild(runner.program).unwrap_or(runner.program);
        }
        let schema_file = schema_file.to_owned();
        match runner.ask(&Request::Setup { schema_file }, "ready")? {
            Reply::Ready => Ok(runner),
            other => Err(runner.unexpected(other, "ready")),
        }
    }

    /// Returns the runner's codecs, each by each library.
    pub fn codecs(&self) -> &[CodecEntry] {
        &self.hello.codecs
    }

    /// Returns the runtime's name.
    pub fn runtime(&self) -> &str {
        &self.hello.runtime
    }

    /// Returns the runtime's version.
    pub fn runtime_version(&self) -> &str {
        &self.hello.runtime_version
    }

    /// Returns where the runtime's heap figures come from, if it has any.
    pub fn heap(&self) -> Option<&str> {
        self.hello.heap.as_deref()
    }

    /// Encodes a value file and returns the length of the encoding in bytes.
    pub(crate) fn encode(
        &mut self,
        task: Task,
        value_file: &Path,
        encoded_file: &Path,
    ) -> Result<u64, RunnerError> {
        let request = Request::Encode(Encode {
            task,
            value_file: value_file.to_owned(),
            encoded_file: encoded_file.to_owned(),
        });
        match self.ask(&request, "encoded")? {
            Reply::Encoded { bytes } => Ok(bytes),
            other => Err(self.unexpected(other, "encoded")),
        }
    }

    /// Decodes a file into a value file.
    pub(crate) fn decode(
        &mut self,
        task: Task,
        encoded_file: &Path,
        value_file: &Path,
    ) -> Result<(), RunnerError> {
        let request = Request::Decode(Decode {
            task,
            encoded_file: encoded_file.to_owned(),
            value_file: value_file.to_owned(),
        });
        match self.ask(&request, "decoded")? {
            Reply::Decoded => Ok(()),
            other => Err(self.unexpected(other, "decoded")),
        }
    }

    /// Times a loop over one part.
    pub(crate) fn time(
        &mut self,
        task: Task,
        part: Part,
        value_file: &Path,
        encoded_file: Option<&Path>,
        iterations: u64,
    ) -> Result<Timed, RunnerError> {
        let request = Request::Time(Time {
            task,
            value_file: value_file.to_owned(),
            encoded_file: encoded_file.map(Path::to_owned),
            part: part.name().to_owned(),
            iterations,
        });
        let asked_at = Instant::now();
        match self.ask(&request, "timed")? {
            Reply::Timed {
                elapsed_ns,
                heap_bytes,
                sink: _,
            } => {
                // No loop takes longer than the bench waited for it.
                if u128::from(elapsed_ns) > asked_at.elapsed().as_nanos() {
                    let claim =
                        format!("claims {elapsed_ns} ns, longer than the whole request took");
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

    /// Reads how long each thread has run and waited for a core so far.
    pub(crate) fn threads(&self) -> Threads {
        threads::read(self.program)
    }

    fn ask(&mut self, request: &Request, awaited: &'static str) -> Result<Reply, RunnerError> {
        let deadline = Instant::now() + REPLY_TIMEOUT;
        let reply = self
            .channel
            .send(request, awaited, deadline)
            .and_then(|()| self.channel.receive(awaited, deadline));
        reply
            .map(|received| received.message)
            .map_err(|e: ChannelError| self.broken(&e.to_string()))
    }

    fn unexpected(&mut self, reply: Reply, awaited: &str) -> RunnerError {
        match reply {
            Reply::Unsupported { what, reason } => RunnerError::Unsupported {
                what: printable(&what),
                reason: printable(&reason),
            },
            Reply::Refused { error } => RunnerError::Refused(printable(&error)),
            Reply::Failed { reason } => self.broken(&format!("gave up: {}", printable(&reason))),
            Reply::Hello(_)
            | Reply::Ready
            | Reply::Encoded { .. }
            | Reply::Decoded
            | Reply::Timed { .. } => {
                self.broken(&format!("sent another reply where {awaited} was due"))
            }
        }
    }

    fn broken(&mut self, problem: &str) -> RunnerError {
        RunnerError::Broken {
            runtime: self.hello.runtime.clone(),
            problem: self.process.kill_and_explain(problem),
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Dropping the process kills a runner that cannot be asked.
        if self
            .channel
            .send(&Request::Close, "close", Instant::now())
            .is_ok()
        {
            self.process.close(CLOSE_TIMEOUT).ok();
        }
    }
}

/// Checks a hello: version, runtime, printable words, unique codecs.
fn checked(hello: Hello, runtime: &str) -> Result<Hello, String> {
    if hello.version != VERSION {
        let version = hello.version;
        return Err(format!(
            "speaks protocol version {version}; this bench speaks {VERSION}"
        ));
    }
    if hello.runtime != runtime {
        let claimed = printable(&hello.runtime);
        return Err(format!("claims to be the runtime `{claimed}`"));
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
            return Err(format!(
                "has an empty or unprintable text in its hello: {word:?}"
            ));
        }
    }
    for (i, entry) in hello.codecs.iter().enumerate() {
        let same =
            |other: &CodecEntry| (&other.codec, &other.library) == (&entry.codec, &entry.library);
        if hello.codecs[..i].iter().any(same) {
            return Err(format!("lists {} by {} twice", entry.codec, entry.library));
        }
    }
    Ok(hello)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_are_checked() {
        let entry = CodecEntry {
            codec: "json".into(),
            library: "one".into(),
            library_version: "1".into(),
            parts: Part::ALL.into(),
            caveat: None,
            lossy: None,
            rejects_valid: None,
        };
        let hello = Hello {
            version: VERSION,
            runtime: "jvm".into(),
            runtime_version: "17".into(),
            codecs: vec![entry.clone()],
            heap: None,
        };
        assert!(checked(hello.clone(), "jvm").is_ok());
        let problem = |change: fn(&mut Hello)| {
            let mut hello = hello.clone();
            change(&mut hello);
            checked(hello, "jvm").unwrap_err()
        };
        assert!(problem(|h| h.version = 1).contains("version 1"));
        assert!(problem(|h| h.runtime = "go".into()).contains("`go`"));
        assert!(problem(|h| h.heap = Some("\u{1b}[2J".into())).contains("unprintable"));
        assert!(problem(|h| h.codecs[0].library = String::new()).contains("empty"));
        assert!(problem(|h| h.codecs.push(h.codecs[0].clone())).contains("json by one twice"));
    }
}
