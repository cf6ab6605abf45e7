//! Drivers and codec runners as processes on the host, outside any bench.
//!
//! A [`Process`] starts with an empty home folder and the environment of [`base_env`]. Standard
//! output and error are its log; the end of the log is kept. A thread per process reads the log and
//! sees the process exit, so that nothing polls.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;

use crate::channel::printable;
use crate::env::{ENV_CONNECT, ENV_IN, ENV_OUT, base_env};
use crate::log_reader::LogReader;

/// A program that was started on the host. Dropping it kills the program.
#[derive(Debug)]
pub struct Process {
    child: Child,
    exited: OwnedFd,
    log: LogReader,
    _home: TempDir,
}

/// A started program and the lab's ends of its pipes or connection.
#[derive(Debug)]
pub struct Started {
    /// The program.
    pub process: Process,
    /// The end that its replies are read from.
    pub read: OwnedFd,
    /// The end that requests are written to.
    pub write: OwnedFd,
}

impl Process {
    /// Starts `command` (program and arguments) with two pipes, whose paths are in its
    /// environment.
    pub fn start(command: &[String]) -> io::Result<Started> {
        let (their_in, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let (read, their_out) = pipe_with(PipeFlags::CLOEXEC)?;
        // The program opens our own descriptors by path. They stay open in this process until
        // it exits, so that it may open them at any time, and its exit is still end of file.
        let path = |end: &OwnedFd| format!("/proc/{}/fd/{}", std::process::id(), end.as_raw_fd());
        let channel = [(ENV_IN, path(&their_in)), (ENV_OUT, path(&their_out))];
        let process = Self::spawn(command, &channel, vec![their_in, their_out])?;
        Ok(Started {
            process,
            read,
            write,
        })
    }

    /// Starts `command`, which must then connect to the lab over TCP before `deadline`.
    pub fn start_connecting(command: &[String], deadline: Instant) -> io::Result<Started> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?.to_string();
        let process = Self::spawn(command, &[(ENV_CONNECT, address)], Vec::new())?;
        let stream = process.accept(&listener, deadline)?;
        Ok(Started {
            process,
            read: stream.try_clone()?.into(),
            write: stream.into(),
        })
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the end of its log, at most 4,096 bytes. Complete once the program has been
    /// killed.
    pub fn log_tail(&self) -> String {
        self.log.text()
    }

    /// Kills the program and returns `problem`, followed by the last line of its log if there
    /// is one, which often explains it.
    pub fn kill_and_explain(&mut self, problem: &str) -> String {
        self.kill();
        with_last_line(problem, &self.log_tail())
    }

    /// Waits for the program to exit and kills it if it has not after `timeout`. Close its
    /// channel first, which asks it to exit. The status of a killed program has signal 9.
    pub fn close(&mut self, timeout: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + timeout;
        if !wait_readable(&mut [PollFd::new(&self.exited, PollFlags::IN)], deadline)? {
            self.child.kill()?;
        }
        self.reap()
    }

    fn spawn(
        command: &[String],
        channel: &[(&str, String)],
        kept_open: Vec<OwnedFd>,
    ) -> io::Result<Self> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(io::Error::other("the command is empty"));
        };
        let home = tempfile::tempdir()?;
        let (log, output) = LogReader::pipe()?;
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(base_env(home.path()))
            .envs(channel.iter().map(|(name, value)| (name, value)))
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Self::supervise(child, log, kept_open, home)
    }

    fn supervise(
        mut child: Child,
        log: OwnedFd,
        kept_open: Vec<OwnedFd>,
        home: TempDir,
    ) -> io::Result<Self> {
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let pidfds = pidfd.map_err(io::Error::from);
        let pidfds = pidfds.and_then(|exited| Ok((exited.try_clone()?, exited)));
        let (seen_by_reader, exited) = match pidfds {
            Ok(both) => both,
            Err(error) => {
                child.kill().ok();
                child.wait().ok();
                return Err(error);
            }
        };
        let log = LogReader::start(log, seen_by_reader, kept_open);
        Ok(Self {
            child,
            exited,
            log,
            _home: home,
        })
    }

    fn accept(&self, listener: &TcpListener, deadline: Instant) -> io::Result<TcpStream> {
        let mut events = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(&self.exited, PollFlags::IN),
        ];
        if !wait_readable(&mut events, deadline)? {
            return Err(io::Error::other("did not connect"));
        }
        if !events[0].revents().contains(PollFlags::IN) {
            return Err(io::Error::other("exited without connecting"));
        }
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn kill(&mut self) {
        self.child.kill().ok();
        self.reap().ok();
    }

    /// Waits until the program has exited and the whole of its log has been read.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        self.log.finish();
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Appends the last line of a log to the description of a problem. Blank and indented lines do not count if there are
/// others: the stack trace of a JVM or of Mono is indented, and its reason is the line before.
pub fn with_last_line(problem: &str, log: &str) -> String {
    let mut lines = log.lines().rev().filter(|line| !line.trim().is_empty());
    let last = lines.clone().next();
    match lines.find(|line| !line.starts_with([' ', '\t'])).or(last) {
        Some(last) => format!("{problem}; its log ends: {}", printable(last.trim())),
        None => problem.to_owned(),
    }
}

/// Waits until one of the descriptors is readable. Returns false if the deadline passes first.
fn wait_readable(events: &mut [PollFd<'_>], deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(events, Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
