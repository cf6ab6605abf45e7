//! Lines of JSON over two file descriptors. Every wait has a deadline, every line a length limit.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::monotonic_ns;

/// Most bytes taken in one read; a pipe on Linux holds 64 KiB (pipe(7)).
const CHUNK_BYTES: usize = 16 << 10;

/// Longest untrusted text that [`printable`] passes on.
const PRINTABLE_CHARS: usize = 400;

/// How much of an invalid line is quoted.
const EXCERPT_BYTES: usize = 80;

/// The lab's end of a conversation with a program: a driver or a codec runner.
pub struct Channel {
    read: OwnedFd,
    write: OwnedFd,
    line_limit_bytes: usize,
    buffer: Vec<u8>,
    read_ns: u64,
}

/// A message, and when it arrived.
#[derive(Clone, Debug)]
pub struct Received<T> {
    /// The message.
    pub message: T,
    /// When the read that completed its line returned, on `CLOCK_MONOTONIC`.
    pub read_ns: u64,
}

/// Why a message was not received or not sent. The texts have no subject, so that the caller
/// can supply one: "the driver ...".
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// Nothing arrived before the deadline.
    #[error("timed out: no {expected} within {waited_ms} ms")]
    ReceiveTimeout {
        /// The message that was expected.
        expected: &'static str,
        /// Time from the start of the wait to the deadline, in milliseconds.
        waited_ms: u128,
    },
    /// End of file where a line was expected.
    #[error("exited or closed its pipe before sending {expected}")]
    Closed {
        /// The message that was expected.
        expected: &'static str,
    },
    /// Part of a line arrived, but not its end.
    #[error("sent {bytes} bytes without a newline")]
    NoNewline {
        /// Length of that part.
        bytes: usize,
    },
    /// A line was longer than the limit; the rest of it was not read.
    #[error("sent a line of more than {limit} bytes")]
    LineTooLong {
        /// The limit, without the newline.
        limit: usize,
    },
    /// The program did not read its input before the deadline.
    #[error("timed out: did not read {sent} within {waited_ms} ms")]
    SendTimeout {
        /// The message that was being sent.
        sent: &'static str,
        /// Time from the start of the write to the deadline, in milliseconds.
        waited_ms: u128,
    },
    /// The program closed its input.
    #[error("exited or closed its pipe before reading {sent}")]
    InputClosed {
        /// The message that was being sent.
        sent: &'static str,
    },
    /// A line that is not a valid message.
    #[error("sent an invalid reply ({detail}): {excerpt:?}")]
    InvalidReply {
        /// The parser's error.
        detail: String,
        /// The beginning of the line.
        excerpt: String,
    },
    /// A read or write failed.
    #[error("cannot be reached over its pipe: {0}")]
    Io(#[from] io::Error),
}

struct Line {
    text: Vec<u8>,
    read_ns: u64,
}

enum ReadOutcome {
    Data,
    EndOfFile,
    TimedOut,
}

impl Channel {
    /// Takes over the read end of the program's output and the write end of its input. Lines of
    /// more than `line_limit_bytes`, without the newline, are errors.
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

    /// Sends a message as one line; `name` is how errors call it.
    pub fn send(
        &self,
        message: &impl Serialize,
        name: &'static str,
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        let mut line = serde_json::to_vec(message).map_err(io::Error::from)?;
        line.push(b'\n');
        self.send_line(&line, name, deadline)
    }

    /// Receives a message; `expected` is its name in errors.
    pub fn receive<T: DeserializeOwned>(
        &mut self,
        expected: &'static str,
        deadline: Instant,
    ) -> Result<Received<T>, ChannelError> {
        let Line { text, read_ns } = self.receive_line(expected, deadline)?;
        match serde_json::from_slice(&text) {
            Ok(message) => Ok(Received { message, read_ns }),
            Err(error) => {
                let start = &text[..text.len().min(EXCERPT_BYTES)];
                Err(ChannelError::InvalidReply {
                    detail: error.to_string(),
                    excerpt: printable(&String::from_utf8_lossy(start)),
                })
            }
        }
    }

    /// Waits until there is something to receive, at most until this time, and returns whether there is.
    pub(crate) fn has_input(&self, until: Instant) -> Result<bool, ChannelError> {
        Ok(!self.buffer.is_empty() || wait_until_ready(&self.read, PollFlags::IN, until)?)
    }

    /// Writes all of `line`, which ends in a newline.
    pub(crate) fn send_line(
        &self,
        mut line: &[u8],
        name: &'static str,
        deadline: Instant,
    ) -> Result<(), ChannelError> {
        let began = Instant::now();
        while !line.is_empty() {
            match rustix::io::write(&self.write, line) {
                Ok(n) => line = &line[n..],
                Err(Errno::AGAIN) => {
                    if !wait_until_ready(&self.write, PollFlags::OUT, deadline)? {
                        let waited_ms = began.elapsed().as_millis();
                        return Err(ChannelError::SendTimeout {
                            sent: name,
                            waited_ms,
                        });
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::PIPE) => return Err(ChannelError::InputClosed { sent: name }),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    /// Reads the next line and strips its newline.
    fn receive_line(
        &mut self,
        expected: &'static str,
        deadline: Instant,
    ) -> Result<Line, ChannelError> {
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
            match self.fill_buffer(deadline)? {
                ReadOutcome::Data => {}
                ReadOutcome::EndOfFile | ReadOutcome::TimedOut if searched > 0 => {
                    return Err(ChannelError::NoNewline { bytes: searched });
                }
                ReadOutcome::EndOfFile => return Err(ChannelError::Closed { expected }),
                ReadOutcome::TimedOut => {
                    let waited_ms = began.elapsed().as_millis();
                    return Err(ChannelError::ReceiveTimeout {
                        expected,
                        waited_ms,
                    });
                }
            }
        }
    }

    fn fill_buffer(&mut self, deadline: Instant) -> io::Result<ReadOutcome> {
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            match rustix::io::read(&self.read, &mut chunk) {
                Ok(0) => return Ok(ReadOutcome::EndOfFile),
                Ok(n) => {
                    self.read_ns = monotonic_ns();
                    self.buffer.extend_from_slice(&chunk[..n]);
                    return Ok(ReadOutcome::Data);
                }
                Err(Errno::AGAIN) => {
                    if !wait_until_ready(&self.read, PollFlags::IN, deadline)? {
                        return Ok(ReadOutcome::TimedOut);
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Waits until `fd` is ready or broken. Returns false if the deadline passes first.
fn wait_until_ready(fd: &OwnedFd, events: PollFlags, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Ok(false);
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(fd, events)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes untrusted text safe for a terminal or a report: at most 400 characters, all of which are shown, and so no
/// line breaks.
pub fn printable(text: &str) -> String {
    let beginning: String = text.chars().take(PRINTABLE_CHARS).collect();
    neutral::plain(&beginning)
}
