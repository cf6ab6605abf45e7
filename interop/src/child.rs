//! Servers and other programs as child processes, each with a process group of its own.

use std::fs::File;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

const STARTS_WITHIN: Duration = Duration::from_secs(30);
const POLLS_EACH: Duration = Duration::from_millis(20);

/// How to start a server.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Its working directory, which gets its output, too.
    pub(crate) folder: PathBuf,
    /// The port it listens on, at least over UDP if not over TCP.
    pub(crate) port: u16,
    /// Whether it listens over TCP.
    pub(crate) over_tcp: bool,
}

/// A running program. Dropping it kills its whole process group.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Start {
    /// Starts the server and waits until it listens.
    pub(crate) fn start(&self) -> anyhow::Result<Process> {
        let log = self.folder.join("output.txt");
        let output = File::options().create(true).append(true).open(&log)?;
        let mut server = Process::start(&self.command, &self.folder, output.try_clone()?, output)?;
        let began = Instant::now();
        while !self.listens() {
            if let Some(status) = server.ended()? {
                bail!("the server ended with {status}: {}", last_line(&log));
            }
            if began.elapsed() > STARTS_WITHIN {
                bail!("the server does not listen: {}", last_line(&log));
            }
            sleep(POLLS_EACH);
        }
        Ok(server)
    }

    fn listens(&self) -> bool {
        if self.over_tcp {
            return TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        }
        // A port over UDP that cannot be bound is in use.
        UdpSocket::bind(("127.0.0.1", self.port)).is_err()
    }
}

impl Process {
    /// Starts a program in a folder, without input.
    pub(crate) fn start(
        command: &[String],
        folder: &Path,
        out: File,
        err: File,
    ) -> anyhow::Result<Self> {
        let (program, arguments) = command.split_first().context("empty command")?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0)
            .spawn()
            .with_context(|| format!("start {program}"))?;
        Ok(Self { child })
    }

    /// Returns how it ended; nothing while it runs.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Kills the program without warning, and waits until it has ended.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            // SAFETY: sends a signal, and touches no memory. The group is this child's own, which has not been reaped.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
        self.child.wait().ok();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.end();
        }
    }
}

/// Returns a port that nothing uses over TCP or UDP.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    for _ in 0..100 {
        let tcp = TcpListener::bind("127.0.0.1:0")?;
        let port = tcp.local_addr()?.port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port is free over both TCP and UDP")
}

/// Returns the last line of a log that is not empty.
pub(crate) fn last_line(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or("no output").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str, folder: &Path) -> Start {
        Start {
            command: ["sh", "-c", script].map(str::to_owned).to_vec(),
            folder: folder.to_owned(),
            port: free_port().unwrap(),
            over_tcp: true,
        }
    }

    #[test]
    fn a_server_that_ends_at_once_is_reported_with_its_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let error = start("echo no such module >&2; exit 3", folder.path()).start();
        let error = error.unwrap_err().to_string();
        assert!(error.contains("exit status: 3: no such module"), "{error}");
    }

    #[test]
    fn the_whole_process_group_ends() {
        let folder = tempfile::tempdir().unwrap();
        let start = start("sleep 100 & echo $! >pid; sleep 100", folder.path());
        let output = File::create(folder.path().join("output.txt")).unwrap();
        let out = output.try_clone().unwrap();
        let server = Process::start(&start.command, folder.path(), out, output).unwrap();
        let pid = folder.path().join("pid");
        while !std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
            sleep(POLLS_EACH);
        }
        server.kill();
        let pid = std::fs::read_to_string(pid).unwrap();
        let began = Instant::now();
        loop {
            // A process that has ended and not been reaped is a zombie.
            let status = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            if status.is_err() || status.is_ok_and(|text| text.contains(") Z ")) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "it still runs");
            sleep(POLLS_EACH);
        }
    }
}
