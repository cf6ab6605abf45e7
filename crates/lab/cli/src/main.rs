//! The `commute` command: one file or folder per verb; this file only dispatches.

#![forbid(unsafe_code)]
// They panic when the reader has gone; `out` has what to use instead.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod bundle;
mod checks;
mod confirm;
mod descriptors;
mod exit;
mod home;
mod interrupt;
mod origin;
mod out;
mod places;
mod progress;
mod terminal;
mod verb;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// Measures which transport your app should use, over emulated mobile networks.
///
/// Start with `commute doctor` (is this machine suitable?), then `commute run quickstart-native`
/// (which transport?). Results go to standard output, progress to standard error.
///
/// Exit codes: 0 success; 1 error, e.g. in a file; 2 wrong usage, e.g. an unknown name or a file that is
/// not there; 3 a threshold or check failed; 4 unsuitable machine; 130 interrupted. `link` exits as
/// its command does, or with 125 if link itself fails, 126 if the command cannot be run, 127 if it
/// does not exist.
#[derive(Parser)]
#[command(name = "commute", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    terminal: terminal::Options,
}

#[derive(Subcommand)]
enum Verb {
    Run(verb::run::Args),
    Init(verb::init::Args),
    Codec(verb::codec::Args),
    Report(verb::report::Args),
    Compare(verb::compare::Args),
    Why(verb::why::Args),
    /// For commute's own repository.
    #[command(hide = true)]
    Findings(verb::findings::Args),
    Doctor(verb::doctor::Args),
    Link(verb::link::Args),
    Import(verb::import::Args),
    Studies(verb::studies::Args),
    Networks(verb::networks::Args),
    Trace(verb::trace::Args),
    Serve(verb::serve::Args),
    Stacks(verb::stacks::Args),
    Completions(verb::completions::Args),
    Man(verb::man::Args),
    /// First process of a bench; started by commute itself.
    #[command(hide = true)]
    BenchInit,
    /// Runs a codec runner confined; started by commute itself.
    #[command(hide = true)]
    Confined(verb::confined::Args),
}

/// Counts what the codec runner allocates. That is one addition per allocation, per thread.
#[global_allocator]
static HEAP: runner::Counting = runner::Counting;

fn main() -> ExitCode {
    if let Some(code) = verb::driver::start() {
        return code;
    }
    let Cli { verb, terminal } = Cli::parse();
    terminal.apply();
    let messages = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(terminal::colors_stderr())
        .with_filter(
            EnvFilter::try_from_env("COMMUTE_LOG").unwrap_or_else(|_| EnvFilter::new("warn")),
        );
    let is_server = matches!(verb, Verb::Serve(_));
    tracing_subscriber::registry()
        .with(messages)
        .with(is_server.then(server::refusal_reasons))
        .init();
    let result = match verb {
        Verb::Run(args) => verb::run::run(&args),
        Verb::Init(args) => verb::init::run(&args),
        Verb::Codec(args) => verb::codec::run(&args),
        Verb::Report(args) => verb::report::run(&args),
        Verb::Compare(args) => verb::compare::run(&args),
        Verb::Why(args) => verb::why::run(&args),
        Verb::Findings(args) => verb::findings::run(&args),
        Verb::Doctor(args) => verb::doctor::run(&args),
        Verb::Import(args) => verb::import::run(&args),
        Verb::Link(args) => verb::link::run(&args),
        Verb::Studies(args) => verb::studies::run(&args),
        Verb::Networks(args) => verb::networks::run(args),
        Verb::Trace(args) => verb::trace::run(&args),
        Verb::Serve(args) => verb::serve::run(args),
        Verb::Stacks(args) => verb::stacks::run(&args),
        Verb::Completions(args) => verb::completions::run(&args, public()),
        Verb::Man(args) => verb::man::run(&args, public()),
        Verb::BenchInit => pump::init_main(),
        Verb::Confined(args) => verb::confined::run(args),
    };
    exit::code(result)
}

/// Returns the command without its hidden verbs, which completions and manual pages would list.
fn public() -> clap::Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|verb| !verb.is_hide_set());
    clap::Command::new("commute")
        .version(env!("CARGO_PKG_VERSION"))
        .about(all.get_about().cloned().unwrap_or_default())
        .long_about(all.get_long_about().cloned().unwrap_or_default())
        .args(all.get_arguments().cloned())
        .subcommands(shown.cloned())
}
