//! What everybody else on the machine used of its cores: all processes but a bench's own.

use std::collections::HashMap;
use std::fs;

use crate::sys;

/// CPU of each process outside a bench at one moment.
#[derive(Debug)]
pub(crate) struct OtherCpu(HashMap<i32, u64>);

impl OtherCpu {
    /// Everything but this process, the descendants of `init`, and `threads`, which are the
    /// kernel's work for the bench. `None` when not all processes can be seen: inside a
    /// container, or where /proc hides those of others.
    pub(crate) fn read(init: u32, threads: &[i32]) -> Option<Self> {
        // The parent of all kernel threads has this id, and can be seen by who sees all.
        let kernel = fs::read_to_string("/proc/2/comm").ok()?;
        if kernel.trim_end() != "kthreadd" {
            return None;
        }
        let all: HashMap<i32, Process> = fs::read_dir("/proc")
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|pid| Some((pid, Process::read(pid)?)))
            .collect();
        let own = std::process::id() as i32;
        let is_other = |pid: i32| {
            let mut at = pid;
            loop {
                if at == init as i32 {
                    return false;
                }
                match all.get(&at) {
                    Some(process) if process.parent > 0 => at = process.parent,
                    _ => return pid != own && !threads.contains(&pid),
                }
            }
        };
        let others = all.iter().filter(|(pid, _)| is_other(**pid));
        Some(Self(others.map(|(pid, p)| (*pid, p.cpu_ns)).collect()))
    }

    /// What they used since `earlier`. Of a process that came and went meanwhile only what its
    /// parent was told counts.
    pub(crate) fn since(&self, earlier: &Self) -> u64 {
        let before = |pid| earlier.0.get(pid).copied().unwrap_or(0);
        self.0
            .iter()
            .map(|(pid, cpu_ns)| cpu_ns.saturating_sub(before(pid)))
            .sum()
    }
}

struct Process {
    parent: i32,
    cpu_ns: u64,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let parent = fields.nth(PPID_AFTER_NAME)?.parse().ok()?;
        let children = fields.skip(CUTIME_AFTER_PPID).take(2);
        let ticks: u64 = children.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Some(Self {
            parent,
            cpu_ns: sys::process_cpu_ns(pid)? + ticks * NS_PER_TICK,
        })
    }
}

/// `ppid` is field 4 of proc_pid_stat(5), the second behind the name.
const PPID_AFTER_NAME: usize = 1;
/// `cutime` is field 16; `cstime` follows.
const CUTIME_AFTER_PPID: usize = 11;
/// USER_HZ is 100 on every architecture that Rust knows.
const NS_PER_TICK: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// A busy child counts, unless it is the bench's.
    #[test]
    fn others_are_those_outside() {
        let Some(before) = OtherCpu::read(0, &[]) else {
            eprintln!("SKIPPED: not all processes can be seen here");
            return;
        };
        let mut busy = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        // CPU time, not wall time, so that a crowded machine only makes this longer.
        while sys::process_cpu_ns(busy.id() as i32).unwrap() < 30_000_000 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        let seen = OtherCpu::read(0, &[]).unwrap().since(&before);
        let hidden = OtherCpu::read(busy.id(), &[]).unwrap();
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(seen >= 30_000_000, "{seen}");
        assert!(!hidden.0.contains_key(&(busy.id() as i32)));
    }
}
