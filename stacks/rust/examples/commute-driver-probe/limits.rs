//! Attempts at more memory, files and processes than the limits.

use std::fs::{self, File};
use std::io;

use crate::attempt::{Tried, check, tried};

/// More than a process may use, in one piece, and more than a half of what all files may have.
const MEMORY_BYTES: usize = 5 << 30;
const FILE_BYTES: i64 = 600 << 20;
const LONG_FILE_BYTES: i64 = 2 << 30;
const MAX_PROCESSES: u64 = 4096;

pub(crate) fn attempts() -> Vec<Tried> {
    // A file that is too long would otherwise end this process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut most = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut most) };
    let processes = match most.rlim_cur {
        0..=MAX_PROCESSES => Err(io::Error::other("limited")),
        _ => Ok(()),
    };
    let (first, second) = (
        allocate("first", FILE_BYTES),
        allocate("second", FILE_BYTES),
    );
    let long = allocate("long", LONG_FILE_BYTES);
    for name in ["first", "second", "long"] {
        fs::remove_file(name).ok();
    }
    vec![
        tried("use 5 GiB of private memory", use_memory()),
        tried("write a file of 2 GiB", long),
        tried(
            "write more than 1 GiB to its own folders",
            first.and(second),
        ),
        tried("start more than 4,096 processes", processes),
    ]
}

fn allocate(name: &str, bytes: i64) -> io::Result<()> {
    let file = File::create(name)?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    match unsafe { libc::posix_fallocate(fd, 0, bytes) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Maps memory without touching it: the limit counts what may be written.
fn use_memory() -> io::Result<()> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), MEMORY_BYTES, access, kind, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    check(unsafe { libc::munmap(mapped, MEMORY_BYTES) })
}
