//! Ctrl-C, the same for every long verb.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit;
use crate::out;

/// The folders that are removed when the process is interrupted.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has the first SIGINT or SIGTERM remove a folder, and end the process.
pub(crate) fn remove_first(folder: PathBuf) -> anyhow::Result<()> {
    let folders = || FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = folders();
    known.push(folder);
    if known.len() > 1 {
        return Ok(());
    }
    let mut signals = watch()?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            for folder in folders().iter() {
                // Another thread may add files meanwhile, but not for long: their folder is gone.
                (0..10).any(|_| !folder.exists() || std::fs::remove_dir_all(folder).is_ok());
            }
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
    });
    Ok(())
}

fn watch() -> anyhow::Result<Signals> {
    Signals::new([SIGINT, SIGTERM]).context("cannot watch for Ctrl-C")
}

/// Returns a flag that the first SIGINT or SIGTERM sets, after printing what `message` returns. The second
/// one ends the process at once.
pub(crate) fn stop_flag(
    message: impl Fn() -> &'static str + Send + 'static,
) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let mut signals = watch()?;
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
