//! `commute driver NAME` and `commute codec-runner`: Rust's drivers and its codec runner, which the lab
//! starts.

use std::process::ExitCode;

use crate::{exit, out};

/// Runs the driver or the codec runner if the command line asks for one.
///
/// Nothing else may run before it, not even the parser of the command line: the start-up time and the
/// memory of a driver are results.
pub(crate) fn start() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let verb = args.next()?;
    if verb == "codec-runner" {
        return Some(runner::start());
    }
    if verb != "driver" {
        return None;
    }
    let name = args.next().unwrap_or_default();
    let name = name.to_string_lossy();
    Some(engine::stacks::start(&name).unwrap_or_else(|| {
        let known = engine::stacks::NAMES.join(", ");
        out::note!("commute: no driver is named `{name}`; known: {known}");
        ExitCode::from(exit::USAGE)
    }))
}
