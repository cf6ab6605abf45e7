//! Lines over two descriptors, each wait with a deadline, each line with a bound.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

/// Most bytes taken in one read; a pipe on Linux holds 64 KiB (pipe(7)).
const CHUNK_BYTES: usize = 16 << 10;

/// Our ends of the pipes of a program that speaks lines of JSON: a driver, a codec runner.
pub struct Channel {
    read: OwnedFd,
    write: OwnedFd,
    line_limit_bytes: usize,
    buffer: Vec<u8>,
    read_ns: u64,
}

/// What the other side said, and when the read that completed its line returned.
#[derive(Clone, Debug)]
pub struct Heard<T> {
    /// Its words.
    pub said: T,
    /// `CLOCK_MONOTONIC`.
    pub read_ns: u64,
}

/// Why no line came, or none could be sent. The subject is left to whoever knows it: "the
/// driver was silent".
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The deadline passed.
    #[error("was silent: no {awaited} within {waited_ms} ms")]
    Silence {
        /// The message that should have come.
        awaited: &'static str,
        /// How long it was waited for.
        waited_ms: u128,
    },
    /// End of file where a line was due.
    #[error("died: it closed its pipe before {awaited}")]
    Died {
        /// The message that should have come.
        awaited: &'static str,
    },
    /// Bytes came, but no end of line.
    #[error("left a line of {bytes} bytes without a newline")]
    NoNewline {
        /// How many.
        bytes: usize,
    },
    /// A line beyond the bound; its rest was not read.
    #[error("sent a line of more than {limit} bytes")]
    LineTooLong {
        /// The bound.
        limit: usize,
    },
    /// It does not read.
    #[error("did not take its {request} within {waited_ms} ms")]
    Deaf {
        /// What was to be sent.
        request: &'static str,
        /// For how long it was tried.
        waited_ms: u128,
    },
    /// A line, but none that is understood.
    #[error("sent a line that is no reply ({detail}): {excerpt:?}")]
    NotAReply {
        /// What the parser says.
        detail: String,
        /// The first characters of the line.
        excerpt: String,
    },
    /// The pipe itself failed.
    #[error("cannot be reached over its pipe: {0}")]
    Pipe(#[from] io::Error),
}

struct Line {
    text: Vec<u8>,
    read_ns: u64,
}

impl Channel {
    /// Takes over the read end of its output and the write end of its input; no line of more
    /// than `line_limit_bytes` (without its newline) is taken.
    pub fn new(read: OwnedFd, write: OwnedFd, line_limit_bytes: usize) -> io::Result<Self> {
        for fd in [&read, &write] {
            fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            read,
            write,
            line_limit_bytes,
            buffer: Vec::new(),
            read_ns: 0,
        })
    }

    /// Says one thing; `request` is its name.
    pub fn say(
        &self,
        what: &impl Serialize,
        request: &'static str,
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        let mut line = serde_json::to_vec(what).map_err(io::Error::from)?;
        line.push(b'\n');
        self.send(&line, request, deadline)
    }

    /// Hears one thing; `awaited` is its name.
    pub fn hear<T: DeserializeOwned>(
        &mut self,
        awaited: &'static str,
        deadline: Instant,
    ) -> Result<Heard<T>, ChannelError> {
        let Line { text, read_ns } = self.receive(awaited, deadline)?;
        match serde_json::from_slice(&text) {
            Ok(said) => Ok(Heard { said, read_ns }),
            Err(error) => {
                let start = &text[..text.len().min(EXCERPT_BYTES)];
                Err(ChannelError::NotAReply {
                    detail: error.to_string(),
                    excerpt: printable(&String::from_utf8_lossy(start)),
                })
            }
        }
    }

    /// Writes all of `line`, which ends in a newline.
    pub(crate) fn send(
        &self,
        mut line: &[u8],
        request: &'static str,
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        let began = Instant::now();
        while !line.is_empty() {
            match rustix::io::write(&self.write, line) {
                Ok(n) => line = &line[n..],
                Err(Errno::AGAIN) => {
                    if !ready(&self.write, PollFlags::OUT, deadline)? {
                        let waited_ms = began.elapsed().as_millis();
                        return Err(ChannelError::Deaf { request, waited_ms });
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::PIPE) => return Err(ChannelError::Died { awaited: request }),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    /// Reads the next line, without its newline.
    fn receive(&mut self, awaited: &'static str, deadline: Instant) -> Result<Line, ChannelError> {
        let began = Instant::now();
        let mut searched = 0;
        loop {
            let newline = self.buffer[searched..]
                .iter()
                .position(|&byte| byte == b'\n');
            let length = newline.map_or(self.buffer.len(), |at| searched + at);
            if length > self.line_limit_bytes {
                return Err(ChannelError::LineTooLong {
                    limit: self.line_limit_bytes,
                });
            }
            if newline.is_some() {
                let rest = self.buffer.split_off(length + 1);
                let mut text = std::mem::replace(&mut self.buffer, rest);
                text.truncate(length);
                return Ok(Line {
                    text,
                    read_ns: self.read_ns,
                });
            }
            searched = self.buffer.len();
            match self.fill(deadline)? {
                Filled::Some => {}
                Filled::End if searched > 0 => {
                    return Err(ChannelError::NoNewline { bytes: searched });
                }
                Filled::End => return Err(ChannelError::Died { awaited }),
                Filled::Late if searched > 0 => {
                    return Err(ChannelError::NoNewline { bytes: searched });
                }
                Filled::Late => {
                    let waited_ms = began.elapsed().as_millis();
                    return Err(ChannelError::Silence { awaited, waited_ms });
                }
            }
        }
    }

    fn fill(&mut self, deadline: Instant) -> io::Result<Filled> {
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            match rustix::io::read(&self.read, &mut chunk) {
                Ok(0) => return Ok(Filled::End),
                Ok(n) => {
                    self.read_ns = monotonic_ns();
                    self.buffer.extend_from_slice(&chunk[..n]);
                    return Ok(Filled::Some);
                }
                Err(Errno::AGAIN) => {
                    if !ready(&self.read, PollFlags::IN, deadline)? {
                        return Ok(Filled::Late);
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

enum Filled {
    Some,
    End,
    Late,
}

/// Waits until `fd` is ready or broken; false when the deadline came first.
fn ready(fd: &OwnedFd, what: PollFlags, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Ok(false);
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(fd, what)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Words of a stranger, fit for a terminal and a report: one line, no control characters.
pub fn printable(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(TEXT_CHARS).map(clean).collect()
}

/// Longest text of a stranger that is passed on.
const TEXT_CHARS: usize = 400;

/// How much of a bad line is quoted.
const EXCERPT_BYTES: usize = 80;

/// This host's `CLOCK_MONOTONIC`.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
