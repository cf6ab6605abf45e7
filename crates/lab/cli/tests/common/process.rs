//! Processes as /proc shows them.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, Signal};

struct Process {
    name: String,
    state: char,
    parent: i32,
}

impl Process {
    /// Parses `pid (name) state ppid ...`, proc_pid_stat(5); the name may contain any character.
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

/// Returns ID and name of each descendant of a process, without zombies.
pub fn descendants(root: Pid) -> Vec<(Pid, String)> {
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

/// Returns whether a driver runs below this process.
pub fn has_driver(root: Pid) -> bool {
    descendants(root).iter().any(|(pid, _)| is_driver(*pid))
}

/// Returns whether a process is a Rust driver.
pub fn is_driver(pid: Pid) -> bool {
    has_argument(pid, "driver")
}

/// Returns whether a process was started with this argument.
pub fn has_argument(pid: Pid, argument: &str) -> bool {
    let path = format!("/proc/{}/cmdline", pid.as_raw_nonzero());
    let line = fs::read(path).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|found| found == argument.as_bytes())
}

/// Returns whether a process has handlers for all of these signals: SigCgt in
/// proc_pid_status(5), whose bit 0 is signal 1.
pub fn handles(pid: Pid, signals: &[Signal]) -> bool {
    let pid = pid.as_raw_nonzero();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .unwrap();
    let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
    signals
        .iter()
        .all(|signal| caught >> (signal.as_raw() - 1) & 1 == 1)
}

fn ancestors<'a>(
    all: &'a BTreeMap<i32, Process>,
    of: &'a Process,
) -> impl Iterator<Item = i32> + 'a {
    std::iter::successors(Some(of.parent), |pid| all.get(pid).map(|p| p.parent))
}
