//! Resources used by the processes of an endpoint, and CPU time stolen from the machine.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::sys;

/// `cutime` is field 16 of proc_pid_stat(5), the 14th after the name; `cstime` follows.
const CUTIME_AFTER_NAME: usize = 13;
/// `rss` is field 24, in pages; fields of `stat` after the name begin with the third.
const RSS_AFTER_NAME: usize = 21;
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

/// What is sampled within a window: cheaper to read than [`Usage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    /// As [`Usage::cpu_ns`].
    pub(super) cpu_ns: u64,
    /// Sum of the resident sizes of its processes.
    pub(super) rss_bytes: u64,
}

/// Sums up every process in each of two network namespaces, given by their inodes.
pub(super) fn footprints(netns: [u64; 2]) -> io::Result<[Footprint; 2]> {
    let mut all = [Footprint::default(); 2];
    for (pid, of) in processes()? {
        let Some(side) = netns.iter().position(|n| *n == of) else {
            continue;
        };
        let footprint = &mut all[side];
        let (children_cpu_ns, rss_bytes) = stat(pid).unwrap_or_default();
        footprint.cpu_ns += sys::process_cpu_ns(pid).unwrap_or(0) + children_cpu_ns;
        footprint.rss_bytes += rss_bytes;
    }
    Ok(all)
}

/// Sums up every process in a network namespace, given by its inode.
pub(super) fn usage_in(netns: u64) -> io::Result<Usage> {
    let mut usage = Usage::default();
    for pid in processes_in(netns)? {
        // A process that ends meanwhile is counted by its parent or the reaper.
        let (children_cpu_ns, _) = stat(pid).unwrap_or_default();
        usage.cpu_ns += sys::process_cpu_ns(pid).unwrap_or(0) + children_cpu_ns;
        usage.run_queue_wait_ns += run_queue_wait_ns(pid);
        usage.peak_rss_bytes += peak_rss_bytes(pid).unwrap_or(0);
    }
    Ok(usage)
}

/// Returns every process in a network namespace, given by its inode.
pub(super) fn processes_in(netns: u64) -> io::Result<Vec<i32>> {
    Ok(processes()?
        .filter_map(|(pid, of)| (of == netns).then_some(pid))
        .collect())
}

/// Returns every process with the inode of its network namespace.
fn processes() -> io::Result<impl Iterator<Item = (i32, u64)>> {
    let all = fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    Ok(all.filter_map(|pid| {
        let netns = fs::metadata(format!("/proc/{pid}/ns/net")).ok()?;
        Some((pid, netns.ino()))
    }))
}

/// Returns the CPU time of the children that a process waited for, which the kernel counts in ticks of
/// 10 ms, and its resident size.
fn stat(pid: i32) -> Option<(u64, u64)> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(stat: &str) -> Option<(u64, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |i: usize| fields.get(i)?.parse::<u64>().ok();
    let ticks = number(CUTIME_AFTER_NAME)? + number(CUTIME_AFTER_NAME + 1)?;
    let rss_bytes = number(RSS_AFTER_NAME)? * rustix::param::page_size() as u64;
    Some((ticks * NS_PER_TICK, rss_bytes))
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
    fn stat_is_parsed_behind_any_name() {
        let page = rustix::param::page_size() as u64;
        let stat =
            "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 50 60 3 4 20 0 1 0 99 1000000 25 18446744073709551615";
        assert_eq!(parse_stat(stat), Some((7 * NS_PER_TICK, 25 * page)));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }

    #[test]
    fn footprint_of_this_process_is_read() {
        let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let [this, nobody] = footprints([own, 0]).unwrap();
        assert!(this.cpu_ns > 0 && this.rss_bytes > 0);
        assert_eq!(nobody, Footprint::default());
    }

    #[test]
    fn usage_of_this_process_is_read() {
        let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let usage = usage_in(own).unwrap();
        assert!(usage.cpu_ns > 0 && usage.peak_rss_bytes > 0);
        assert_eq!(usage_in(0).unwrap(), Usage::default());
    }
}
