//! What a test may leave behind: nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid, set_child_subreaper};

/// What was there before a test.
pub struct Before {
    interfaces: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Before {
    /// From here on orphans of our children become ours, whoever their parents were.
    pub fn look() -> Before {
        set_child_subreaper(Some(getpid())).unwrap();
        Before {
            interfaces: interfaces(),
            namespaces: mounted_namespaces(),
        }
    }

    /// Processes, namespaces kept by a mount, and interfaces that came and did not go. A
    /// network namespace lives by a process, a mount, or a socket of a process: where none
    /// of ours is left, neither is a namespace. The kernel may take a moment over its ends.
    pub fn what_is_left(&self) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let mut left = descendants();
            left.extend(interfaces().difference(&self.interfaces).cloned());
            left.extend(mounted_namespaces().difference(&self.namespaces).cloned());
            if left.is_empty() || Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Far longer than a busy machine takes to end a namespace's processes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Living processes that descend from this one, as `pid command`.
fn descendants() -> Vec<String> {
    below(getpid())
        .iter()
        .map(|(pid, name)| format!("process {pid} {name}"))
        .collect()
}

/// Living processes below `root`, itself apart: id and name.
pub fn below(root: Pid) -> Vec<(Pid, String)> {
    let all: BTreeMap<i32, Process> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, Process::read(pid)?)))
        .collect();
    let root = root.as_raw_nonzero().get();
    all.iter()
        .filter(|(_, p)| p.state != 'Z' && ancestors(&all, p).any(|a| a == root))
        .filter_map(|(pid, p)| Some((Pid::from_raw(*pid)?, p.name.clone())))
        .collect()
}

fn ancestors<'a>(
    all: &'a BTreeMap<i32, Process>,
    of: &'a Process,
) -> impl Iterator<Item = i32> + 'a {
    std::iter::successors(Some(of.parent), |pid| all.get(pid).map(|p| p.parent))
}

struct Process {
    name: String,
    state: char,
    parent: i32,
}

impl Process {
    /// `pid (name) state ppid ...`, proc_pid_stat(5); the name may hold anything.
    fn read(pid: i32) -> Option<Process> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (head, tail) = text.rsplit_once(')')?;
        let mut fields = tail.split_whitespace();
        Some(Process {
            name: head.split_once('(')?.1.to_owned(),
            state: fields.next()?.chars().next()?,
            parent: fields.next()?.parse().ok()?,
        })
    }
}

fn interfaces() -> BTreeSet<String> {
    fs::read_to_string("/proc/net/dev")
        .unwrap()
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| format!("interface {}", name.trim()))
        .collect()
}

/// Mounts of files of /proc/PID/ns, which keep a namespace without a process.
fn mounted_namespaces() -> BTreeSet<String> {
    fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .filter(|line| line.contains(" - nsfs "))
        .map(str::to_owned)
        .collect()
}
