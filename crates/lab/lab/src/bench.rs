use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pump::{Bench, BenchError, BenchOptions, Confinement, Init};
use study::MAX_ORIGINS;

use crate::lab::Lab;

/// The host names of origins on every bench, that of the first and those of further ones; the client's
/// hosts file has them, all with the server's addresses.
pub(crate) const ORIGIN_NAMES: [&str; 1 + MAX_ORIGINS] = [
    "origin.test",
    "origin-1.test",
    "origin-2.test",
    "origin-3.test",
    "origin-4.test",
];
/// What drivers and codec runners may be and use when the lab runs as root.
pub const CONFINEMENT: Confinement = Confinement {
    // Linux's overflow user, usually called nobody.
    user: Some(65534),
    // Threads count, too; a JVM has about 50.
    max_processes: Some(4096),
    max_memory_bytes: 4 << 30,
    // Browsers write caches of some 10 MB.
    max_file_bytes: 1 << 30,
};
/// Programs below these folders are there for every user.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/opt", "/lib"];

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
    let drivers = lab.stacks.all().map(|driver| &driver.command[0]);
    let servers = lab.stacks.servers().map(|server| &server.command[0]);
    let programs = drivers.chain(servers);
    let mut options = options(&lab.home.commute, jobs);
    options.names.extend(external.map(str::to_owned));
    Bench::start(&BenchOptions {
        visible: visible(lab, programs),
        writable: vec![std::env::temp_dir()],
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
        writable: Vec::new(),
    }
}

/// Returns the files and folders that these programs of the lab need.
fn visible<'a>(lab: &Lab, programs: impl Iterator<Item = &'a String>) -> Vec<PathBuf> {
    let commute = &lab.home.commute;
    // The binary itself too: its folder may be one that only its owner may enter.
    let mut paths = BTreeSet::from([lab.home.root.join("stacks"), commute.clone()]);
    paths.extend(commute.parent().map(Path::to_owned));
    let others = programs.map(Path::new).filter(|program| program != commute);
    paths.extend(others.filter_map(runtime));
    paths.into_iter().filter(|path| path.exists()).collect()
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
    CONFINEMENT.user.filter(|_| !bench.facts().rootless)
}

/// Returns what a driver may be and use.
pub(crate) fn confinement(bench: &Bench) -> Confinement {
    match driver_user(bench) {
        Some(_) => CONFINEMENT,
        // The caller may have more processes than that already.
        None => Confinement {
            user: None,
            max_processes: None,
            ..CONFINEMENT
        },
    }
}

impl Lab {
    /// Returns the command that starts a codec runner, and the user that it runs as if not the
    /// caller: as root, runners are confined as drivers are.
    pub fn confined(&self, command: &[String]) -> (Vec<String>, Option<u32>) {
        if !rustix::process::geteuid().is_root() {
            return (command.to_vec(), None);
        }
        let mut words = vec![
            self.home.commute.display().to_string(),
            "confined".to_owned(),
        ];
        for dir in visible(self, command.iter().take(1)) {
            words.extend(["--visible".to_owned(), dir.display().to_string()]);
        }
        words.push("--".to_owned());
        words.extend_from_slice(command);
        (words, CONFINEMENT.user)
    }
}
