//! Runs one program confined, without a bench: in namespaces of its own, with an empty network.
//!
//! Three processes take part: the caller, process 1 of the PID namespace, and the program. The end of the caller ends
//! process 1 (`PR_SET_PDEATHSIG`), and the end of process 1 ends all others. The program cannot change this, as it could
//! if it were process 1.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use crate::capabilities;
use crate::confinement::{Confinement, Sandbox};
use crate::init::{namespaces, sandbox};
use crate::seccomp::Filters;
use crate::sys;

/// The status of a program that a signal ended is this and the signal's number, as in shells.
const SIGNALLED: i32 = 128;

/// A program to run confined.
#[derive(Debug)]
pub struct Confined {
    /// The program; a bare name is looked up in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its user and limits.
    pub confinement: Confinement,
    /// Its file systems. Limits of a cgroup do not apply.
    pub sandbox: Sandbox,
    /// Folders that are empty for it, besides those of every sandbox.
    pub hidden: Vec<PathBuf>,
    /// Environment variables that name a pipe to open for reading, and one for writing. They get
    /// paths that the program's user can open.
    pub pipes: [String; 2],
}

impl Confined {
    /// Runs the program and exits with its status. Returns only an error, in any of the three processes.
    ///
    /// The calling process must have a single thread and use no descriptors above the standard ones, which are closed.
    pub fn run(self) -> io::Error {
        match self.start() {
            Ok(mut command) => command.exec(),
            Err(e) => e,
        }
    }

    /// Returns the command in the process that is to become the program.
    fn start(&self) -> io::Result<Command> {
        namespaces::close_all_but(None)?;
        // Before the user namespace, from which the pipes' owner is out of reach.
        let pipes = self.open_pipes()?;
        let caller = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
        namespaces::unshare().map_err(io::Error::other)?;
        namespaces::become_init()?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The caller may have ended before.
        if sys::wait_readable([caller.as_fd()], Some(Duration::ZERO))? != [false] {
            return Err(io::Error::other("the caller has ended"));
        }
        drop(caller);
        // Takes away the terminal.
        rustix::process::setsid()?;
        namespaces::mount_proc().map_err(io::Error::other)?;
        if let Some(program) = sys::fork()? {
            drop(pipes);
            sys::exit_now(wait_for_program(program)?);
        }
        self.prepare(pipes)
    }

    /// Opens the pipes that the environment names.
    fn open_pipes(&self) -> io::Result<[OwnedFd; 2]> {
        let open = |variable: &String, options: &OpenOptions| -> io::Result<OwnedFd> {
            let path = std::env::var_os(variable)
                .ok_or_else(|| io::Error::other(format!("{variable} is not set")))?;
            options.open(path).map(File::into)
        };
        let [input, output] = &self.pipes;
        Ok([
            open(input, OpenOptions::new().read(true))?,
            open(output, OpenOptions::new().write(true))?,
        ])
    }

    /// Confines the calling process.
    fn prepare(&self, pipes: [OwnedFd; 2]) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        let user = self.confinement.user;
        // Moved above the numbers that they get, so that placing one never closes the other.
        let ends = (pipes.iter().zip(&self.pipes).zip(3..))
            .map(|((end, variable), number)| {
                fchown(end, user, user)?;
                command.env(variable, format!("/proc/self/fd/{number}"));
                Ok((rustix::io::fcntl_dupfd_cloexec(end, 5)?, number))
            })
            .collect::<io::Result<Vec<_>>>()?;
        // What follows replaces them.
        drop(pipes);
        let filters = Filters::compile()?;
        let cwd = std::env::current_dir()?;
        sandbox::enter(&self.sandbox, &[], &self.hidden)?;
        std::env::set_current_dir(cwd)?;
        for (end, number) in &ends {
            sys::place_fd(end.as_fd(), *number)?;
        }
        capabilities::drop_bounding_set(false)?;
        self.confinement.apply()?;
        sys::prepare_exec(false)?;
        capabilities::give_up(false)?;
        filters.install()?;
        Ok(command)
    }
}

/// Waits for the program, and for its children that have lost their parents. Returns the program's status.
fn wait_for_program(program: i32) -> io::Result<i32> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == Pid::from_raw(program) => {
                let signal = status.terminating_signal().unwrap_or(0);
                return Ok(status.exit_status().unwrap_or(SIGNALLED + signal));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
