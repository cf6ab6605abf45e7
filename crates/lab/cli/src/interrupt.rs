//! Ctrl-C, the same for every long verb.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit;
use crate::out;

/// Returns a flag that the first SIGINT or SIGTERM sets, after printing what `message` returns. The second
/// one ends the process at once.
pub(crate) fn stop_flag(
    message: impl Fn() -> &'static str + Send + 'static,
) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for Ctrl-C")?;
    std::thread::spawn(move || {
        for _signal in signals.forever() {
            if flag.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(exit::INTERRUPTED));
            }
            // Not behind the `^C` of the terminal.
            out::error_lines(&format!("\n{}", message()));
        }
    });
    Ok(stop)
}
