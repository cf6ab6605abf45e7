//! Runs a command in the foreground: it has our standard streams, signals are forwarded to it, and
//! its exit status becomes ours.

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use anyhow::Context as _;
use pump::Process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;

/// How long a forwarded signal may be delayed.
const SIGNAL_LATENCY: Duration = Duration::from_millis(50);

/// Duplicates our standard streams for the command.
pub(crate) fn streams() -> anyhow::Result<Vec<(OwnedFd, RawFd)>> {
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().context("standard stream");
    Ok(vec![
        (own(std::io::stdin().as_fd())?, 0),
        (own(std::io::stdout().as_fd())?, 1),
        (own(std::io::stderr().as_fd())?, 2),
    ])
}

/// Catches the signals that are to be forwarded. Call it before the command starts: until then they
/// end commute.
pub(crate) fn catch_signals() -> anyhow::Result<Signals> {
    let forwarded = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH];
    Signals::new(forwarded).context("cannot watch for signals")
}

/// Waits for the command, and returns its exit code; 128 plus the signal's number if a signal ended
/// it, as shells do. Calls `check` every [`SIGNAL_LATENCY`] meanwhile.
pub(crate) fn wait(
    process: &mut Process,
    signals: &mut Signals,
    mut check: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<u8> {
    loop {
        for signal in signals.pending() {
            process.kill(signal)?;
        }
        if let Some(exit) = process.wait(Some(SIGNAL_LATENCY))? {
            let signal = exit.status.signal().map(|s| 128 + s);
            let code = signal.or(exit.status.code()).unwrap_or(1);
            return Ok(code as u8);
        }
        check()?;
    }
}
