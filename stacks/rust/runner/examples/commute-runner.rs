//! `commute codec-runner` alone, for the tests of this crate.

use std::process::ExitCode;

#[global_allocator]
static HEAP: runner::Counting = runner::Counting;

fn main() -> ExitCode {
    runner::start()
}
