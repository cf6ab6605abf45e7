//! Asks the user on the terminal.

use std::io::{BufRead as _, IsTerminal as _};

use crate::out;

/// Asks a question that is answered by yes or no, below lines on what it is about; returns none where there is no
/// terminal to ask on. The question takes one line, whatever names are in it.
pub(crate) fn confirm(about: &[String], question: &str) -> anyhow::Result<Option<bool>> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(None);
    }
    for line in about {
        out::note!("{line}");
    }
    out::note!("{question} [y/N]");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}
