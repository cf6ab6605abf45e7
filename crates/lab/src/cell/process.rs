//! What the lab does with every process on a bench: end it, and quote its log.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use pump::{BenchError, Exit, Process};
use rustix::process::Signal;

/// A process must be ready this long after it was spawned; a JVM on a busy two-core machine takes
/// several seconds.
pub(crate) const STARTUP_LIMIT: Duration = Duration::from_secs(20);
/// How much of the end of a log is read for a message.
const TAIL_BYTES: u64 = 4096;

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

/// Adds the last line of a process's log to a failure, which it usually explains best.
pub(crate) fn with_log_end(failure: &str, log: &Path) -> String {
    driver::process::with_last_line(failure, &read_tail(log).unwrap_or_default())
}

/// Returns the last line of a log that is not blank.
pub(crate) fn last_line(log: &Path) -> Option<String> {
    let text = read_tail(log).unwrap_or_default();
    let line = text.lines().rfind(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

fn read_tail(path: &Path) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_quotes_the_last_line_that_is_not_blank() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        assert_eq!(with_log_end("it died", &log), "it died");
        fs::write(&log, format!("{}\nno such file\n \n", "x".repeat(10_000))).unwrap();
        assert_eq!(
            with_log_end("it died", &log),
            "it died; its log ends: no such file"
        );
    }
}
