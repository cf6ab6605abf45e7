//! The threads of a runner, as the kernel counts them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};

/// For each thread, how long it has run and how long it has waited for a core, in ns.
pub(crate) type Threads = BTreeMap<OsString, (u64, u64)>;

/// Reads the figures of a process (`schedstat`).
pub(crate) fn read(process: u32) -> Threads {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Threads::new();
    };
    let thread = |task: DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let mut figures = text.split_whitespace().map(str::parse::<u64>);
        let (ran, waited) = (figures.next()?.ok()?, figures.next()?.ok()?);
        Some((task.file_name(), (ran, waited)))
    };
    tasks.filter_map(|task| thread(task.ok()?)).collect()
}

/// Returns how long the thread that ran most between two readings waited for a core. The other
/// threads are the runtime's own, and their waiting is normal.
pub(crate) fn waited_ns(before: &Threads, after: &Threads) -> u64 {
    let since = after.iter().map(|(thread, (ran, waited))| {
        let (ran_before, waited_before) = before.get(thread).copied().unwrap_or((0, 0));
        (
            ran.saturating_sub(ran_before),
            waited.saturating_sub(waited_before),
        )
    });
    since.max().map_or(0, |(_, waited)| waited)
}

/// Returns the first child of a process's first child.
pub(crate) fn grandchild(process: u32) -> Option<u32> {
    let child = |of: u32| -> Option<u32> {
        let children = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    };
    child(child(process)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_busiest_threads_waiting_counts() {
        let threads = |figures: &[(&str, u64, u64)]| -> Threads {
            let thread = |(id, ran, waited): &(&str, u64, u64)| (id.into(), (*ran, *waited));
            figures.iter().map(thread).collect()
        };
        let before = threads(&[("1", 1_000, 50), ("2", 9_000, 700)]);
        let after = threads(&[("1", 6_000, 80), ("2", 9_100, 5_000), ("3", 200, 900)]);
        assert_eq!(waited_ns(&before, &after), 30);
        assert_eq!(waited_ns(&Threads::new(), &Threads::new()), 0);
    }

    #[test]
    fn grandchild_is_the_program() {
        let script = "sh -c 'sh -c \"echo; exec cat\"; :'; :";
        let mut outer = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        std::io::Read::read_exact(outer.stdout.as_mut().unwrap(), &mut line).unwrap();
        let program = grandchild(outer.id()).unwrap();
        // The innermost shell has written the line. It may become `cat` later.
        let parent = std::fs::read_to_string(format!("/proc/{program}/stat")).unwrap();
        let parent: u32 = parent.split_whitespace().nth(3).unwrap().parse().unwrap();
        let middle = std::fs::read_to_string(format!("/proc/{parent}/stat")).unwrap();
        assert_eq!(
            middle.split_whitespace().nth(3),
            Some(&*outer.id().to_string())
        );
        drop(outer.stdin.take());
        outer.wait().unwrap();
    }
}
