//! Attempts at privileges, and at parts of the kernel that need none but are often attacked.

use std::fs;
use std::io;

use crate::attempt::{Tried, check, check_long, tried};

pub(crate) fn attempts() -> Vec<Tried> {
    let call = |number: libc::c_long, arguments: [libc::c_long; 6]| {
        let [a, b, c, d, e, f] = arguments;
        check_long(unsafe { libc::syscall(number, a, b, c, d, e, f) })
    };
    let space = [0_u64; 32];
    let at = space.as_ptr() as libc::c_long;
    let key = (
        c"user".as_ptr() as libc::c_long,
        c"probe".as_ptr() as libc::c_long,
    );
    let user_keyring = -4;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim().to_owned())
            .unwrap_or_default()
    };
    let none = |name| match u64::from_str_radix(&field(name), 16) {
        Ok(0) => Err(io::Error::other("the set is empty")),
        _ => Ok(()),
    };
    let new_privileges = match field("NoNewPrivs:").as_str() {
        "1" => Err(io::Error::other("no new privileges")),
        _ => Ok(()),
    };
    let clock = libc::timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let fifo = libc::sched_param { sched_priority: 1 };
    // A program that inherits the flags of a fork, and ends at once.
    let clone = |flags: libc::c_int| {
        let flags = (flags | libc::SIGCHLD) as libc::c_long;
        let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
        match pid {
            0 => unsafe { libc::_exit(0) },
            _ => check_long(pid),
        }
    };
    vec![
        tried("have a capability", none("CapEff:")),
        tried(
            "gain a capability by an exec (bounding set)",
            none("CapBnd:"),
        ),
        tried("gain privileges from a set-user-ID program", new_privileges),
        tried(
            "become root",
            check(unsafe { libc::setuid(0) }).and(is_root()),
        ),
        tried("mount a file system", mount()),
        tried(
            "change its root",
            check(unsafe { libc::chroot(c"/".as_ptr()) }),
        ),
        tried(
            "create a user namespace (clone)",
            clone(libc::CLONE_NEWUSER),
        ),
        tried(
            "create a user namespace (clone3)",
            clone3(libc::CLONE_NEWUSER),
        ),
        tried(
            "create a user namespace (unshare)",
            unshare(libc::CLONE_NEWUSER),
        ),
        tried("create a network namespace", unshare(libc::CLONE_NEWNET)),
        tried(
            "use io_uring",
            call(libc::SYS_io_uring_setup, [8, at, 0, 0, 0, 0]),
        ),
        tried(
            "load a BPF program",
            call(libc::SYS_bpf, [0, at, 120, 0, 0, 0]),
        ),
        tried(
            "count the kernel's events (perf)",
            call(libc::SYS_perf_event_open, [at, 0, -1, -1, 0, 0]),
        ),
        tried("use userfaultfd", call(libc::SYS_userfaultfd, [0; 6])),
        tried(
            "keep a key in the kernel",
            call(libc::SYS_add_key, [key.0, key.1, at, 8, user_keyring, 0]),
        ),
        tried(
            "set the clock",
            check(unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &clock) }),
        ),
        tried(
            "run in real time",
            check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &fifo) }),
        ),
        tried(
            "raise its priority",
            check(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -5) }),
        ),
    ]
}

fn is_root() -> io::Result<()> {
    match unsafe { libc::getuid() } {
        0 => Ok(()),
        _ => Err(io::Error::other("still not root")),
    }
}

fn mount() -> io::Result<()> {
    let (none, target, kind) = (c"none", c"/mnt", c"tmpfs");
    let data = std::ptr::null();
    check(unsafe { libc::mount(none.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, data) })
}

/// Tries to unshare in a child, so that this process stays as it is.
fn unshare(flags: libc::c_int) -> io::Result<()> {
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = unsafe { libc::unshare(flags) };
        unsafe { libc::_exit(i32::from(code != 0)) };
    }
    ended_well(pid)
}

fn clone3(flags: libc::c_int) -> io::Result<()> {
    // The first fields of `struct clone_args` of linux/sched.h.
    let arguments: [u64; 8] = [flags as u64, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
    let size = size_of_val(&arguments);
    let pid = unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), size) };
    if pid == 0 {
        unsafe { libc::_exit(0) };
    }
    check_long(pid)
}

fn ended_well(pid: i32) -> io::Result<()> {
    let mut status = 0;
    check(unsafe { libc::waitpid(pid, &mut status, 0) })?;
    match status {
        0 => Ok(()),
        _ => Err(io::Error::other("refused")),
    }
}
