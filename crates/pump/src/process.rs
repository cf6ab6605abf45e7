//! Processes inside a bench.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::error::BenchError;
use crate::protocol::{ExitWire, ProcessEvent, Request};
use crate::sys;

/// A command to run at one end. It gets the caller's user and groups, no capability, and
/// nothing of the caller's environment or descriptors beyond what is listed here.
#[derive(Debug, Default)]
pub struct Spawn {
    /// The program; a bare name is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments, its name not among them.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; the caller's when `None`.
    pub cwd: Option<PathBuf>,
    /// Descriptors and the numbers it gets them under. 0, 1 and 2 are `/dev/null` unless listed.
    pub fds: Vec<(OwnedFd, RawFd)>,
    /// Give it the terminal that is on one of its descriptors 0 to 2. In any case it leads a
    /// process group of its own.
    pub foreground: bool,
}

/// A running process. Dropping it kills it with all its descendants.
#[derive(Debug)]
pub struct Process {
    pub(crate) connection: Arc<Connection>,
    pub(crate) pid: i32,
    /// Where its stops and its end are told.
    pub(crate) told: BufReader<File>,
    pub(crate) exit: Option<Exit>,
    /// The caller's terminal, to be taken back.
    pub(crate) terminal: Option<OwnedFd>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code or signal.
    pub status: ExitStatus,
    /// CPU time of it and of the children it waited for.
    pub cpu_ns: u64,
}

impl Process {
    /// Its id inside the bench.
    pub fn id(&self) -> i32 {
        self.pid
    }

    /// Waits for it to end, at most `timeout` (`None`: for ever). `Ok(None)` when time is over.
    ///
    /// When a foreground process is stopped (Ctrl-Z), the caller's process group stops with it
    /// and goes on with it, as if both were one job of the shell.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Exit>, BenchError> {
        let until = timeout.map(|t| Instant::now() + t);
        while self.exit.is_none() {
            let left = until.map(|u| u.saturating_duration_since(Instant::now()));
            let [told] = sys::wait_readable([self.told.get_ref().as_fd()], left)
                .map_err(BenchError::Gone)?;
            if told {
                match self.read_told().map_err(BenchError::Gone)? {
                    ProcessEvent::Stopped => self.stop_with_it()?,
                    ProcessEvent::Exited(exit) => self.note_end(&exit),
                }
            } else if left == Some(Duration::ZERO) {
                return Ok(None);
            }
        }
        Ok(self.exit)
    }

    fn read_told(&mut self) -> io::Result<ProcessEvent> {
        let mut line = String::new();
        (&mut self.told).take(4096).read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::Error::other("and its processes with it"));
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn note_end(&mut self, exit: &ExitWire) {
        self.exit = Some(Exit {
            status: ExitStatus::from_raw(exit.status),
            cpu_ns: exit.cpu_ns,
        });
        self.take_terminal_back();
    }

    fn stop_with_it(&mut self) -> Result<(), BenchError> {
        let Some(terminal) = &self.terminal else {
            return Ok(());
        };
        let give = sys::give_terminal(terminal.as_fd(), sys::own_group());
        give.and_then(|()| sys::kill(0, libc::SIGTSTP))
            .map_err(BenchError::Gone)?;
        // Here the shell let us go on: with `fg` it gave us the terminal, with `bg` it did not.
        let foreground = sys::has_terminal(terminal.as_fd());
        self.connection
            .request(
                &Request::Resume {
                    pid: self.pid,
                    foreground,
                },
                &[],
            )
            .map(drop)
    }

    fn take_terminal_back(&mut self) {
        if let Some(terminal) = self.terminal.take() {
            // One that hung up cannot be taken, and nobody sits at it.
            let _taken = sys::give_terminal(terminal.as_fd(), sys::own_group());
        }
    }

    /// Sends a signal to its process group. No error when it has ended.
    pub fn kill(&self, signal: i32) -> Result<(), BenchError> {
        self.signal(signal, false)
    }

    fn signal(&self, signal: i32, whole_tree: bool) -> Result<(), BenchError> {
        if self.exit.is_some() && !whole_tree {
            return Ok(());
        }
        self.connection
            .request(
                &Request::Kill {
                    pid: self.pid,
                    signal,
                    whole_tree,
                },
                &[],
            )
            .map(drop)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A bench that is gone has taken the process with it.
        let _killed = self.signal(libc::SIGKILL, true);
        self.take_terminal_back();
    }
}
