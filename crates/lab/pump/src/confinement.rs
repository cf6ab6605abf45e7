//! Limits of a program that is not trusted.

use std::io;

use serde::{Deserialize, Serialize};

use crate::sys::check;

/// What a program may be and use. Without it a program has the caller's user and limits.
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

impl Confinement {
    /// Confines the calling process, for good. Makes only system calls, as a forked child must.
    pub(crate) fn apply(&self) -> io::Result<()> {
        limit(libc::RLIMIT_CORE, 0)?;
        limit(libc::RLIMIT_FSIZE, self.max_file_bytes)?;
        // Not RLIMIT_AS: runtimes with a garbage collector reserve far more than they use.
        limit(libc::RLIMIT_DATA, self.max_memory_bytes)?;
        if let Some(processes) = self.max_processes {
            limit(libc::RLIMIT_NPROC, processes)?;
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
fn limit(resource: libc::__rlimit_resource_t, most: u64) -> io::Result<()> {
    let mut now = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `now` is valid for the write.
    check(unsafe { libc::getrlimit(resource, &mut now) })?;
    let lower = libc::rlimit {
        rlim_cur: now.rlim_cur.min(most),
        rlim_max: now.rlim_max.min(most),
    };
    // SAFETY: `lower` lives through the call.
    check(unsafe { libc::setrlimit(resource, &lower) }).map(drop)
}
