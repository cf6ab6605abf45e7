//! CPU and waiting of the processes of an endpoint, and what the machine as a whole lost.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use crate::sys;

/// What the running processes of an endpoint have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// CPU of them, of their exited threads, and of the children they waited for.
    pub(super) cpu_ns: u64,
    /// How long their threads were ready to run and did not.
    pub(super) run_queue_wait_ns: u64,
    /// The most memory they held, each since its program began, together.
    pub(super) peak_rss_bytes: u64,
}

/// Adds up every process in a network namespace, given by its inode.
pub(super) fn usage_in(netns: u64) -> io::Result<Usage> {
    let mut used = Usage::default();
    for pid in processes_in(netns)? {
        // One that ends meanwhile is in its parent's or the reaper's account by then.
        used.cpu_ns += sys::process_cpu_ns(pid).unwrap_or(0) + children_cpu_ns(pid).unwrap_or(0);
        used.run_queue_wait_ns += run_queue_wait_ns(pid);
        used.peak_rss_bytes += peak_rss_bytes(pid).unwrap_or(0);
    }
    Ok(used)
}

/// Every process in a network namespace, given by its inode.
pub(super) fn processes_in(netns: u64) -> io::Result<Vec<i32>> {
    let all = fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_in =
        |pid: &i32| fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|m| m.ino() == netns);
    Ok(all.filter(is_in).collect())
}

/// CPU of children that a process waited for; the kernel gives it in ticks of 10 ms.
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

/// `VmHWM` of proc_pid_status(5). Not what wait4(2) tells at the end: that includes what the
/// process held as a copy of the one that forked it.
fn peak_rss_bytes(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix("kB"))?;
    Some(kib.trim().parse::<u64>().ok()? * 1024)
}

/// CPU time of the machine since boot, in ticks: what the hypervisor took, and all.
pub(super) fn machine_ticks() -> io::Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat")?;
    Ok(stolen_of(&stat).unwrap_or((0, 0)))
}

/// The `cpu` line: user nice system idle iowait irq softirq steal; guest time is in user.
fn stolen_of(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .flat_map(str::parse)
        .collect();
    Some((*fields.get(7)?, fields.iter().sum()))
}

/// `cutime` is field 16 of proc_pid_stat(5), the 14th behind the name.
const CUTIME_AFTER_NAME: usize = 13;
/// USER_HZ is 100 on every architecture that Rust knows.
const NS_PER_TICK: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_field_and_guest_time_is_not_counted_twice() {
        let stat = "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(stolen_of(stat), Some((80, 360)));
        assert_eq!(stolen_of("cpu  1 2\n"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        let own = fs::metadata("/proc/self/ns/net").unwrap().ino();
        let used = usage_in(own).unwrap();
        assert!(used.cpu_ns > 0 && used.peak_rss_bytes > 0);
        assert_eq!(usage_in(0).unwrap(), Usage::default());
    }
}
