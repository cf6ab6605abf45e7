//! Programs that are run to their end, within a limit.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::time::sleep;

use crate::child::Process;

const POLLS_EACH: Duration = Duration::from_millis(20);

/// What a program printed.
#[derive(Debug)]
pub(crate) struct Output {
    /// Whether it ended with 0.
    pub(crate) success: bool,
    /// Its standard output.
    pub(crate) out: String,
    /// Its standard error.
    pub(crate) err: String,
}

/// Runs a program in a folder. Kills it when the limit passes, which is an error.
pub(crate) async fn run(
    command: &[String],
    folder: &Path,
    limit: Duration,
) -> anyhow::Result<Output> {
    let printed = tempfile::tempdir()?;
    let (out, err) = (printed.path().join("out"), printed.path().join("err"));
    let files = (fs::File::create(&out)?, fs::File::create(&err)?);
    let mut process = Process::start(command, folder, files.0, files.1)?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = process.ended()? {
            break status;
        }
        if began.elapsed() > limit {
            let program = command.first().map_or("", String::as_str);
            bail!("{program} did not end within {} s", limit.as_secs());
        }
        sleep(POLLS_EACH).await;
    };
    let text = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Output {
        success: status.success(),
        out: text(&out)?,
        err: text(&err)?,
    })
}

/// Returns the last line that is not empty.
pub(crate) fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("no output").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[tokio::test]
    async fn returns_what_a_program_prints() {
        let folder = tempfile::tempdir().unwrap();
        let command = shell("echo out; echo err >&2; exit 1");
        let output = run(&command, folder.path(), Duration::from_secs(30)).await;
        let output = output.unwrap();
        assert_eq!(
            (output.success, &*output.out, &*output.err),
            (false, "out\n", "err\n")
        );
    }

    #[tokio::test]
    async fn a_program_beyond_its_limit_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let command = shell("sleep 300");
        let error = run(&command, folder.path(), Duration::from_millis(50)).await;
        assert!(error.unwrap_err().to_string().contains("did not end"));
    }
}
