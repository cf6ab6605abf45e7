//! Lines over two descriptors, each wait with a deadline, each line with a bound.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::DriverError;

/// Most bytes taken in one read; a pipe on Linux holds 64 KiB (pipe(7)).
const CHUNK_BYTES: usize = 16 << 10;

/// The lab's ends of a driver's pipes.
pub(crate) struct Channel {
    read: OwnedFd,
    write: OwnedFd,
    line_limit_bytes: usize,
    buffer: Vec<u8>,
    read_ns: u64,
}

/// A line, and when the read that completed it returned.
pub(crate) struct Line {
    pub(crate) text: Vec<u8>,
    pub(crate) read_ns: u64,
}

impl Channel {
    pub(crate) fn new(read: OwnedFd, write: OwnedFd, line_limit_bytes: usize) -> io::Result<Self> {
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

    /// Writes all of `line`, which ends in a newline.
    pub(crate) fn send(
        &self,
        mut line: &[u8],
        request: &'static str,
        deadline: Instant,
    ) -> Result<(), DriverError> {
        let began = Instant::now();
        while !line.is_empty() {
            match rustix::io::write(&self.write, line) {
                Ok(n) => line = &line[n..],
                Err(Errno::AGAIN) => {
                    if !ready(&self.write, PollFlags::OUT, deadline)? {
                        let waited_ms = began.elapsed().as_millis();
                        return Err(DriverError::Deaf { request, waited_ms });
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::PIPE) => return Err(DriverError::Died { awaited: request }),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    /// Reads the next line, without its newline.
    pub(crate) fn receive(
        &mut self,
        awaited: &'static str,
        deadline: Instant,
    ) -> Result<Line, DriverError> {
        let began = Instant::now();
        let mut searched = 0;
        loop {
            let newline = self.buffer[searched..]
                .iter()
                .position(|&byte| byte == b'\n');
            let length = newline.map_or(self.buffer.len(), |at| searched + at);
            if length > self.line_limit_bytes {
                return Err(DriverError::LineTooLong {
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
                    return Err(DriverError::NoNewline { bytes: searched });
                }
                Filled::End => return Err(DriverError::Died { awaited }),
                Filled::Late if searched > 0 => {
                    return Err(DriverError::NoNewline { bytes: searched });
                }
                Filled::Late => {
                    let waited_ms = began.elapsed().as_millis();
                    return Err(DriverError::Silence { awaited, waited_ms });
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

/// This host's `CLOCK_MONOTONIC`.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
