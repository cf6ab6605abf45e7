//! Attempts at files and shared memory of others.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use crate::attempt::{Machine, Tried, check, tried};

/// Written to private folders, where the next cell looks for it.
const MARK: &str = "commute-probe-mark";
/// Key of the shared memory that the next cell looks for.
const SHARED_MEMORY: libc::key_t = 0x636f_6d6d;

pub(crate) fn attempts(machine: &Machine) -> Vec<Tried> {
    let mut all = Vec::new();
    for dir in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
        let mark = Path::new(dir).join(MARK);
        let found = fs::metadata(&mark).map(drop);
        all.push(tried(
            &format!("find a file that another cell wrote to `{dir}`"),
            found,
        ));
        all.push(tried(
            &format!("write a file to its own `{dir}`"),
            write(&mark),
        ));
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let mark = Path::new(&home).join(MARK);
    all.push(tried(
        "find a file that another cell wrote to its home",
        fs::metadata(&mark).map(drop),
    ));
    all.push(tried("write a file to its own home", write(&mark)));
    let own = std::env::current_exe().unwrap_or_default();
    let stack = own.parent().unwrap_or(Path::new("/"));
    let user = Path::new(&machine.file).parent().unwrap_or(Path::new("/"));
    for (name, dir) in [
        ("write a file to `/etc`", Path::new("/etc")),
        ("write a file to `/usr/local`", Path::new("/usr/local")),
        ("write a file to its stack's folder", stack),
        (
            "write a file to a folder of the user's that is open to all",
            user,
        ),
        (
            "write a file to the server's folder",
            Path::new("../server"),
        ),
    ] {
        all.push(tried(name, write(&dir.join(MARK))));
    }
    for (name, file) in [
        ("change `core_pattern`", "/proc/sys/kernel/core_pattern"),
        ("write to the kernel's log", "/dev/kmsg"),
        ("append to the server's log", "../server/server.ndjson"),
    ] {
        let opened = OpenOptions::new().append(true).open(file);
        all.push(tried(name, opened.map(drop)));
    }
    for (name, file) in [
        ("read `/etc/shadow`", "/etc/shadow"),
        (
            "read a file of the user's that is open to all",
            &machine.file,
        ),
        ("read the server's keys", "../server/credentials/client.key"),
        ("read the kernel's memory", "/proc/kcore"),
    ] {
        let read = File::open(file).and_then(|mut file| io::Read::read(&mut file, &mut [0; 8]));
        all.push(tried(name, read.map(drop)));
    }
    let found = check(unsafe { libc::shmget(SHARED_MEMORY, 0, 0) });
    all.push(tried(
        "find shared memory (System V) of another cell",
        found,
    ));
    let made = unsafe { libc::shmget(SHARED_MEMORY, 4096, libc::IPC_CREAT | 0o666) };
    all.push(tried("make shared memory (System V)", check(made)));
    all
}

fn write(file: &Path) -> io::Result<()> {
    fs::write(file, "x")
}
