//! Resources used by the processes of an endpoint, and CPU time stolen from the machine.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::sys;

/// `cutime` is field 16 of proc_pid_stat(5), the 14th after the name; `cstime` follows.
const CUTIME_AFTER_NAME: usize = 13;
/// USER_HZ is 100 on every architecture that Rust supports.
const NS_PER_TICK: u64 = 10_000_000;

/// Resources used so far by the running processes of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// CPU time, including exited threads and children that they waited for.
    pub(super) cpu_ns: u64,
    /// Time for which their threads were runnable but waited for a core.
    pub(super) run_queue_wait_ns: u64,
    /// Sum of their peak resident sizes, each since its exec.
    pub(super) peak_rss_bytes: u64,
}

/// Sums up every process in a network namespace, given by its inode.
pub(super) fn usage_in(netns: u64) -> io::Result<Usage> {
    let mut usage = Usage::default();
    for pid in processes_in(netns)? {
        // A process that ends meanwhile is counted by its parent or the reaper.
        usage.cpu_ns += sys::process_cpu_ns(pid).unwrap_or(0) + children_cpu_ns(pid).unwrap_or(0);
        usage.run_queue_wait_ns += run_queue_wait_ns(pid);
        usage.peak_rss_bytes += peak_rss_bytes(pid).unwrap_or(0);
    }
    Ok(usage)
}

/// Returns every process in a network namespace, given by its inode.
pub(super) fn processes_in(netns: u64) -> io::Result<Vec<i32>> {
    let all = fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_in =
        |pid: &i32| fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|m| m.ino() == netns);
    Ok(all.filter(is_in).collect())
}

/// Returns the CPU time of the children that a process waited for. The kernel counts it in ticks of
/// 10 ms.
fn children_cpu_ns(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat
        .rsplit_once(')')?
        .1
        .split_whitespace()
        .skip(CUTIME_AFTER_NAME);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks * NS_PER_TICK)
}

fn run_queue_wait_ns(pid: i32) -> u64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return 0;
    };
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum()
}

/// Reads `VmHWM` of proc_pid_status(5). The value of wait4(2) would include the memory that the
/// process had as a copy of its parent before exec.
fn peak_rss_bytes(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix("kB"))?;
    Some(kib.trim().parse::<u64>().ok()? * 1024)
}

/// Returns the CPU time of the machine since boot, in ticks: stolen by the hypervisor, and in all.
pub(super) fn machine_ticks() -> io::Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat")?;
    Ok(parse_steal(&stat).unwrap_or((0, 0)))
}

/// Parses the `cpu` line: user nice system idle iowait irq softirq steal. Guest time is part of
/// user.
fn parse_steal(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .flat_map(str::parse)
        .collect();
    Some((*fields.get(7)?, fields.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_parsed_and_guest_time_counts_once() {
        let stat = "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(parse_steal(stat), Some((80, 360)));
        assert_eq!(parse_steal("cpu  1 2\n"), None);
    }

    #[test]
    fn usage_of_this_process_is_read() {
        let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let usage = usage_in(own).unwrap();
        assert!(usage.cpu_ns > 0 && usage.peak_rss_bytes > 0);
        assert_eq!(usage_in(0).unwrap(), Usage::default());
    }
}
