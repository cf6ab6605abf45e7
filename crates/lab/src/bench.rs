use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pump::{Bench, BenchError, BenchOptions, Confinement, Init};

use crate::lab::Lab;

/// The server's host name on every bench; the client's hosts file has it.
pub(crate) const SERVER_NAME: &str = "origin.test";
/// The user that runs drivers when the lab runs as root: Linux's overflow user, usually called
/// nobody.
const DRIVER_USER: u32 = 65534;
/// Processes and threads of that user on the whole machine; a JVM has about 50.
const MAX_PROCESSES: u64 = 4096;
/// Per process.
const MAX_MEMORY_BYTES: u64 = 4 << 30;
/// Browsers write caches of some 10 MB.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Programs below these folders are there for every user.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/opt", "/lib"];

/// Starts a bench that runs no drivers, whose init is the `commute` binary at `exe`.
pub(crate) fn start(exe: &Path) -> Result<Bench, BenchError> {
    Bench::start(&options(exe, 1))
}

/// Starts a bench for the lab's drivers; `jobs` benches share the machine.
pub(crate) fn start_for_drivers(lab: &Lab, jobs: usize) -> Result<Bench, BenchError> {
    let mut visible = BTreeSet::from([lab.home.root.join("stacks"), lab.home.bin.clone()]);
    visible.extend(lab.exe.parent().map(Path::to_owned));
    let drivers = lab.stacks.all().map(|driver| &driver.command);
    let servers = lab.stacks.servers().map(|server| &server.command);
    for command in drivers.chain(servers) {
        visible.extend(runtime(Path::new(&command[0])));
    }
    Bench::start(&BenchOptions {
        visible: visible.into_iter().filter(|dir| dir.is_dir()).collect(),
        writable: vec![std::env::temp_dir()],
        ..options(&lab.exe, jobs)
    })
}

fn options(exe: &Path, jobs: usize) -> BenchOptions {
    BenchOptions {
        init: Init {
            program: exe.to_owned(),
            args: vec!["bench-init".into()],
        },
        names: vec![SERVER_NAME.to_owned()],
        jobs: jobs as u32,
        visible: Vec::new(),
        writable: Vec::new(),
    }
}

/// Returns the folder of the runtime that a program belongs to, e.g. that of Python for the
/// `bin/python3` of a virtual environment, which is a link.
fn runtime(program: &Path) -> Option<PathBuf> {
    let file = program.canonicalize().ok()?;
    if !program.is_absolute() || SYSTEM.iter().any(|dir| file.starts_with(dir)) {
        return None;
    }
    let dir = file.parent()?;
    let prefix = match dir.file_name() {
        Some(name) if name == "bin" => dir.parent()?,
        _ => dir,
    };
    Some(prefix.to_owned())
}

/// Returns the user that drivers run as, if it is not the caller.
pub(crate) fn driver_user(bench: &Bench) -> Option<u32> {
    (!bench.facts().rootless).then_some(DRIVER_USER)
}

/// Returns what a driver may be and use.
pub(crate) fn confinement(bench: &Bench) -> Confinement {
    let user = driver_user(bench);
    Confinement {
        user,
        // The caller may have more than this already.
        max_processes: user.map(|_| MAX_PROCESSES),
        max_memory_bytes: MAX_MEMORY_BYTES,
        max_file_bytes: MAX_FILE_BYTES,
    }
}
