//! Starting a program that speaks over pipes, outside any bench.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::env::{ENV_IN, ENV_OUT};

/// A program that runs, and our ends of its pipes.
#[derive(Debug)]
pub struct Started {
    /// The process; whoever holds it ends it.
    pub child: Child,
    /// The end we read.
    pub read: OwnedFd,
    /// The end we write.
    pub write: OwnedFd,
}

/// Starts `command` with the names of two pipes in its environment.
pub fn start(mut command: Command) -> io::Result<Started> {
    let (their_in, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (read, their_out) = pipe_with(PipeFlags::CLOEXEC)?;
    // Another process may open a pipe by the name it has in ours.
    let name = |end: &OwnedFd| format!("/proc/{}/fd/{}", std::process::id(), end.as_raw_fd());
    let child = command
        .env(ENV_IN, name(&their_in))
        .env(ENV_OUT, name(&their_out))
        .spawn()?;
    keep_while_alive(&child, [their_in, their_out])?;
    Ok(Started { child, read, write })
}

/// Keeps the program's ends open until it has ended, so that it may open them when it likes and
/// its death is still the end of the file.
fn keep_while_alive(child: &Child, ends: [OwnedFd; 2]) -> io::Result<()> {
    let pid = Pid::from_child(child);
    let alive = pidfd_open(pid, PidfdFlags::empty())?;
    std::thread::spawn(move || {
        let mut over = [PollFd::new(&alive, PollFlags::IN)];
        while poll(&mut over, None).is_err() {}
        drop(ends);
    });
    Ok(())
}
