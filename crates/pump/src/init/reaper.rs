//! Starting processes and collecting them, the orphans of others included.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::endpoint::Endpoint;
use crate::facts::Side;
use crate::protocol::{ExitWire, ProcessEvent, SpawnWire};
use crate::sys;

/// Knows the processes that the owner started.
#[derive(Clone, Default)]
pub(super) struct Reaper {
    book: Arc<Mutex<ProcessTable>>,
}

#[derive(Default)]
struct ProcessTable {
    running: HashMap<i32, Started>,
    /// CPU of those that ended, client and server.
    ended_cpu_ns: [u64; 2],
}

struct Started {
    side: Side,
    told: PipeWriter,
    /// The terminal it was given.
    terminal: Option<OwnedFd>,
}

impl Reaper {
    /// Starts the thread that collects. SIGCHLD must be blocked in every thread.
    pub(super) fn start() -> Reaper {
        let reaper = Reaper::default();
        let collector = reaper.clone();
        std::thread::spawn(move || {
            loop {
                sys::wait_child_signal();
                collector.collect();
            }
        });
        reaper
    }

    /// Starts a process at an endpoint. Returns its id and where its exit will be told.
    pub(super) fn spawn(
        &self,
        endpoint: &Endpoint,
        what: SpawnWire,
        fds: Vec<OwnedFd>,
    ) -> io::Result<(i32, io::PipeReader)> {
        if fds.len() != what.targets.len() {
            return Err(io::Error::other(
                "descriptors and their numbers do not match",
            ));
        }
        let (exit, told) = io::pipe()?;
        let program = OsString::from(what.program);
        let mut command = Command::new(&program);
        command.args(what.args.into_iter().map(OsString::from));
        command.env_clear();
        command.envs(
            what.env
                .into_iter()
                .map(|(k, v)| (OsString::from(k), OsString::from(v))),
        );
        if let Some(cwd) = what.cwd {
            command.current_dir(OsString::from(cwd));
        }
        let terminal = if what.foreground {
            let tty = what
                .targets
                .iter()
                .zip(&fds)
                .find(|(to, fd)| **to < 3 && fd.is_terminal());
            tty.map(|(_, fd)| fd.try_clone()).transpose()?
        } else {
            None
        };
        let placed = place(&mut command, fds, &what.targets)?;
        let netns = endpoint.netns.fd().try_clone_to_owned()?;
        let foreground = what.foreground;
        let prepare = move || {
            sys::enter_netns(netns.as_fd())?;
            for (fd, target) in &placed {
                sys::place_fd(fd.as_fd(), *target)?;
            }
            sys::prepare_exec(foreground)
        };
        // SAFETY: `prepare` only makes system calls; it neither allocates nor takes a lock.
        unsafe { command.pre_exec(prepare) };

        // Held until the child is in the book, so that it is not collected before; and through
        // a failed exec, whose child the standard library collects itself.
        let mut book = self.lock();
        let child = command.spawn().map_err(|e| {
            io::Error::new(e.kind(), format!("cannot run {}: {e}", program.display()))
        })?;
        let pid = child.id() as i32;
        book.running.insert(
            pid,
            Started {
                side: endpoint.side,
                told,
                terminal,
            },
        );
        Ok((pid, exit))
    }

    /// Signals a process's group, and with `whole_tree` its descendants in other groups too.
    pub(super) fn kill(&self, pid: i32, signal: i32, whole_tree: bool) -> io::Result<()> {
        if pid <= 1 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let descendants = if whole_tree {
            descendants(pid)
        } else {
            Vec::new()
        };
        match sys::kill(-pid, signal) {
            Err(e) if e.raw_os_error() != Some(libc::ESRCH) => return Err(e),
            _ => {}
        }
        for pid in descendants {
            // It may have ended in the meantime.
            let _signalled = sys::kill(pid, signal);
        }
        Ok(())
    }

    /// Goes on with a stopped process.
    pub(super) fn resume(&self, pid: i32, foreground: bool) -> io::Result<()> {
        if let (true, Some(started)) = (foreground, self.lock().running.get(&pid))
            && let Some(terminal) = &started.terminal
        {
            sys::give_terminal(terminal.as_fd(), pid)?;
        }
        self.kill(pid, libc::SIGCONT, false)
    }

    /// CPU of all processes of a side that have ended and been collected here.
    pub(super) fn ended_cpu_ns(&self, side: Side) -> u64 {
        self.lock().ended_cpu_ns[side as usize]
    }

    fn collect(&self) {
        let mut book = self.lock();
        while let Some(ended) = sys::reap() {
            let Some(started) = book.running.get_mut(&ended.pid) else {
                continue;
            };
            if libc::WIFSTOPPED(ended.status) {
                if started.terminal.is_some() {
                    tell(&mut started.told, &ProcessEvent::Stopped);
                }
                continue;
            }
            let exit = ExitWire {
                status: ended.status,
                cpu_ns: ended.cpu_ns,
            };
            tell(&mut started.told, &ProcessEvent::Exited(exit));
            let side = started.side;
            book.running.remove(&ended.pid);
            book.ended_cpu_ns[side as usize] += ended.cpu_ns;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ProcessTable> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the owner; one that dropped its end does not want to know.
fn tell(to: &mut PipeWriter, told: &ProcessEvent) {
    if let Ok(mut line) = serde_json::to_vec(told) {
        line.push(b'\n');
        let _told = to.write_all(&line);
    }
}

/// Gives the standard descriptors to the command and returns the others with their numbers,
/// moved above all of these so that placing one never closes another.
fn place(
    command: &mut Command,
    fds: Vec<OwnedFd>,
    targets: &[i32],
) -> io::Result<Vec<(OwnedFd, i32)>> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let above = targets
        .iter()
        .max()
        .map_or(3, |highest| highest.saturating_add(1));
    if targets
        .iter()
        .any(|target| !(0..TARGET_MAX).contains(target))
    {
        return Err(io::Error::other(format!(
            "descriptors go under 0 to {TARGET_MAX} only"
        )));
    }
    let mut others = Vec::new();
    for (fd, target) in fds.into_iter().zip(targets) {
        match target {
            0 => drop(command.stdin(fd)),
            1 => drop(command.stdout(fd)),
            2 => drop(command.stderr(fd)),
            _ => others.push((move_above(fd.as_fd(), above)?, *target)),
        }
    }
    Ok(others)
}

fn move_above(fd: BorrowedFd<'_>, above: i32) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, above)?)
}

/// All processes below `root`, by one walk over /proc.
fn descendants(root: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let parents: Vec<(i32, i32)> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while next < found.len() {
        let of = found[next];
        found.extend(
            parents
                .iter()
                .filter(|(_, parent)| *parent == of)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    found.split_off(1)
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything, the last bracket ends it.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

const TARGET_MAX: i32 = 256;
