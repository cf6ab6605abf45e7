//! CPU time of every process on the machine that is not part of a bench.

use std::collections::HashMap;
use std::fs;

use crate::sys;

/// `ppid` is field 4 of proc_pid_stat(5), the second after the name.
const PPID_AFTER_NAME: usize = 1;
/// `cutime` is field 16; `cstime` follows.
const CUTIME_AFTER_PPID: usize = 11;
/// USER_HZ is 100 on every architecture that Rust supports.
const NS_PER_TICK: u64 = 10_000_000;

/// CPU time of each process outside a bench at one moment, by process id.
#[derive(Debug)]
pub(crate) struct OtherCpu(HashMap<i32, u64>);

impl OtherCpu {
    /// Reads the CPU time of all processes but this one, the descendants of `init` and
    /// `kernel_threads`, which work for the bench. Returns `None` when some processes are
    /// invisible, i.e. in a container or where /proc hides those of other users.
    pub(crate) fn read(init: u32, kernel_threads: &[i32]) -> Option<Self> {
        // The parent of all kernel threads has this id; it is visible if every process is.
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
            let mut ancestor = pid;
            loop {
                if ancestor == init as i32 {
                    return false;
                }
                match all.get(&ancestor) {
                    Some(process) if process.parent > 0 => ancestor = process.parent,
                    _ => return pid != own && !kernel_threads.contains(&pid),
                }
            }
        };
        let others = all.iter().filter(|(pid, _)| is_other(**pid));
        Some(Self(others.map(|(pid, p)| (*pid, p.cpu_ns)).collect()))
    }

    /// Returns the CPU time used since `earlier`. A process that started and ended in between
    /// counts only as far as its parent waited for it.
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
    /// Includes the children that it waited for.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn counts_processes_outside_the_bench_only() {
        let Some(before) = OtherCpu::read(0, &[]) else {
            return testing::skip("not all processes are visible here");
        };
        let mut busy = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        // 30 ms of CPU time; a crowded machine only makes that take longer. A minute is a deadline
        // against hanging.
        while sys::process_cpu_ns(busy.id() as i32).unwrap() < 30_000_000 {
            assert!(started.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        let outside = OtherCpu::read(0, &[]).unwrap().since(&before);
        let inside = OtherCpu::read(busy.id(), &[]).unwrap();
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(outside >= 30_000_000, "{outside}");
        assert!(!inside.0.contains_key(&(busy.id() as i32)));
    }
}
