use std::path::{Path, PathBuf};

use pump::{Bench, BenchError, BenchOptions, Confinement, Init, Sandbox, SandboxId};
use study::MAX_ORIGINS;

use crate::lab::Lab;
use crate::stacks::Driver;
use crate::visible;

/// The host names of origins on every bench, that of the first and those of further ones; the client's
/// hosts file has them, all with the server's addresses.
pub(crate) const ORIGIN_NAMES: [&str; 1 + MAX_ORIGINS] = [
    "origin.test",
    "origin-1.test",
    "origin-2.test",
    "origin-3.test",
    "origin-4.test",
];
/// What drivers and codec runners may be and use, and servers but for their user, when the lab runs as root.
pub(crate) const CONFINEMENT: Confinement = Confinement {
    // Linux's overflow user, usually called nobody.
    user: Some(65534),
    // Threads count, too; a JVM has about 50.
    max_processes: Some(4096),
    max_memory_bytes: 4 << 30,
    // Browsers write caches of some 10 MB.
    max_file_bytes: 1 << 30,
};
/// The user of servers when the lab runs as root: not that of drivers, which could otherwise read a server's keys and
/// signal it. No distribution assigns this number.
const SERVER_USER: u32 = 65533;

/// Starts a bench that runs no drivers, whose init is the `commute` binary at `exe`.
pub(crate) fn start(exe: &Path) -> Result<Bench, BenchError> {
    Bench::start(&options(exe, 1))
}

/// Starts a bench for the lab's drivers; `jobs` benches share the machine. `external` is the name of the
/// user's own server, where that stands at the far end.
pub(crate) fn start_for_drivers(
    lab: &Lab,
    jobs: usize,
    external: Option<&str>,
) -> Result<Bench, BenchError> {
    let mut options = options(&lab.home.commute, jobs);
    options.names.extend(external.map(str::to_owned));
    Bench::start(&BenchOptions {
        visible: visible::to_all(lab),
        hidden: vec![std::env::temp_dir()],
        ..options
    })
}

fn options(exe: &Path, jobs: usize) -> BenchOptions {
    BenchOptions {
        init: Init {
            program: exe.to_owned(),
            args: vec!["bench-init".into()],
        },
        names: ORIGIN_NAMES.map(str::to_owned).to_vec(),
        jobs: jobs as u32,
        visible: Vec::new(),
        hidden: Vec::new(),
    }
}

/// Returns the user that drivers run as, if it is not the caller.
pub(crate) fn driver_user(bench: &Bench) -> Option<u32> {
    CONFINEMENT.user.filter(|_| !bench.facts().rootless)
}

/// Returns the user that servers run as, if it is not the caller.
pub(crate) fn server_user(bench: &Bench) -> Option<u32> {
    Some(SERVER_USER).filter(|_| !bench.facts().rootless)
}

/// Returns what a program with this user may be and use.
pub(crate) fn confinement(user: Option<u32>) -> Confinement {
    Confinement {
        user,
        // The caller may have more processes than that already.
        max_processes: CONFINEMENT.max_processes.filter(|_| user.is_some()),
        ..CONFINEMENT
    }
}

/// Makes a sandbox for the processes of a driver, with this home and what the driver may read.
pub(crate) fn driver_sandbox(
    bench: &mut Bench,
    driver: &Driver,
    home: PathBuf,
    mut readable: Vec<PathBuf>,
) -> Result<SandboxId, BenchError> {
    readable.extend(visible::to_driver(driver));
    let sandbox = Sandbox {
        home: Some(home),
        readable,
        ..sandbox(driver_user(bench))
    };
    bench.make_sandbox(&sandbox)
}

/// Makes a sandbox for a server that writes to this folder; `command` is that of a server besides commute's own.
pub(crate) fn server_sandbox(
    bench: &mut Bench,
    folder: &Path,
    command: &[String],
) -> Result<SandboxId, BenchError> {
    let sandbox = Sandbox {
        readable: visible::to_command(command),
        writable: vec![folder.to_owned()],
        ..sandbox(server_user(bench))
    };
    bench.make_sandbox(&sandbox)
}

/// Returns a sandbox with the limits of one process for all of them together.
fn sandbox(user: Option<u32>) -> Sandbox {
    Sandbox {
        user,
        max_file_bytes: CONFINEMENT.max_file_bytes,
        max_memory_bytes: CONFINEMENT.max_memory_bytes,
        max_processes: CONFINEMENT.max_processes.unwrap_or(0),
        ..Sandbox::default()
    }
}
