//! A progress bar on standard error, and Ctrl-C that keeps the results so far.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use codec::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};

pub(super) struct TerminalProgress {
    bar: ProgressBar,
    plain: bool,
    stop: Arc<AtomicBool>,
}

impl TerminalProgress {
    pub(super) fn new() -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // A second signal ends the process as by default.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
                .context("cannot handle Ctrl-C")?;
        }
        Ok(Self {
            bar: ProgressBar::hidden(),
            plain: !std::io::stderr().is_terminal(),
            stop,
        })
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for TerminalProgress {
    fn begin(&mut self, what: &str, steps: usize) {
        self.bar.finish_and_clear();
        if self.plain {
            eprintln!("{what} ({steps})");
            return;
        }
        self.bar = ProgressBar::new(steps as u64).with_message(what.to_owned());
        let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}, {eta} left");
        if let Ok(style) = style {
            self.bar.set_style(style.progress_chars("=> "));
        }
    }

    fn step(&mut self, done: usize) -> bool {
        self.bar.set_position(done as u64);
        !self.is_stopped()
    }
}
