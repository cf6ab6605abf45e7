//! Attempts at more memory, files and processes than the limits.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::attempt::{Machine, Tried, check, tried};

/// More than the 4 GiB that a process may use.
const MEMORY_BYTES: usize = (4 << 30) + (64 << 20);
const PAGE_BYTES: usize = 4096;
/// More than a third of what all files may have.
const FILE_BYTES: i64 = 400 << 20;
/// All are the driver's own; the first is in its home.
const FILES: [&str; 3] = ["probe-file", "/tmp/probe-file", "/dev/shm/probe-file"];
const LONG_FILE_BYTES: i64 = 2 << 30;
/// More than a driver may start.
const THREADS: usize = 4300;
const STACK_BYTES: usize = 32 << 10;
/// Where cgroup v2 is mounted: alone, or beside cgroup v1.
const CGROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

pub(crate) fn attempts(machine: &Machine) -> Vec<Tried> {
    // A file that is too long would otherwise end this process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let long = allocate(FILES[0], LONG_FILE_BYTES);
    let together = FILES.map(|file| allocate(file, FILE_BYTES));
    for file in FILES {
        fs::remove_file(file).ok();
    }
    let mut all = vec![
        tried(
            "use more than 4 GiB of private memory",
            map(libc::MAP_PRIVATE, false),
        ),
        tried("write a file of 2 GiB", long),
        tried(
            "write more than 1 GiB to its own folders",
            together.into_iter().collect(),
        ),
        tried(
            "start more than 4,096 processes and threads",
            start_threads().map_err(|e| match is_below("pids.max", THREADS) {
                true => io::ErrorKind::QuotaExceeded.into(),
                false => e,
            }),
        ),
    ];
    let shared = "use more than 4 GiB of shared memory";
    if is_below("memory.max", MEMORY_BYTES) {
        // The kernel would end this process and with it the other attempts.
        all.push(tried(shared, Err(io::ErrorKind::QuotaExceeded.into())));
    } else if machine.has_memory {
        all.push(tried(shared, map(libc::MAP_SHARED, true)));
    }
    all
}

fn allocate(file: &str, bytes: i64) -> io::Result<()> {
    let file = File::create(file)?;
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Maps memory, and writes to each page if it is to `touch` them. The limit of private memory counts what may be written.
fn map(kind: libc::c_int, touch: bool) -> io::Result<()> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = kind | libc::MAP_ANONYMOUS;
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), MEMORY_BYTES, access, kind, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if touch {
        for offset in (0..MEMORY_BYTES).step_by(PAGE_BYTES) {
            unsafe { mapped.cast::<u8>().add(offset).write_volatile(1) };
        }
    }
    check(unsafe { libc::munmap(mapped, MEMORY_BYTES) })
}

/// Starts threads that wait until all have started or one cannot be. All have ended when this returns.
fn start_threads() -> io::Result<()> {
    let gate = Mutex::new(());
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    let gate = &gate;
    thread::scope(|scope| {
        let started = (0..THREADS).try_for_each(|_| {
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            let wait = move || drop(gate.lock());
            thread.spawn_scoped(scope, wait).map(drop)
        });
        drop(closed);
        started
    })
}

/// Reports whether a limit of cgroup v2 for this process, or for one of the groups around it, is below `wanted`.
fn is_below(limit: &str, wanted: usize) -> bool {
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::/"));
    let mut groups = CGROUPS.iter().flat_map(|mount| {
        let groups = Path::new(own.unwrap_or_default()).ancestors();
        groups.map(move |group| Path::new(mount).join(group))
    });
    groups.any(|group| {
        let most = fs::read_to_string(group.join(limit)).unwrap_or_default();
        // It is `max` where there is none.
        most.trim().parse().is_ok_and(|most: usize| most < wanted)
    })
}
