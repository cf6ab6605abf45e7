//! Asks the user on the terminal.

use std::io::{BufRead as _, IsTerminal as _};

use crate::out;

/// Asks a question that is answered by yes or no; returns none where there is no terminal to ask on.
pub(crate) fn confirm(question: &str) -> anyhow::Result<Option<bool>> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(None);
    }
    out::note!("{question} [y/N]");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}
