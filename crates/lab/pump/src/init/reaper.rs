//! Starts processes and reaps them, together with orphans.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{CString, OsString};
use std::fs;
use std::io::{self, IsTerminal, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::endpoint::Endpoint;
use super::sandbox::Namespaces;
use crate::capabilities;
use crate::facts::Side;
use crate::protocol::{ExitWire, ProcessEvent, SpawnWire};
use crate::seccomp::Filters;
use crate::sys;

/// Descriptor numbers of a process must be below this.
const TARGET_MAX: i32 = 256;
/// Helper processes of a program that has ended may need a moment to notice it.
const END_GRACE: Duration = Duration::from_secs(1);
/// A killed process may first finish a write to a slow disk.
const END_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Most children to reap before others may have the table: programs can leave orphans faster than these are reaped.
const REAP_BATCH: usize = 256;
/// Most processes that an error lists.
const NAMED_IN_ERROR: usize = 10;

/// The processes that the owner started.
#[derive(Clone, Default)]
pub(super) struct Reaper {
    table: Arc<Mutex<ProcessTable>>,
}

#[derive(Default)]
struct ProcessTable {
    running: HashMap<i32, RunningProcess>,
    /// CPU time of processes that have ended, client and server.
    ended_cpu_ns: [u64; 2],
}

struct RunningProcess {
    side: Side,
    events: PipeWriter,
    /// The terminal that it was given.
    terminal: Option<OwnedFd>,
}

/// Where a process runs.
pub(super) struct Place<'a> {
    pub(super) endpoint: &'a Endpoint,
    /// Those of its sandbox, if it is in one.
    pub(super) namespaces: Option<Namespaces>,
}

