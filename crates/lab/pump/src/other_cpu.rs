//! CPU time of every process on the machine that is no part of this lab.

use std::collections::HashMap;
use std::fs;

use crate::sys;

/// `ppid` is field 4 of proc_pid_stat(5), the second after the name.
const PPID_AFTER_NAME: usize = 1;
/// `cutime` is field 16; `cstime` follows.
const CUTIME_AFTER_PPID: usize = 11;
/// `starttime` is field 22.
const START_AFTER_CSTIME: usize = 4;
/// USER_HZ is 100 on every architecture that Rust supports.
const NS_PER_TICK: u64 = 10_000_000;
/// Adopts orphans.
const INIT: i32 = 1;

/// CPU time of each process outside the lab at one moment, by process id.
#[derive(Debug)]
pub(crate) struct OtherCpu(HashMap<i32, Process>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: i32,
    /// When it started, in ticks since boot: tells it from a later process with the same id.
    start: u64,
    /// CPU time of its own.
    own_ns: u64,
    /// CPU time of the whole lives of the children that it waited for, and of theirs.
    children_ns: u64,
}

impl OtherCpu {
    /// Reads the CPU time of all processes but this one, its descendants and `kernel_threads`, which
    /// work for the bench. The benches of parallel jobs are descendants too: `commute doctor --jobs`
    /// checks how much they disturb each other. Returns `None` when some processes are invisible,
    /// i.e. in a container or where /proc hides those of other users.
    pub(crate) fn read(kernel_threads: &[i32]) -> Option<Self> {
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
                if ancestor == own {
                    return false;
                }
                match all.get(&ancestor) {
                    Some(process) if process.parent > 0 => ancestor = process.parent,
                    _ => return !kernel_threads.contains(&pid),
                }
            }
        };
        let others = all.iter().filter(|(pid, _)| is_other(**pid));
        Some(Self(others.map(|(pid, p)| (*pid, *p)).collect()))
    }

    /// Returns the CPU time used since `earlier`. A process that started and ended in between
    /// counts only as far as its parent waited for it.
    pub(crate) fn since(&self, earlier: &Self) -> u64 {
        let mut before = self.used_before_by_ended_children(earlier);
        let left = |before: &mut HashMap<i32, u64>, pid, grown_ns: u64| {
            let known_ns = before.get(&pid).copied().unwrap_or(0);
            let taken_ns = known_ns.min(grown_ns);
            before.insert(pid, known_ns - taken_ns);
            grown_ns - taken_ns
        };
        let mut used_ns = 0;
        let mut adopted_ns = 0;
        for (&pid, now) in &self.0 {
            let then = earlier.same(pid, now);
            used_ns += now.own_ns.saturating_sub(then.map_or(0, |p| p.own_ns));
            let grown_ns = now
                .children_ns
                .saturating_sub(then.map_or(0, |p| p.children_ns));
            let grown_ns = left(&mut before, pid, grown_ns);
            if pid == INIT {
                adopted_ns = grown_ns;
            } else {
                used_ns += grown_ns;
            }
        }
        // The children of a process that ended first were adopted, and so was their time.
        let elsewhere_ns: u64 = before.values().sum();
        used_ns + adopted_ns.saturating_sub(elsewhere_ns)
    }

    /// Returns the time that processes which have ended had used before. Each goes to the ancestor that got it if each
    /// was waited for: a child that ends gives its parent the time of its whole life.
    fn used_before_by_ended_children(&self, earlier: &Self) -> HashMap<i32, u64> {
        let mut before = HashMap::new();
        let ended = |pid: i32, then: &Process| self.same(pid, then).is_none();
        for (&pid, then) in earlier.0.iter().filter(|(pid, then)| ended(**pid, then)) {
            let mut ancestor = then.parent;
            while let Some(parent) = earlier.0.get(&ancestor)
                && ended(ancestor, parent)
                && ancestor != pid
            {
                ancestor = parent.parent;
            }
            *before.entry(ancestor).or_default() += then.own_ns + then.children_ns;
        }
        before
    }

    /// Returns the process with this id, if it is the same one and not a later one.
    fn same(&self, pid: i32, process: &Process) -> Option<&Process> {
        self.0.get(&pid).filter(|p| p.start == process.start)
    }
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let parent = fields.nth(PPID_AFTER_NAME)?.parse().ok()?;
        let mut next = |skip| fields.nth(skip)?.parse::<u64>().ok();
        let children_ticks = next(CUTIME_AFTER_PPID)? + next(0)?;
        Some(Self {
            parent,
            start: next(START_AFTER_CSTIME)?,
            own_ns: sys::process_cpu_ns(pid)?,
            children_ns: children_ticks * NS_PER_TICK,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const S: u64 = 1_000_000_000;

    /// Returns processes given as (id, parent, start, own, children), in seconds.
    fn processes(list: &[(i32, i32, u64, u64, u64)]) -> OtherCpu {
        let process = |&(pid, parent, start, own, children)| {
            let process = Process {
                parent,
                start,
                own_ns: own * S,
                children_ns: children * S,
            };
            (pid, process)
        };
        OtherCpu(list.iter().map(process).collect())
    }

    #[test]
    fn a_child_that_ends_counts_for_the_window_only() {
        let earlier = processes(&[(1, 0, 0, 5, 9), (10, 1, 1, 1, 7), (11, 10, 2, 250, 3)]);
        // The child used 2 s more, the parent 1 s.
        let now = processes(&[(1, 0, 0, 5, 9), (10, 1, 1, 2, 7 + 255)]);
        assert_eq!(now.since(&earlier), 3 * S);
    }

    #[test]
    fn a_whole_family_that_ends_counts_for_the_window_only() {
        let earlier = processes(&[(10, 1, 1, 0, 0), (11, 10, 2, 100, 20), (12, 11, 3, 30, 0)]);
        let now = processes(&[(10, 1, 1, 0, 100 + 20 + 30 + 4)]);
        assert_eq!(now.since(&earlier), 4 * S);
    }

    #[test]
    fn the_earlier_time_of_an_orphan_is_taken_off_its_adopter() {
        let earlier = processes(&[
            (1, 0, 0, 0, 0),
            (10, 1, 1, 0, 0),
            (11, 10, 2, 0, 0),
            (12, 11, 3, 50, 0),
        ]);
        // 11 ended first; init waited for 12, which had used 1 s more.
        let now = processes(&[(1, 0, 0, 0, 51), (10, 1, 1, 0, 0)]);
        assert_eq!(now.since(&earlier), S);
    }

    #[test]
    fn a_child_that_nobody_waited_for_takes_nothing_off() {
        let earlier = processes(&[(10, 1, 1, 0, 5), (11, 10, 2, 100, 0), (20, 1, 1, 0, 0)]);
        let now = processes(&[(10, 1, 1, 2, 5), (20, 1, 1, 3, 4)]);
        assert_eq!(now.since(&earlier), 9 * S);
    }

    #[test]
    fn a_process_with_a_used_id_is_a_new_one() {
        let earlier = processes(&[(10, 1, 1, 0, 0), (11, 10, 2, 100, 0)]);
        let now = processes(&[(10, 1, 1, 0, 101), (11, 10, 9, 3, 0)]);
        assert_eq!(now.since(&earlier), 4 * S);
    }

    #[test]
    fn counts_processes_outside_the_lab_only() {
        let Some(before) = OtherCpu::read(&[]) else {
            return testing::skip("not all processes are visible here");
        };
        let busy = "while :; do :; done";
        let mut child = Command::new("sh").args(["-c", busy]).spawn().unwrap();
        // Adopted by another process once its parent has ended.
        let orphan = Command::new("sh")
            .args(["-c", &format!("({busy}) >/dev/null 2>&1 & echo $!")])
            .output()
            .unwrap();
        let orphan: i32 = String::from_utf8(orphan.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let started = Instant::now();
        // 30 ms of CPU time; a crowded machine only makes that take longer. A minute is a deadline
        // against hanging.
        let used = |pid| sys::process_cpu_ns(pid).unwrap();
        while used(orphan) < 30_000_000 || used(child.id() as i32) < 30_000_000 {
            assert!(started.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        let now = OtherCpu::read(&[]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        Command::new("kill")
            .arg(orphan.to_string())
            .status()
            .unwrap();
        assert!(now.since(&before) >= 30_000_000);
        assert!(now.0.contains_key(&orphan));
        assert!(!now.0.contains_key(&(child.id() as i32)));
    }
}
