//! The lab's side of a driver: blocking, deadline-driven, trusting nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::DriverError;
use crate::channel::{Channel, Heard, monotonic_ns, printable};
use crate::protocol::{Clock, Codec, Hello, Reply, Request, Row, Setup, Step, VERSION};
use crate::rows::Rows;

/// One driver's conversation, over the lab's ends of its pipes.
///
/// Calls go in the order `hello`, `setup`, `run`, `close`; after an error only dropping
/// makes sense. The process itself belongs to the caller.
pub struct Host {
    channel: Channel,
    clock: Clock,
}

/// What a driver may make the host hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest line, in bytes without its newline.
    pub line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes: 64 << 10,
        }
    }
}

/// How a driver answered `setup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupAnswer {
    /// `run` may follow.
    Ready,
    /// Not with this stack.
    Unsupported {
        /// What was asked.
        what: String,
        /// Why it cannot be had.
        reason: String,
    },
}

/// How a driver answered `run`.
#[derive(Clone, Debug, PartialEq)]
pub enum RunAnswer {
    /// One row for every call, in the order of the steps.
    Rows(Vec<Row>),
    /// Not with this stack; no step was taken.
    Unsupported {
        /// What was asked.
        what: String,
        /// Why it cannot be had.
        reason: String,
    },
}

impl Host {
    /// Takes over the read end of the driver's output and the write end of its input.
    pub fn new(read: OwnedFd, write: OwnedFd, limits: Limits) -> io::Result<Self> {
        let channel = Channel::new(read, write, limits.line_bytes)?;
        Ok(Self {
            channel,
            clock: Clock::Monotonic,
        })
    }

    /// Asks the driver who it is.
    pub fn hello(&mut self, deadline: Instant) -> Result<Hello, DriverError> {
        self.send(&Request::Hello { version: VERSION }, deadline)?;
        match self.receive("hello", deadline)?.0 {
            Reply::Hello(hello) => {
                let hello = sane(hello)?;
                self.clock = hello.clock;
                Ok(hello)
            }
            other => Err(unexpected(other, "hello")),
        }
    }

    /// Says a line it cannot know; it should answer `unsupported`, whose words are returned.
    pub fn provoke(
        &mut self,
        line: &str,
        deadline: Instant,
    ) -> Result<(String, String), DriverError> {
        self.channel
            .send(format!("{line}\n").as_bytes(), "an unknown word", deadline)?;
        match self.receive("unsupported", deadline)?.0 {
            Reply::Unsupported { what, reason } => Ok((printable(&what), printable(&reason))),
            other => Err(unexpected(other, "unsupported")),
        }
    }

    /// Tells it where to and how.
    pub fn setup(&mut self, setup: &Setup, deadline: Instant) -> Result<SetupAnswer, DriverError> {
        self.send(&Request::Setup(setup.clone()), deadline)?;
        match self.receive("ready", deadline)?.0 {
            Reply::Ready => Ok(SetupAnswer::Ready),
            Reply::Unsupported { what, reason } => {
                let (what, reason) = (printable(&what), printable(&reason));
                Ok(SetupAnswer::Unsupported { what, reason })
            }
            other => Err(unexpected(other, "ready")),
        }
    }

    /// Has it follow the steps; `deadline` is that of the last row.
    pub fn run(&mut self, steps: &[Step], deadline: Instant) -> Result<RunAnswer, DriverError> {
        let mut rows = Rows::new(steps, self.clock, monotonic_ns());
        self.send(
            &Request::Run {
                steps: steps.to_vec(),
            },
            deadline,
        )?;
        let mut none_yet = true;
        loop {
            match self.receive("row or done", deadline)? {
                (Reply::Row(mut row), read_ns) => {
                    none_yet = false;
                    if let Some(error) = &mut row.error {
                        error.detail = printable(&error.detail);
                    }
                    rows.take(row, read_ns)?;
                }
                (Reply::Done, _) => return Ok(RunAnswer::Rows(rows.finish(steps)?)),
                (Reply::Unsupported { what, reason }, _) if none_yet => {
                    let (what, reason) = (printable(&what), printable(&reason));
                    return Ok(RunAnswer::Unsupported { what, reason });
                }
                (other, _) => return Err(unexpected(other, "row or done")),
            }
        }
    }

    /// Lets it go: it closes its connections and exits. Whether it does is the business
    /// of whoever holds the process, so that a full or broken pipe is no error here.
    pub fn close(self) {
        self.send(&Request::Close, Instant::now()).ok();
    }

    fn send(&self, request: &Request, deadline: Instant) -> Result<(), DriverError> {
        let name = match request {
            Request::Hello { .. } => "hello",
            Request::Setup(_) => "setup",
            Request::Run { .. } => "run",
            Request::Close => "close",
        };
        Ok(self.channel.say(request, name, deadline)?)
    }

    fn receive(
        &mut self,
        awaited: &'static str,
        deadline: Instant,
    ) -> Result<(Reply, u64), DriverError> {
        let Heard { said, read_ns } = self.channel.hear(awaited, deadline)?;
        Ok((said, read_ns))
    }
}

fn sane(hello: Hello) -> Result<Hello, DriverError> {
    if hello.version != VERSION {
        return Err(DriverError::Version {
            said: hello.version,
        });
    }
    let second_ns = 1_000_000_000;
    if !(1..=second_ns).contains(&hello.resolution_ns) {
        let what = format!("a clock resolution of {} ns", hello.resolution_ns);
        return Err(DriverError::Hello(what));
    }
    for name in [&hello.stack, &hello.stack_version, &hello.tls] {
        if name.is_empty() || *name != printable(name) {
            return Err(DriverError::Hello(format!("the name {name:?}")));
        }
    }
    for Codec(name) in &hello.codecs {
        if name.is_empty() || *name != printable(name) {
            return Err(DriverError::Hello(format!("the codec {name:?}")));
        }
    }
    Ok(hello)
}

fn unexpected(reply: Reply, awaited: &'static str) -> DriverError {
    let said = match reply {
        Reply::Failed { reason } => {
            return DriverError::Failed {
                reason: printable(&reason),
            };
        }
        Reply::Hello(_) => "hello",
        Reply::Ready => "ready",
        Reply::Unsupported { .. } => "unsupported",
        Reply::Row(_) => "row",
        Reply::Done => "done",
    };
    DriverError::Unexpected { said, awaited }
}
