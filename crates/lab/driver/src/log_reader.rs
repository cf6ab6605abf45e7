//! Reads a program's log as it is written, and keeps its end.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::log_tail::LogTail;

/// Most bytes of the log taken in one read.
const LOG_CHUNK_BYTES: usize = 4096;

/// Most reads of the log between two looks at the process: 64 KiB, all that a pipe on Linux holds
/// (pipe(7)). So children that outlive the process and still write cannot keep us here.
const LOG_READS: usize = 16;

/// A thread that reads the log of one program, and keeps its last 4,096 bytes. The log is a pipe,
/// so that no program can fill a disk with it or put something else in its place.
#[derive(Debug)]
pub struct LogReader {
    tail: Arc<Mutex<LogTail>>,
    thread: Option<JoinHandle<()>>,
}

impl LogReader {
    /// Returns both ends of a log: the one to read, and the one that the program writes to.
    pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
        let (log, output) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&log, fcntl_getfl(&log)? | OFlags::NONBLOCK)?;
        Ok((log, output))
    }

    /// Reads a log until `ended` becomes readable or its other end is closed, and then what was
    /// written by that time. Descriptors in `kept_open` are closed after that.
    pub fn start(log: OwnedFd, ended: OwnedFd, kept_open: Vec<OwnedFd>) -> LogReader {
        let tail = Arc::<Mutex<LogTail>>::default();
        let shared = Arc::clone(&tail);
        let thread = std::thread::spawn(move || {
            read_log(&log, &ended, &shared);
            drop(kept_open);
        });
        LogReader {
            tail,
            thread: Some(thread),
        }
    }

    /// Returns the end of the log, at most 4,096 bytes.
    pub fn text(&self) -> String {
        lock(&self.tail).text()
    }

    /// Waits until the thread has ended.
    pub fn finish(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Reads the log until the process has ended, and then what it had written by that time. End of
/// file would be too late: children that outlive the process may keep its log open.
fn read_log(log: &OwnedFd, ended: &OwnedFd, tail: &Mutex<LogTail>) {
    let mut log_open = true;
    loop {
        let mut events = vec![PollFd::new(ended, PollFlags::IN)];
        if log_open {
            events.push(PollFd::new(log, PollFlags::IN));
        }
        if let Err(error) = poll(&mut events, None)
            && error != Errno::INTR
        {
            return;
        }
        let has_ended = !events[0].revents().is_empty();
        log_open = log_open && read_available(log, tail);
        if has_ended {
            return;
        }
    }
}

/// Reads what is in the pipe. Returns false at end of file.
fn read_available(log: &OwnedFd, tail: &Mutex<LogTail>) -> bool {
    let mut chunk = [0; LOG_CHUNK_BYTES];
    for _ in 0..LOG_READS {
        match rustix::io::read(log, &mut chunk) {
            Ok(0) => return false,
            Ok(n) => lock(tail).append(&chunk[..n]),
            Err(Errno::INTR) => {}
            Err(error) => return error == Errno::AGAIN,
        }
    }
    true
}

fn lock(tail: &Mutex<LogTail>) -> MutexGuard<'_, LogTail> {
    // A panic under this lock leaves plain bytes.
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}
