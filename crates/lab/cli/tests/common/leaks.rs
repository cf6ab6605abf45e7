//! Detects what a test leaves behind: processes, network interfaces and namespaces.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{getpid, set_child_subreaper};

use super::process::descendants;

/// How long the kernel may take to end a namespace's processes; far more than a busy machine needs.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The interfaces and namespaces that existed before a test.
pub struct Snapshot {
    interfaces: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Snapshot {
    /// Takes a snapshot, and makes this process the new parent of its orphaned descendants, so
    /// that [`Snapshot::leaks`] finds them.
    pub fn take() -> Snapshot {
        set_child_subreaper(Some(getpid())).unwrap();
        Snapshot {
            interfaces: interfaces(),
            namespaces: mounted_namespaces(),
        }
    }

    /// Returns the processes, interfaces and mounted namespaces that are still there at the
    /// timeout. A namespace lives as long as a process, a mount or a socket refers to it, so
    /// these cover namespaces without a mount too.
    pub fn leaks(&self) -> Vec<String> {
        let deadline = Instant::now() + CLEANUP_TIMEOUT;
        loop {
            let mut leaks: Vec<String> = descendants(getpid())
                .iter()
                .map(|(pid, name)| format!("process {pid} {name}"))
                .collect();
            leaks.extend(interfaces().difference(&self.interfaces).cloned());
            leaks.extend(mounted_namespaces().difference(&self.namespaces).cloned());
            if leaks.is_empty() || Instant::now() > deadline {
                return leaks;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
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

/// Returns the mounts of files of /proc/PID/ns, which keep a namespace alive without a process.
fn mounted_namespaces() -> BTreeSet<String> {
    fs::read_to_string("/proc/self/mountinfo")
        .unwrap()
        .lines()
        .filter(|line| line.contains(" - nsfs "))
        .map(str::to_owned)
        .collect()
}
