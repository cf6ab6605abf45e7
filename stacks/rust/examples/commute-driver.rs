//! `commute driver NAME` alone, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    engine::stacks::start(&name).unwrap_or(ExitCode::FAILURE)
}
