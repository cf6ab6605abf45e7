//! The lab's side of a conversation with a driver: blocking, with deadlines, trusting nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use crate::channel::{Channel, Received, printable};
use crate::clock::monotonic_ns;
use crate::error::DriverError;
use crate::protocol::{Clock, Codec, Hello, Reply, Request, Row, Setup, Step, VERSION};
use crate::rows::Rows;

const SECOND_NS: u64 = 1_000_000_000;

/// A conversation with one driver, over the lab's ends of its pipes.
///
/// Call `hello`, `setup`, `run` and `close` in this order. After an error the only valid
/// operation is to drop it. The driver's process belongs to the caller.
pub struct Host {
    channel: Channel,
    clock: Clock,
}

/// What the lab does while a driver follows its steps.
pub trait Meanwhile {
    /// Returns when it has to act next; none if nothing is left to do.
    fn due(&self) -> Option<Instant>;

    /// Acts, and returns the request that the driver is to get, if any.
    fn act(&mut self) -> Option<Request>;
}

/// Nothing to do.
impl Meanwhile for () {
    fn due(&self) -> Option<Instant> {
        None
    }

    fn act(&mut self) -> Option<Request> {
        None
    }
}

/// How much a driver may make the host buffer.
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

/// A driver's answer to `setup`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupAnswer {
    /// `run` may follow.
    Ready,
    /// The stack cannot do what the setup asks for.
    Unsupported {
        /// What cannot be done, e.g. `protocol h3`.
        what: String,
        /// The driver's explanation.
        reason: String,
    },
}

/// A driver's answer to `run`.
#[derive(Clone, Debug, PartialEq)]
pub enum RunAnswer {
    /// One row per call, in the order of the steps.
    Rows(Vec<Row>),
    /// The stack cannot do one of the steps; none was started.
    Unsupported {
        /// What cannot be done, e.g. `step stream`.
        what: String,
        /// The driver's explanation.
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

    /// Requests the driver's hello, checks it and returns it.
    pub fn hello(&mut self, deadline: Instant) -> Result<Hello, DriverError> {
        self.send(&Request::Hello { version: VERSION }, deadline)?;
        match self.receive("hello", deadline)?.0 {
            Reply::Hello(hello) => {
                check_hello(&hello)?;
                self.clock = hello.clock;
                Ok(hello)
            }
            other => Err(unexpected_reply(other, "hello")),
        }
    }

    /// Sends a line with a word that no driver knows. Returns `what` and `reason` of the
    /// `unsupported` that must answer it.
    pub fn send_unknown_request(
        &mut self,
        line: &str,
        deadline: Instant,
    ) -> Result<(String, String), DriverError> {
        let line = format!("{line}\n");
        self.channel
            .send_line(line.as_bytes(), "an unknown request", deadline)?;
        match self.receive("unsupported", deadline)?.0 {
            Reply::Unsupported { what, reason } => Ok((printable(&what), printable(&reason))),
            other => Err(unexpected_reply(other, "unsupported")),
        }
    }

    /// Sets the driver up for an origin.
    pub fn setup(&mut self, setup: &Setup, deadline: Instant) -> Result<SetupAnswer, DriverError> {
        self.send(&Request::Setup(setup.clone()), deadline)?;
        match self.receive("ready", deadline)?.0 {
            Reply::Ready => Ok(SetupAnswer::Ready),
            Reply::Unsupported { what, reason } => {
                let (what, reason) = (printable(&what), printable(&reason));
                Ok(SetupAnswer::Unsupported { what, reason })
            }
            other => Err(unexpected_reply(other, "ready")),
        }
    }

    /// Makes the driver follow the steps and collects its rows. All of them must arrive before
    /// `deadline`.
    pub fn run(&mut self, steps: &[Step], deadline: Instant) -> Result<RunAnswer, DriverError> {
        self.run_meanwhile(steps, deadline, &mut ())
    }

    /// Runs steps like [`Host::run`], and meanwhile does what is due. What falls due at the `deadline` or later is left.
    pub fn run_meanwhile(
        &mut self,
        steps: &[Step],
        deadline: Instant,
        meanwhile: &mut dyn Meanwhile,
    ) -> Result<RunAnswer, DriverError> {
        let mut rows = Rows::new(steps, self.clock, monotonic_ns());
        self.send(
            &Request::Run {
                steps: steps.to_vec(),
            },
            deadline,
        )?;
        let mut any_row = false;
        loop {
            while let Some(due) = meanwhile.due().filter(|due| *due < deadline) {
                // What is due comes first: rows may arrive without a pause.
                if due > Instant::now() && self.channel.has_input(due)? {
                    break;
                }
                if let Some(request) = meanwhile.act() {
                    self.send(&request, deadline)?;
                }
            }
            match self.receive("row or done", deadline)? {
                (Reply::Row(mut row), read_ns) => {
                    any_row = true;
                    if let Some(error) = &mut row.error {
                        error.detail = printable(&error.detail);
                    }
                    rows.add(row, read_ns)?;
                }
                (Reply::Done, _) => return Ok(RunAnswer::Rows(rows.finish(steps)?)),
                (Reply::Unsupported { what, reason }, _) if !any_row => {
                    let (what, reason) = (printable(&what), printable(&reason));
                    return Ok(RunAnswer::Unsupported { what, reason });
                }
                (other, _) => return Err(unexpected_reply(other, "row or done")),
            }
        }
    }

    /// Ends the conversation: the driver is to close its connections and exit. A full or broken
    /// pipe is no error here, because the owner of the process makes sure that it ends.
    pub fn close(self) {
        self.send(&Request::Close, Instant::now()).ok();
    }

    fn send(&self, request: &Request, deadline: Instant) -> Result<(), DriverError> {
        let name = match request {
            Request::Hello { .. } => "hello",
            Request::Setup(_) => "setup",
            Request::Run { .. } => "run",
            Request::Network { .. } => "network",
            Request::Close => "close",
        };
        Ok(self.channel.send(request, name, deadline)?)
    }

    fn receive(
        &mut self,
        expected: &'static str,
        deadline: Instant,
    ) -> Result<(Reply, u64), DriverError> {
        let Received { message, read_ns } = self.channel.receive(expected, deadline)?;
        Ok((message, read_ns))
    }
}

fn check_hello(hello: &Hello) -> Result<(), DriverError> {
    if hello.version != VERSION {
        return Err(DriverError::Version {
            version: hello.version,
        });
    }
    if !(1..=SECOND_NS).contains(&hello.resolution_ns) {
        let problem = format!("a clock resolution of {} ns", hello.resolution_ns);
        return Err(DriverError::InvalidHello(problem));
    }
    for name in [&hello.stack, &hello.stack_version, &hello.tls] {
        if name.is_empty() || *name != printable(name) {
            return Err(DriverError::InvalidHello(format!("the name {name:?}")));
        }
    }
    for Codec(name) in &hello.codecs {
        if name.is_empty() || *name != printable(name) {
            return Err(DriverError::InvalidHello(format!("the codec {name:?}")));
        }
    }
    Ok(())
}

fn unexpected_reply(reply: Reply, expected: &'static str) -> DriverError {
    let sent = match reply {
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
    DriverError::UnexpectedReply { sent, expected }
}
