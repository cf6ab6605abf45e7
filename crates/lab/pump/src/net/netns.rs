//! Network namespaces, referred to by descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::sys;

/// An anonymous network namespace. It lives as long as this object or a process in it.
#[derive(Debug)]
pub(crate) struct Netns {
    file: File,
}

impl Netns {
    /// Returns the namespace of the calling thread.
    pub(crate) fn current() -> io::Result<Netns> {
        File::open("/proc/thread-self/ns/net").map(|file| Netns { file })
    }

    /// Creates an empty namespace. The calling thread stays in its own.
    pub(crate) fn new() -> io::Result<Netns> {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    sys::unshare(libc::CLONE_NEWNET)?;
                    Netns::current()
                })
                .join()
                .expect("the thread does not panic")
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

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Returns the inode of the namespace, e.g. 4026531840 for `net:[4026531840]` in
    /// `/proc/PID/ns/net`.
    pub(crate) fn inode(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        self.file.metadata().map(|m| m.ino())
    }
}
