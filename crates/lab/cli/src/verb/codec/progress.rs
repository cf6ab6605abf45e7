//! A progress bar on standard error, and Ctrl-C that keeps the results so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codec_bench::Progress;
use indicatif::ProgressBar;

use crate::{interrupt, progress};

pub(super) struct TerminalProgress {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl TerminalProgress {
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            bar: ProgressBar::hidden(),
            stop: interrupt::stop_flag(|| {
                "finishing the current step, then printing the results so far; \
                 press Ctrl-C again to abort"
            })?,
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
        self.bar = progress::bar(steps, "{msg} [{bar:30}] {pos}/{len}, {eta} left");
        progress::show(&self.bar, what);
        if self.bar.is_hidden() {
            progress::line(&format!("{what} ({steps})"));
        }
    }

    fn step(&mut self, done: usize) -> bool {
        self.bar.set_position(done as u64);
        !self.is_stopped()
    }
}
