//! Standard output: results go there, and a reader that has seen enough is no error.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;

/// Writes text whole. When the reader has gone (`commute networks | head -1`), so do we.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {
            std::process::exit(i32::from(crate::exit::PASS));
        }
        other => other.context("cannot write to standard output"),
    }
}

/// The same as JSON, indented for people.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}
