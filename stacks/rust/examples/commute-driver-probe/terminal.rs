//! Attempts at the terminal of the user who started the lab, and at new ones.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

use crate::attempt::{Tried, check, tried};

/// Terminals by which a program could reach the user's.
const TERMINALS: [&str; 5] = [
    "/dev/tty",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/console",
];

pub(crate) fn attempts() -> Vec<Tried> {
    vec![
        tried("open its terminal", File::open("/dev/tty").map(drop)),
        tried("type into its terminal (TIOCSTI)", on_terminal(type_into)),
        tried(
            "take the foreground of its terminal (tcsetpgrp)",
            on_terminal(take_foreground),
        ),
        tried("find a terminal of the machine", find()),
        tried("make a pseudo-terminal", make()),
    ]
}

/// Makes the attempt on each of the terminals until it succeeds.
fn on_terminal(attempt: fn(i32) -> io::Result<()>) -> io::Result<()> {
    let on = |path| {
        let terminal = OpenOptions::new().read(true).write(true).open(path)?;
        attempt(terminal.as_raw_fd())
    };
    let mut last = Err(io::Error::other("no terminal"));
    for path in TERMINALS {
        last = on(path);
        if last.is_ok() {
            break;
        }
    }
    last
}

fn type_into(terminal: i32) -> io::Result<()> {
    check(unsafe { libc::ioctl(terminal, libc::TIOCSTI, c"x".as_ptr()) })
}

fn take_foreground(terminal: i32) -> io::Result<()> {
    // A process in the background is stopped otherwise.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    check(unsafe { libc::tcsetpgrp(terminal, libc::getpgrp()) })
}

fn find() -> io::Result<()> {
    let found = fs::read_dir("/dev/pts")?.next();
    found.map_or(Err(io::Error::other("none")), |entry| entry.map(drop))
}

fn make() -> io::Result<()> {
    check(unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY) })
}
