//! One line of progress on standard error, rewritten as the work goes on.

use std::io::IsTerminal as _;

const ERASE: &str = "\r\x1b[K";

/// Shown on a terminal only: a log gets neither the line nor the escape codes that rewrite it.
pub(super) struct StatusLine {
    terminal: bool,
}

impl StatusLine {
    pub(super) fn new() -> StatusLine {
        StatusLine {
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Replaces the line.
    pub(super) fn show(&self, text: &str) {
        if self.terminal {
            eprint!("{ERASE}{text}");
        }
    }

    /// Erases the line, so that another may be printed.
    pub(super) fn clear(&self) {
        self.show("");
    }
}
