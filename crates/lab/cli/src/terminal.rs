//! Colour, quiet and verbose: the same for every verb.

use std::io::{Stderr, Stdout};
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};

/// Options of every verb that concern the terminal.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Options {
    /// Whether to use colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
    /// Print no progress, only results, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more, e.g. every cell, and reports in full
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// How much to print on standard error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Volume {
    Quiet,
    Usual,
    Verbose,
}

static VOLUME: OnceLock<Volume> = OnceLock::new();

impl Options {
    /// Makes the options hold for this process.
    pub(crate) fn apply(&self) {
        match self.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
        let volume = match (self.quiet, self.verbose) {
            (true, _) => Volume::Quiet,
            (_, true) => Volume::Verbose,
            _ => Volume::Usual,
        };
        VOLUME.get_or_init(|| volume);
    }
}

/// Returns whether progress must not be printed.
pub(crate) fn is_quiet() -> bool {
    volume() == Volume::Quiet
}

/// Returns whether to print more than usual.
pub(crate) fn is_verbose() -> bool {
    volume() == Volume::Verbose
}

/// Returns whether results may be coloured.
pub(crate) fn colors_stdout() -> bool {
    AutoStream::<Stdout>::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Returns whether messages may be coloured.
pub(crate) fn colors_stderr() -> bool {
    AutoStream::<Stderr>::choice(&std::io::stderr()) != ColorChoice::Never
}

fn volume() -> Volume {
    VOLUME.get().copied().unwrap_or(Volume::Usual)
}
