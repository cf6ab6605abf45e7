//! Progress on standard error: one line that changes on a terminal, nothing but plain lines in a
//! log.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{out, terminal};

const TICK: Duration = Duration::from_millis(100);

/// Returns a bar of `length` steps. The template is indicatif's; `{bar:30}` is drawn with `=`.
pub(crate) fn bar(length: usize, template: &str) -> ProgressBar {
    styled(ProgressBar::new(length as u64), template)
}

/// Returns a line that shows its message only.
pub(crate) fn status() -> ProgressBar {
    styled(ProgressBar::no_length(), "{msg}")
}

/// Shows what is being done, with the time that it has taken so far. Where standard error is no terminal, prints it
/// once.
pub(crate) fn waiting(what: &str) -> ProgressBar {
    let bar = styled(ProgressBar::no_length(), "{msg} {elapsed}");
    show(&bar, &format!("{what} ..."));
    bar.enable_steady_tick(TICK);
    if bar.is_hidden() {
        line(&format!("{what} ..."));
    }
    bar
}

/// Changes the message of a bar. What a terminal would act on is replaced.
pub(crate) fn show(bar: &ProgressBar, message: &str) {
    bar.set_message(neutral::plain(message));
}

/// Prints a line that stays, above the bar.
pub(crate) fn print(bar: &ProgressBar, text: &str) {
    bar.suspend(|| line(text));
}

/// Prints a line of progress, unless --quiet is given.
pub(crate) fn line(text: &str) {
    if !terminal::is_quiet() {
        out::note!("{text}");
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    if terminal::is_quiet() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_controls_the_terminal() {
        let bar = ProgressBar::hidden();
        show(&bar, "a\u{1b}[2J\nb.json: encoding");
        assert_eq!(bar.message(), "a\u{fffd}[2J\u{fffd}b.json: encoding");
    }
}
