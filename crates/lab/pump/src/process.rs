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

use crate::confinement::{Confinement, SandboxId};
use crate::connection::Connection;
use crate::error::BenchError;
use crate::protocol::{ExitWire, ProcessEvent, Request};
use crate::sys;

/// Longest line of a [`ProcessEvent`].
const EVENT_MAX: u64 = 4096;

/// A command to run at one end of a bench. The process gets the caller's user and groups unless it is confined, and no
/// capabilities unless `raw_sockets`. It gets a process group of its own, and of the caller's environment and
/// descriptors only what is listed here.
#[derive(Debug, Default)]
pub struct Spawn {
    /// The program; a bare name is looked up in the `PATH` of `env`.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Its entire environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory; `None` for the caller's.
    pub cwd: Option<PathBuf>,
    /// Descriptors, each with its number in the process. 0, 1 and 2 are `/dev/null` unless listed.
    pub fds: Vec<(OwnedFd, RawFd)>,
    /// Runs the process in the foreground of the terminal on one of its descriptors 0 to 2. Otherwise it has no
    /// controlling terminal.
    pub foreground: bool,
    /// Another user, lower limits and fewer system calls.
    pub confinement: Option<Confinement>,
    /// The sandbox that it runs in, see [`crate::Bench::make_sandbox`]; none: it sees the machine's files.
    pub sandbox: Option<SandboxId>,
    /// Keeps CAP_NET_RAW, so that the process may capture packets and ping. It applies to the
    /// namespace of its end, which it cannot leave.
    pub raw_sockets: bool,
}

/// A running process. Dropping it kills it and all its descendants.
#[derive(Debug)]
pub struct Process {
    pub(crate) connection: Arc<Connection>,
    pub(crate) pid: i32,
    /// Lines of [`ProcessEvent`].
    pub(crate) events: BufReader<File>,
    pub(crate) exit: Option<Exit>,
    /// The caller's terminal while the process has it.
    pub(crate) terminal: Option<OwnedFd>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// CPU time of the process and of the children that it waited for.
    pub cpu_ns: u64,
}

impl Process {
    /// Returns the process id inside the bench.
    pub fn id(&self) -> i32 {
        self.pid
    }

    /// Waits for the process to end, at most `timeout` (`None`: indefinitely). Returns `Ok(None)`
    /// after a timeout.
    ///
    /// When a foreground process is stopped (Ctrl-Z), the caller's process group stops and continues with it, as if
    /// both were one job of the shell.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Exit>, BenchError> {
        let until = timeout.map(|t| Instant::now() + t);
        while self.exit.is_none() {
            let left = until.map(|u| u.saturating_duration_since(Instant::now()));
            let [readable] = sys::wait_readable([self.events.get_ref().as_fd()], left)
                .map_err(BenchError::Gone)?;
            if readable {
                match self.read_event().map_err(BenchError::Gone)? {
                    ProcessEvent::Stopped => self.stop_caller()?,
                    ProcessEvent::Exited(exit) => self.set_exit(&exit),
                }
            } else if left == Some(Duration::ZERO) {
                return Ok(None);
            }
        }
        Ok(self.exit)
    }

    fn read_event(&mut self) -> io::Result<ProcessEvent> {
        let mut line = String::new();
        (&mut self.events).take(EVENT_MAX).read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::Error::other("its init process has ended"));
        }
        Ok(serde_json::from_str(&line)?)
    }

    fn set_exit(&mut self, exit: &ExitWire) {
        self.exit = Some(Exit {
            status: ExitStatus::from_raw(exit.status),
            cpu_ns: exit.cpu_ns,
        });
        self.take_terminal_back();
    }

    /// Stops the caller's process group, and continues the process once that is continued.
    fn stop_caller(&mut self) -> Result<(), BenchError> {
        let Some(terminal) = &self.terminal else {
            return Ok(());
        };
        sys::give_terminal(terminal.as_fd(), sys::own_group())
            .and_then(|()| sys::kill(0, libc::SIGTSTP))
            .map_err(BenchError::Gone)?;
        // The shell has continued us: `fg` gave us the terminal, `bg` did not.
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
            // Fails if the terminal hung up; then nobody needs it.
            let _taken = sys::give_terminal(terminal.as_fd(), sys::own_group());
        }
    }

    /// Sends a signal to the process group. Does nothing when the process has ended.
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
        // Fails if the bench is gone, and the process with it.
        let _killed = self.signal(libc::SIGKILL, true);
        self.take_terminal_back();
    }
}
