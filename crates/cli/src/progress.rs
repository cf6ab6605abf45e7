//! Progress on standard error: one line that changes on a terminal, nothing but plain lines in a
//! log.

use crate::out;
use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar of `length` steps. The template is indicatif's; `{bar:30}` is drawn with `=`.
pub(crate) fn bar(length: usize, template: &str) -> ProgressBar {
    styled(ProgressBar::new(length as u64), template)
}

/// Returns a line that shows its message only.
pub(crate) fn status() -> ProgressBar {
    styled(ProgressBar::no_length(), "{msg}")
}

/// Prints a line that stays, above the bar.
pub(crate) fn print(bar: &ProgressBar, line: &str) {
    bar.suspend(|| out::note!("{line}"));
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
