//! Standard output and standard error. A reader that closes one early, e.g. `head`, is not an error:
//! the work goes on, and its exit code stays what it would have been.

use std::fmt::Arguments;
use std::io::{self, BufWriter, ErrorKind, Write};

use anyhow::Context as _;

/// Writes a text for people to standard output. What a terminal would act on is replaced.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    print(&neutral::lines(text))
}

/// Writes the text of a file to standard output, e.g. of a study that a stranger wrote. What a terminal would act on is
/// replaced, also where standard output is none: what is written may be shown later. TOML stays valid.
pub(crate) fn file(text: &str) -> anyhow::Result<()> {
    print(&neutral::file(text))
}

/// Writes all of the text to standard output as it is: data, or what is neutral already.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(|out| out.write_all(text.as_bytes()))
}

/// Has `content` write to standard output: data that need not fit into memory.
pub(crate) fn write(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match content(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Writes a line to standard error, as `eprintln!` does, which panics when the reader has gone. What a terminal would
/// act on is replaced, also line feeds: they could only be those of a name.
pub(crate) fn error_line(line: Arguments<'_>) {
    styled_line(&neutral::plain(&line.to_string()));
}

/// Writes a text of several lines, all of them ours, to standard error.
pub(crate) fn error_lines(text: &str) {
    styled_line(&neutral::lines(text));
}

/// Writes a line whose escape sequences are ours, which are for terminals only.
pub(crate) fn styled_line(line: &str) {
    // There is nobody left to report it to.
    let _written = writeln!(anstream::stderr().lock(), "{line}");
}

/// Writes a line to standard error, formatted as by `eprintln!`.
macro_rules! note {
    ($($part:tt)*) => { $crate::out::error_line(format_args!($($part)*)) };
}
pub(crate) use note;

/// How a verb prints what it lists or checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Listing {
    /// For a terminal
    #[default]
    Human,
    /// For programs
    Json,
}

/// Writes a value as indented JSON.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}
