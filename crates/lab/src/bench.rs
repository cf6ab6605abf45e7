use std::path::Path;

use pump::{Bench, BenchError, BenchOptions, Init};

/// The server's host name on every bench; the client's hosts file has it.
pub(crate) const SERVER_NAME: &str = "origin.test";

/// Starts a bench whose init is the `commute` binary at `exe`; `jobs` benches share the machine.
pub(crate) fn start(exe: &Path, jobs: usize) -> Result<Bench, BenchError> {
    Bench::start(&BenchOptions {
        init: Init {
            program: exe.to_owned(),
            args: vec!["bench-init".into()],
        },
        names: vec![SERVER_NAME.to_owned()],
        jobs: jobs as u32,
    })
}
