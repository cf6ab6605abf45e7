//! Which transport should your app take? One file a verb; this one only chooses.

mod audit;
mod between;
mod checks;
mod dry_run;
mod exit;
mod foreground;
mod forward;
mod home;
mod out;
mod progress;
mod verb;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures which transport your app should take, on an emulated mobile network.
///
/// Start with `commute doctor` (is this machine fit?), then `commute run
/// studies/quickstart.toml` (which transport?). Results go to standard output, progress to
/// standard error.
///
/// Exit codes: 0 done and passed; 1 the tool failed; 2 wrong usage; 3 a threshold or check
/// failed; 4 this machine is unfit for what was asked; 130 interrupted.
#[derive(Parser)]
#[command(name = "commute", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(verb::run::Args),
    Codec(verb::codec::Args),
    Report(verb::report::Args),
    Doctor(verb::doctor::Args),
    Link(verb::link::Args),
    Import(verb::import::Args),
    Networks(verb::networks::Args),
    Serve(verb::serve::Args),
    Stacks(verb::stacks::Args),
    /// First process of a bench; started by commute itself.
    #[command(hide = true)]
    BenchInit,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("COMMUTE_LOG")
                .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn")),
        )
        .init();
    let done = match Cli::parse().verb {
        Verb::Run(args) => verb::run::run(&args),
        Verb::Codec(args) => verb::codec::run(&args),
        Verb::Report(args) => verb::report::run(&args),
        Verb::Doctor(args) => verb::doctor::run(&args),
        Verb::Import(args) => verb::import::run(&args),
        Verb::Link(args) => verb::link::run(&args),
        Verb::Networks(args) => verb::networks::run(args),
        Verb::Serve(args) => verb::serve::run(args),
        Verb::Stacks(args) => verb::stacks::run(&args),
        Verb::BenchInit => pump::init_main(),
    };
    exit::code(done)
}