impl Reaper {
    /// Starts the thread that reaps. SIGCHLD must be blocked in every thread.
    pub(super) fn start() -> Reaper {
        let reaper = Reaper::default();
        let collector = reaper.clone();
        std::thread::spawn(move || {
            loop {
                sys::wait_child_signal();
                while collector.collect() {
                    // The lock is not fair: without a pause the others would not get it.
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
        });
        reaper
    }

    /// Starts a process at an endpoint. Returns its id and the pipe that its events are written to.
    pub(super) fn spawn(
        &self,
        place: &Place<'_>,
        spawn: SpawnWire,
        mut fds: Vec<OwnedFd>,
    ) -> io::Result<(i32, io::PipeReader)> {
        let cgroup = if spawn.in_cgroup { fds.pop() } else { None };
        if fds.len() != spawn.targets.len() {
            return Err(io::Error::other(
                "the number of descriptors differs from that of their targets",
            ));
        }
        let (event_reader, events) = io::pipe()?;
        let program = OsString::from(spawn.program);
        let mut command = Command::new(&program);
        command.args(spawn.args.into_iter().map(OsString::from));
        command.env_clear();
        command.envs(
            spawn
                .env
                .into_iter()
                .map(|(k, v)| (OsString::from(k), OsString::from(v))),
        );
        // Looked up in the sandbox, if there is one.
        let cwd = spawn
            .cwd
            .map(|cwd| CString::new(OsString::from(cwd).into_vec()));
        let cwd = cwd.transpose()?;
        let terminal = if spawn.foreground {
            let tty = spawn
                .targets
                .iter()
                .zip(&fds)
                .find(|(to, fd)| **to < 3 && fd.is_terminal());
            tty.map(|(_, fd)| fd.try_clone()).transpose()?
        } else {
            None
        };
        let placed = place_fds(&mut command, fds, &spawn.targets)?;
        let filters = spawn.confinement.map(|_| Filters::compile()).transpose()?;
        let namespaces = place.namespaces.as_ref().map(Namespaces::try_clone);
        let namespaces = namespaces.transpose()?;
        let netns = place.endpoint.netns.fd().try_clone_to_owned()?;
        let SpawnWire {
            foreground,
            raw_sockets,
            confinement,
            ..
        } = spawn;
        let prepare = move || {
            if let Some(cgroup) = &cgroup {
                sys::write(cgroup.as_fd(), b"0")?;
            }
            sys::enter_netns(netns.as_fd())?;
            if let Some(namespaces) = &namespaces {
                namespaces.enter()?;
            }
            if let Some(cwd) = &cwd {
                sys::change_dir(cwd)?;
            }
            for (fd, target) in &placed {
                sys::place_fd(fd.as_fd(), *target)?;
            }
            capabilities::drop_bounding_set(raw_sockets)?;
            if let Some(confinement) = &confinement {
                confinement.apply()?;
            }
            sys::prepare_exec(foreground)?;
            capabilities::give_up(raw_sockets)?;
            match &filters {
                Some(filters) => filters.install(),
                None => Ok(()),
            }
        };
        // SAFETY: `prepare` only makes system calls; it neither allocates nor takes a lock.
        unsafe { command.pre_exec(prepare) };

        // Locked until the child is in the table, so that it is not reaped before; and during a
        // failed exec, whose child the standard library reaps itself.
        let mut table = self.lock();
        let child = command.spawn().map_err(|e| {
            io::Error::new(e.kind(), format!("cannot run {}: {e}", program.display()))
        })?;
        let pid = child.id() as i32;
        table.running.insert(
            pid,
            RunningProcess {
                side: place.endpoint.side,
                events,
                terminal,
            },
        );
        Ok((pid, event_reader))
    }

    /// Sends a signal to a process's group and, with `whole_tree`, to its descendants in other
    /// groups.
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

    /// Waits until every process of the bench has ended, and kills those that do not end by themselves. Returns the names
    /// of those that it killed.
    pub(super) fn end_all(&self) -> io::Result<BTreeSet<String>> {
        let started = Instant::now();
        let mut killed = BTreeSet::new();
        loop {
            self.collect();
            if !sys::have_others()? {
                return Ok(killed);
            }
            if started.elapsed() > END_LIMIT {
                let left = others();
                return Err(io::Error::other(format!(
                    "{} processes could not be killed: {:?} ...",
                    left.len(),
                    &left[..left.len().min(NAMED_IN_ERROR)]
                )));
            }
            if started.elapsed() > END_GRACE {
                // Once: there may be tens of thousands, and no further ones start after they are killed.
                if killed.is_empty() {
                    let names = others().into_iter().map(name_of);
                    killed.extend(names.filter(|name| !name.is_empty()));
                }
                // All at once: a process that forks and exits is gone before a signal to it alone.
                sys::kill_others()?;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Continues a stopped process, with its terminal if `foreground`.
    pub(super) fn resume(&self, pid: i32, foreground: bool) -> io::Result<()> {
        if let (true, Some(process)) = (foreground, self.lock().running.get(&pid))
            && let Some(terminal) = &process.terminal
        {
            sys::give_terminal(terminal.as_fd(), pid)?;
        }
        self.kill(pid, libc::SIGCONT, false)
    }

    /// Returns the CPU time of all processes of a side that have ended and been reaped here.
    pub(super) fn ended_cpu_ns(&self, side: Side) -> u64 {
        self.lock().ended_cpu_ns[side as usize]
    }

    /// Reaps at most [`REAP_BATCH`] children. Returns whether there may be more.
    fn collect(&self) -> bool {
        let mut table = self.lock();
        for _ in 0..REAP_BATCH {
            let Some(child) = sys::reap() else {
                return false;
            };
            let Some(process) = table.running.get_mut(&child.pid) else {
                continue;
            };
            if libc::WIFSTOPPED(child.status) {
                if process.terminal.is_some() {
                    send_event(&mut process.events, &ProcessEvent::Stopped);
                }
                continue;
            }
            let exit = ExitWire {
                status: child.status,
                cpu_ns: child.cpu_ns,
            };
            send_event(&mut process.events, &ProcessEvent::Exited(exit));
            let side = process.side;
            table.running.remove(&child.pid);
            table.ended_cpu_ns[side as usize] += child.cpu_ns;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, ProcessTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send_event(to: &mut PipeWriter, event: &ProcessEvent) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        // Fails if the owner has dropped its end and so is not interested.
        let _sent = to.write_all(&line);
    }
}

/// Gives the standard descriptors to the command. Returns the others with their targets, moved
/// above all targets so that placing one never closes another.
fn place_fds(
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
            "descriptor numbers must be from 0 to {}",
            TARGET_MAX - 1
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

/// Returns the processes besides this one.
fn others() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != std::process::id() as i32)
        .collect()
}

/// Returns all descendants of `root`, from one scan of /proc.
fn descendants(root: i32) -> Vec<i32> {
    let parents: Vec<(i32, i32)> = others()
        .into_iter()
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

/// Returns the name of a process as `ps` shows it; empty once it has ended.
fn name_of(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may itself contain brackets: the last one ends it.
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starting a program takes the same lock.
    #[test]
    fn lock_is_released_before_all_children_are_reaped() {
        let reaper = Reaper::default();
        let (mut all_ended, inherited) = io::pipe().expect("a pipe");
        // A process of its own, since collecting takes the children of other tests, too. It only makes system calls.
        let Some(parent) = sys::fork().expect("a process") else {
            for _ in 0..=REAP_BATCH {
                match sys::fork() {
                    Ok(None) => sys::exit_now(0),
                    Ok(Some(_)) => {}
                    Err(_) => sys::exit_now(2),
                }
            }
            drop(inherited);
            let read = io::Read::read(&mut all_ended, &mut [0]);
            std::thread::sleep(POLL_INTERVAL * 50);
            let more = reaper.collect();
            let left = sys::reap().is_some();
            sys::exit_now(i32::from(read.is_err() || !more || !left));
        };
        drop(inherited);
        let parent = rustix::process::Pid::from_raw(parent);
        let ended = rustix::process::waitpid(parent, rustix::process::WaitOptions::empty());
        let (_, status) = ended.expect("it is a child").expect("it has ended");
        assert_eq!(status.exit_status(), Some(0));
    }
}
