//! Limits of a program that is not trusted.

use std::io;
use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use crate::sys::check;

/// What a program may be and use. Without it a program has the caller's user and limits. A confined program may neither
/// use io_uring and the kernel's keys, nor create a user namespace, nor open sockets of other families than Unix,
/// Internet and netlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// User and group to run as, without further groups; none for the caller's. Only a privileged
    /// caller may choose.
    pub user: Option<u32>,
    /// Most processes and threads of this user on the machine; none for the caller's limit.
    pub max_processes: Option<u64>,
    /// Most private memory that a process may write to, in bytes.
    pub max_memory_bytes: u64,
    /// Largest file that it may write, in bytes.
    pub max_file_bytes: u64,
}

/// The file systems, the IPC namespace and the cgroup of confined programs, which share them.
///
/// They have the most common devices, no terminals, and the network devices of the bench in `/sys`. They see the
/// machine's other folders read-only. Of `/tmp`, `/var/tmp`, `/dev/shm` and `/run` they have their own, in memory,
/// empty at first and gone at the end. Folders of data, such as `/home`, `/var` and everything unusual at the top level,
/// are empty for them but for what is listed here and in [`crate::BenchOptions::visible`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// The user that the programs run as, see [`Confinement::user`].
    pub user: Option<u32>,
    /// A new folder of theirs, in memory, in a folder that is hidden.
    pub home: Option<PathBuf>,
    /// Files and folders that they can read although their parents are hidden, as far as permissions allow.
    pub readable: Vec<PathBuf>,
    /// Folders that they can write to, as far as permissions allow.
    pub writable: Vec<PathBuf>,
    /// Most bytes in all of their own folders together.
    pub max_file_bytes: u64,
    /// Most memory of all the programs together, their own folders included; 0 for no limit. It needs cgroup v2.
    pub max_memory_bytes: u64,
    /// Most processes and threads of all the programs together; 0 for no limit. It needs cgroup v2.
    pub max_processes: u64,
}

/// Names a [`Sandbox`] of a bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SandboxId(pub(crate) u32);

impl Confinement {
    /// Confines the calling process, for good. Makes only system calls, as a forked child must.
    pub(crate) fn apply(&self) -> io::Result<()> {
        limit(Resource::Core, 0)?;
        limit(Resource::Fsize, self.max_file_bytes)?;
        // Not RLIMIT_AS: runtimes with a garbage collector reserve far more than they use.
        limit(Resource::Data, self.max_memory_bytes)?;
        if let Some(processes) = self.max_processes {
            limit(Resource::Nproc, processes)?;
        }
        if let Some(user) = self.user {
            // SAFETY: `setgroups` reads nothing for a length of 0; the others take no pointer. All
            // threads but this one stayed in the parent.
            unsafe {
                check(libc::setgroups(0, std::ptr::null()))?;
                check(libc::setresgid(user, user, user))?;
                check(libc::setresuid(user, user, user))?;
            }
        }
        Ok(())
    }
}

/// Lowers a limit, also for the children; a limit that is lower already stays.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let limits = Rlimit {
        current: lower(now.current),
        maximum: lower(now.maximum),
    };
    Ok(setrlimit(resource, limits)?)
}
