//! The two pipes between lab and driver, and how a driver finds them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::FdFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Gid, Uid};

/// Environment variable: the path a driver opens first, and reads requests from.
pub const ENV_IN: &str = "COMMUTE_IN";
/// Environment variable: the path a driver opens next, and writes replies to.
pub const ENV_OUT: &str = "COMMUTE_OUT";
/// Environment variable: `host:port` to connect to instead of opening paths.
pub const ENV_CONNECT: &str = "COMMUTE_CONNECT";

/// The driver's ends. Drop them once it runs, or its death will not be seen.
pub struct DriverEnds {
    input: OwnedFd,
    output: OwnedFd,
}

/// Makes both pipes: the host's read and write ends, and the driver's.
///
/// All four are closed on exec, so that no process started meanwhile holds one open;
/// [`DriverEnds::pass_to`] lets the one child have its two.
pub fn pipes() -> io::Result<(OwnedFd, OwnedFd, DriverEnds)> {
    let (input, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (read, output) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((read, write, DriverEnds { input, output }))
}

impl DriverEnds {
    /// What to put into the driver's environment.
    pub fn env(&self) -> [(&'static str, String); 2] {
        let path = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
        [(ENV_IN, path(&self.input)), (ENV_OUT, path(&self.output))]
    }

    /// Gives both to the user the driver will run as: opening a path under `/proc/self/fd`
    /// asks the pipe's own mode, which is 0600.
    pub fn chown(&self, uid: Uid, gid: Gid) -> io::Result<()> {
        for fd in [&self.input, &self.output] {
            rustix::fs::fchown(fd, Some(uid), Some(gid))?;
        }
        Ok(())
    }

    /// Lets the child of `command`, and no other process, inherit both; sets its
    /// environment.
    pub fn pass_to(&self, command: &mut Command) {
        command.envs(self.env());
        let fds = [self.input.as_raw_fd(), self.output.as_raw_fd()];
        let inherit = move || {
            for fd in fds {
                // SAFETY: the parent holds both open in `self` until the spawn is over, so
                // in the child, its copy, the numbers are those descriptors.
                let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
                rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec the closure makes two fcntl calls, which are
        // async-signal-safe, and allocates nothing.
        unsafe { command.pre_exec(inherit) };
    }
}
