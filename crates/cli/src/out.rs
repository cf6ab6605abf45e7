//! Standard output. A reader that closes it early, e.g. `head`, is not an error.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;

/// Writes all of the text. Ends the process successfully when the reader has gone.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {
            std::process::exit(i32::from(crate::exit::PASS));
        }
        other => other.context("cannot write to standard output"),
    }
}

/// Writes a value as indented JSON.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> anyhow::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}
