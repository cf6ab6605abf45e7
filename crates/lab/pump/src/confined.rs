//! Runs one program confined, without a bench: it sees the machine's network, which nothing measures.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::capabilities;
use crate::confinement::{Confinement, Sandbox};
use crate::init::sandbox;
use crate::seccomp::Filters;
use crate::sys;

/// A program to run in place of the calling process, which must be privileged.
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
    /// Replaces the calling process, which must have a single thread. Returns only an error.
    pub fn exec(self) -> io::Error {
        match self.prepare() {
            Ok(mut command) => command.exec(),
            Err(e) => e,
        }
    }

    fn prepare(&self) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        let user = self.confinement.user;
        let [input, output] = &self.pipes;
        let named = |variable: &str| {
            std::env::var_os(variable)
                .ok_or_else(|| io::Error::other(format!("{variable} is not set")))
        };
        let ends: [(OwnedFd, &str, i32); 2] = [
            (
                OpenOptions::new().read(true).open(named(input)?)?.into(),
                input,
                3,
            ),
            (
                OpenOptions::new().write(true).open(named(output)?)?.into(),
                output,
                4,
            ),
        ];
        // Opened first, above both numbers, so that placing one never closes the other.
        let ends = ends
            .into_iter()
            .map(|(end, variable, number)| {
                fchown(&end, user, user)?;
                command.env(variable, format!("/proc/self/fd/{number}"));
                Ok((rustix::io::fcntl_dupfd_cloexec(&end, 5)?, number))
            })
            .collect::<io::Result<Vec<_>>>()?;
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
