//! `--far`: a program at the far end of the link.

use crate::{out, progress};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pump::{Bench, Process, Side, Spawn};
use signal_hook::consts::SIGTERM;

const SHELL: &str = "/bin/sh";
/// Without it the shell would end by the signal at once, and the program be killed before it has ended by itself.
const OUTLIVE: &str = "trap exit TERM\n";
/// How long a server may take to open its port.
const READY_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long the program may take to end by itself.
const END_LIMIT: Duration = Duration::from_secs(5);

/// The program at the far end.
pub(crate) struct FarProcess {
    process: Process,
    /// Whether it is known to have ended.
    ended: bool,
}

impl FarProcess {
    /// Starts it, and waits until it has opened a port, has succeeded or [`READY_LIMIT`] is over. An
    /// earlier failure is an error.
    pub(crate) fn start(bench: &mut Bench, command: &OsStr) -> anyhow::Result<FarProcess> {
        let open_before = bench.open_ports(Side::Server)?;
        let output = || -> anyhow::Result<OwnedFd> {
            let stderr = std::io::stderr();
            stderr
                .as_fd()
                .try_clone_to_owned()
                .context("standard error")
        };
        let mut script = OsString::from(OUTLIVE);
        script.push(command);
        let spawn = Spawn {
            program: SHELL.into(),
            args: vec!["-c".into(), script],
            env: std::env::vars_os().collect(),
            fds: vec![(output()?, 1), (output()?, 2)],
            raw_sockets: true,
            ..Spawn::default()
        };
        let mut process = bench.spawn(Side::Server, spawn).context("--far")?;
        let until = Instant::now() + READY_LIMIT;
        while bench.open_ports(Side::Server)? <= open_before {
            if let Some(exit) = process.wait(Some(POLL_INTERVAL))? {
                if !exit.status.success() {
                    bail!("--far: it ended before it opened a port: {}", exit.status);
                }
                break;
            }
            if Instant::now() > until {
                let seconds = READY_LIMIT.as_secs();
                progress::line(&format!(
                    "commute: --far: no port is open after {seconds} s; starting anyway"
                ));
                break;
            }
        }
        Ok(FarProcess {
            process,
            ended: false,
        })
    }

    /// Reports, once, that it has failed.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        if !self.ended
            && let Some(exit) = self.process.wait(Some(Duration::ZERO))?
        {
            report_failure(exit.status);
            self.ended = true;
        }
        Ok(())
    }

    /// Ends the program: SIGTERM to its process group, then, [`END_LIMIT`] later, SIGKILL to all that is left.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        self.check()?;
        self.process.kill(SIGTERM)?;
        self.process.wait(Some(END_LIMIT))?;
        Ok(())
    }
}

/// Reports that the program failed before the command ended. One that has succeeded may have been meant for a single
/// connection.
fn report_failure(status: ExitStatus) {
    if !status.success() {
        out::note!("commute: --far: it ended before the command: {status}");
    }
}
