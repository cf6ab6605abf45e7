//! Limits of all programs of a sandbox together, by cgroup v2.
//!
//! The kernel has them where the controllers `memory` and `pids` are those of cgroup v2 and a cgroup of the caller's, or
//! one around it, hands them to its children. There a cgroup is made beside the caller's. Root finds one on every machine
//! with systemd, an ordinary user only below a service of the user's own (`systemd-run --user --scope commute ...`).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::confinement::Sandbox;

const PREFIX: &str = "commute-";
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// A cgroup of our own, removed when it is dropped; its processes must have ended.
#[derive(Debug)]
pub(crate) struct Cgroup {
    dir: PathBuf,
    /// The file to which a process writes 0 to join.
    pub(crate) join: File,
}

impl Cgroup {
    /// Makes a cgroup with the limits of a sandbox. Returns none where it has no limits, or this machine lets the caller
    /// set none.
    pub(crate) fn new(sandbox: &Sandbox) -> Option<Cgroup> {
        if sandbox.max_memory_bytes == 0 && sandbox.max_processes == 0 {
            return None;
        }
        let (mount, own) = own_cgroup()?;
        Cgroup::below(&mount, &own, sandbox)
    }

    /// Makes a cgroup in the nearest cgroup, from `own` up to `mount`, that hands the controllers to its children.
    fn below(mount: &Path, own: &Path, sandbox: &Sandbox) -> Option<Cgroup> {
        let parents = own.ancestors().take_while(|dir| dir.starts_with(mount));
        parents
            .filter(|dir| delegates(dir))
            .find_map(|dir| Cgroup::make(dir, sandbox).ok())
    }

    fn make(parent: &Path, sandbox: &Sandbox) -> io::Result<Cgroup> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        sweep(parent);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&dir)?;
        let limited = limit(&dir, sandbox).and_then(|()| {
            let join = dir.join("cgroup.procs");
            OpenOptions::new().write(true).open(join)
        });
        match limited {
            Ok(join) => Ok(Cgroup { dir, join }),
            Err(e) => {
                fs::remove_dir(&dir).ok();
                Err(e)
            }
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Fails while a process is left. The next run sweeps it.
        fs::remove_dir(&self.dir).ok();
    }
}

/// Writes the limits. A program that exceeds the memory is killed, together with all others of the cgroup.
fn limit(dir: &Path, sandbox: &Sandbox) -> io::Result<()> {
    if sandbox.max_memory_bytes > 0 {
        fs::write(dir.join("memory.max"), sandbox.max_memory_bytes.to_string())?;
        // Not there without swap, or before Linux 4.19.
        fs::write(dir.join("memory.swap.max"), "0").ok();
        fs::write(dir.join("memory.oom.group"), "1").ok();
    }
    if sandbox.max_processes > 0 {
        fs::write(dir.join("pids.max"), sandbox.max_processes.to_string())?;
    }
    Ok(())
}

/// Removes the cgroups of processes that were killed.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'))
            .and_then(|(pid, _)| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            fs::remove_dir(entry.path()).ok();
        }
    }
}

/// Reports whether the children of a cgroup have the controllers.
fn delegates(dir: &Path) -> bool {
    let enabled = fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
    CONTROLLERS
        .iter()
        .all(|wanted| enabled.split_whitespace().any(|name| name == *wanted))
}

/// Returns where cgroup v2 is mounted, and the folder of the caller's cgroup.
fn own_cgroup() -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let cgroups = fs::read_to_string("/proc/self/cgroup").ok()?;
    find_own(&mounts, &cgroups)
}

fn find_own(mounts: &str, cgroups: &str) -> Option<(PathBuf, PathBuf)> {
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        // Its id, its parent's, the device, the folder that is mounted, and where (proc_pid_mountinfo(5)).
        let mut fields = mount.split(' ').skip(3);
        let (root, at) = (fields.next()?, PathBuf::from(fields.next()?));
        let inside = Path::new(own).strip_prefix(root).ok()?;
        // Outside of a cgroup namespace, whose processes see it as `/..`.
        let is_inside = !inside.components().any(|part| part.as_os_str() == "..");
        is_inside.then(|| (at.clone(), at.join(inside)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
36 25 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 25 0:32 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw";
    const LIMITED: Sandbox = Sandbox {
        user: None,
        home: None,
        readable: Vec::new(),
        writable: Vec::new(),
        max_file_bytes: 0,
        max_memory_bytes: 5_000,
        max_processes: 7,
    };

    #[test]
    fn own_cgroup_is_found_where_it_is_mounted() {
        let find = |mounts: &str, cgroups: &str| {
            let found = find_own(mounts, cgroups);
            found.map(|(_, own)| own.display().to_string())
        };
        let own = "4:memory:/x\n0::/user.slice/a.scope\n";
        let at = |dir: &str| Some(dir.to_owned());
        assert_eq!(
            find(HYBRID, own),
            at("/sys/fs/cgroup/unified/user.slice/a.scope")
        );
        let bound = "9 2 0:2 /user.slice /cg ro - cgroup2 cgroup rw";
        assert_eq!(find(bound, own), at("/cg/a.scope"));
        assert_eq!(find(bound, "0::/system.slice/b"), None);
        let namespace = "9 2 0:2 / /cg ro - cgroup2 cgroup rw";
        assert_eq!(find(namespace, "0::/../c"), None);
        assert_eq!(find("36 25 0:31 / /cg rw - cgroup cgroup rw", own), None);
        assert_eq!(find(HYBRID, "4:memory:/x"), None);
    }

    /// Makes the files that the kernel makes in a cgroup.
    fn folder(dir: &Path, subtree_control: &str) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("cgroup.subtree_control"), subtree_control).unwrap();
    }

    #[test]
    fn cgroups_are_looked_for_upwards() {
        let root = tempfile::tempdir().unwrap();
        let slice = root.path().join("user.slice");
        let scope = slice.join("a.scope");
        folder(root.path(), "cpu memory pids\n");
        folder(&slice, "cpu memory");
        folder(&scope, "");
        let nearest = |own: &Path| {
            let mut dirs = own
                .ancestors()
                .take_while(|dir| dir.starts_with(root.path()));
            dirs.find(|dir| delegates(dir)).map(Path::to_owned)
        };
        assert_eq!(nearest(&scope), Some(root.path().to_owned()));
        folder(&slice, "memory pids");
        assert_eq!(nearest(&scope), Some(slice.clone()));
        for dir in [root.path(), &slice] {
            folder(dir, "");
        }
        assert_eq!(nearest(&scope), None);
        assert!(Cgroup::below(root.path(), &scope, &LIMITED).is_none());
    }

    #[test]
    fn limits_are_written_and_what_was_left_is_swept() {
        let parent = tempfile::tempdir().unwrap();
        // Above the largest process id of Linux.
        let left = parent.path().join(format!("{PREFIX}4194305-0"));
        let others = ["commute-1-0", "other"].map(|name| parent.path().join(name));
        for dir in others.iter().chain([&left]) {
            fs::create_dir(dir).unwrap();
        }
        sweep(parent.path());
        assert!(!left.exists() && others.iter().all(|dir| dir.is_dir()));

        let dir = parent.path().join("cell");
        fs::create_dir(&dir).unwrap();
        limit(&dir, &LIMITED).unwrap();
        let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap();
        assert_eq!(read("memory.max"), "5000");
        assert_eq!(read("memory.swap.max"), "0");
        assert_eq!(read("memory.oom.group"), "1");
        assert_eq!(read("pids.max"), "7");
    }
}
