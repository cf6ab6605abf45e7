//! Attempts at other processes: the server and the bench's init.

use std::fs::{self, File};
use std::io;

use crate::attempt::{Tried, check, check_long, tried};

/// The calling thread, for system calls that take a process.
const OWN: i32 = 0;

pub(crate) fn attempts() -> Vec<Tried> {
    let server = server();
    let pid = server.unwrap_or(1);
    let of_server = |name: &str| format!("/proc/{pid}/{name}");
    let server_users = users(&of_server("status"));
    let own_users = users("/proc/self/status");
    vec![
        tried(
            "see the server's process",
            server.map(drop).ok_or_else(io::Error::last_os_error),
        ),
        tried(
            "see the server run as root",
            found(server_users.contains(&0)),
        ),
        tried(
            "run as the server's user",
            found(server_users.iter().any(|user| own_users.contains(user))),
        ),
        tried("signal the server", check(unsafe { libc::kill(pid, 0) })),
        tried(
            "read the server's memory",
            File::open(of_server("mem")).map(drop),
        ),
        tried(
            "read the server's files through `/proc`",
            fs::read_dir(of_server("cwd")).map(drop),
        ),
        tried(
            "read the environment of the bench's init",
            fs::read("/proc/1/environ").map(drop),
        ),
        tried(
            "reach the machine's files through its root",
            fs::read_dir("/proc/1/root").map(drop),
        ),
        tried("trace the bench's init", trace(1)),
        tried("enter its network namespace", enter_network(1)),
        tried("choose its own cores", choose_cores(OWN)),
        tried("choose the server's cores", choose_cores(pid)),
    ]
}

fn found(is_found: bool) -> io::Result<()> {
    match is_found {
        true => Ok(()),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Returns the real, effective, saved and file system user of a process, from its `status`.
fn users(status: &str) -> Vec<u32> {
    let status = fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let users = line.unwrap_or_default().split_whitespace();
    users.filter_map(|user| user.parse().ok()).collect()
}

/// Sets the cores that a process may run on to those that it has.
fn choose_cores(pid: i32) -> io::Result<()> {
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of_val(&cores);
    check(unsafe { libc::sched_getaffinity(pid, size, &mut cores) })?;
    check(unsafe { libc::sched_setaffinity(pid, size, &cores) })
}

/// Returns the process of `commute serve`.
fn server() -> Option<i32> {
    let processes = fs::read_dir("/proc").ok()?;
    let mut pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.find(|pid: &i32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).nth(1) == Some(b"serve")
    })
}

fn trace(pid: i32) -> io::Result<()> {
    check_long(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) })
}

fn enter_network(pid: i32) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
    check(unsafe {
        libc::setns(
            std::os::fd::AsRawFd::as_raw_fd(&namespace),
            libc::CLONE_NEWNET,
        )
    })
}
