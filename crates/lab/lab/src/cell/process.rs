//! Ends processes on a bench, and keeps the end of their logs.

use std::os::fd::OwnedFd;
use std::time::Duration;

use driver::LogReader;
use pump::{BenchError, Exit, Process};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use super::error::CellError;

/// A process must be ready this long after it was spawned; a JVM on a busy two-core machine takes
/// several seconds.
pub(crate) const STARTUP_LIMIT: Duration = Duration::from_secs(20);

/// Waits for a process to exit, and kills it after `limit`.
pub(crate) fn finish(process: &mut Process, limit: Duration) -> Result<Exit, BenchError> {
    if let Some(exit) = process.wait(Some(limit))? {
        return Ok(exit);
    }
    process.kill(Signal::KILL.as_raw())?;
    loop {
        if let Some(exit) = process.wait(None)? {
            return Ok(exit);
        }
    }
}

/// The log of a process on a bench: its standard output or error.
pub(crate) struct ProcessLog {
    reader: LogReader,
    /// Closed when the process has ended.
    alive: OwnedFd,
}

impl ProcessLog {
    /// Returns a log and the end that the process writes to.
    pub(crate) fn open() -> Result<(ProcessLog, OwnedFd), CellError> {
        let failed = |e: &std::io::Error| CellError::io("pipe", e);
        let (log, output) = LogReader::pipe().map_err(|e| failed(&e))?;
        let (ended, alive) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed(&e.into()))?;
        let reader = LogReader::start(log, ended, Vec::new());
        Ok((ProcessLog { reader, alive }, output))
    }

    /// Returns the end of the log of a process that has ended.
    pub(crate) fn close(self) -> String {
        let ProcessLog { mut reader, alive } = self;
        drop(alive);
        reader.finish();
        reader.text()
    }
}
