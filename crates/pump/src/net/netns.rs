//! A network namespace held by a descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::sys;

/// An anonymous network namespace: it lives as long as this or a process in it does.
#[derive(Debug)]
pub(crate) struct Netns {
    file: File,
}

impl Netns {
    /// The namespace the calling thread is in.
    pub(crate) fn current() -> io::Result<Netns> {
        File::open("/proc/thread-self/ns/net").map(|file| Netns { file })
    }

    /// A new, empty one. The calling thread stays where it is.
    pub(crate) fn new() -> io::Result<Netns> {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    sys::unshare(libc::CLONE_NEWNET)?;
                    Netns::current()
                })
                .join()
                .expect("nothing in the thread panics")
        })
    }

    /// Runs `work` on a thread inside the namespace.
    pub(crate) fn run<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| {
                sys::enter_netns(self.fd())?;
                work()
            });
            match inside.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    /// Its descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The number by which `/proc/PID/ns/net` names it: `net:[4026531840]`.
    pub(crate) fn inode(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().map(|m| m.ino())
    }
}
