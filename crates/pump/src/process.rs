//! Processes inside a bench.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bench::{BenchError, Line};
use crate::control::{ExitWire, Request};
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
    pub(crate) line: Arc<Line>,
    pub(crate) pid: i32,
    /// Becomes readable when it has ended.
    pub(crate) told: std::fs::File,
    pub(crate) exit: Option<Exit>,
    /// The caller's terminal, to be taken back.
    pub(crate) terminal: Option<OwnedFd>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code or signal.
    pub status: ExitStatus,
    /// The most memory it or a child it waited for held.
    pub peak_rss_bytes: u64,
    /// CPU time of it and of the children it waited for.
    pub cpu_ns: u64,
}

impl Process {
    /// Its id inside the bench.
    pub fn id(&self) -> i32 {
        self.pid
    }

    /// Waits for it to end, at most `timeout` (`None`: for ever). `Ok(None)` when time is over.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Exit>, BenchError> {
        let until = timeout.map(|t| Instant::now() + t);
        while self.exit.is_none() {
            let left = until.map(|u| u.saturating_duration_since(Instant::now()));
            let [told] = sys::wait_readable([self.told.as_fd()], left).map_err(BenchError::gone)?;
            if told {
                self.exit = Some(self.read_exit().map_err(BenchError::gone)?);
                if let Some(terminal) = self.terminal.take() {
                    sys::retake_terminal(terminal.as_fd());
                }
            } else if left == Some(Duration::ZERO) {
                return Ok(None);
            }
        }
        Ok(self.exit)
    }

    fn read_exit(&mut self) -> io::Result<Exit> {
        let mut text = Vec::new();
        (&mut self.told).take(4096).read_to_end(&mut text)?;
        let exit: ExitWire = serde_json::from_slice(&text)?;
        Ok(Exit {
            status: ExitStatus::from_raw(exit.status),
            peak_rss_bytes: exit.peak_rss_bytes,
            cpu_ns: exit.cpu_ns,
        })
    }

    /// Sends a signal to its process group. No error when it has ended.
    pub fn kill(&self, signal: i32) -> Result<(), BenchError> {
        self.signal(signal, false)
    }

    fn signal(&self, signal: i32, whole_tree: bool) -> Result<(), BenchError> {
        if self.exit.is_some() && !whole_tree {
            return Ok(());
        }
        self.line
            .ask(
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
        if let Some(terminal) = self.terminal.take() {
            sys::retake_terminal(terminal.as_fd());
        }
    }
}
