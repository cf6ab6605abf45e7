//! Runs commands, and checks their exit codes and output.

use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than any command of these tests takes, even on a loaded machine.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(240);
/// Longer than any condition takes to become true, even on a loaded machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The output and exit status of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A running command, whose output threads read. Killed when dropped.
pub struct Running {
    pub child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl CommandOutput {
    /// Runs a command until it exits, with empty standard input.
    pub fn of(command: Command) -> CommandOutput {
        Running::start(command).finish()
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn exits_with(self, code: i32) -> CommandOutput {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// Asserts that standard error contains `text`.
    #[track_caller]
    pub fn stderr_contains(self, text: &str) -> CommandOutput {
        let found = self.stderr.contains(text);
        assert!(found, "no {text:?} on standard error:\n{self}");
        self
    }

    /// Asserts that standard output contains `text`.
    #[track_caller]
    pub fn stdout_contains(self, text: &str) -> CommandOutput {
        let found = self.stdout.contains(text);
        assert!(found, "no {text:?} on standard output:\n{self}");
        self
    }
}

impl std::fmt::Display for CommandOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CommandOutput {
            status,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "{status}\n--- standard output\n{stdout}\n--- standard error\n{stderr}"
        )
    }
}

impl Running {
    pub fn start(mut command: Command) -> Running {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let stdout = child.stdout.take().map(read);
        let stderr = child.stderr.take().map(read);
        Running {
            child,
            stdout,
            stderr,
        }
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the command exits. Fails the test if it times out, aborts, or writes escape
    /// codes although its output is not a terminal.
    #[track_caller]
    pub fn finish(mut self) -> CommandOutput {
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        let mut timed_out = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline && !timed_out {
                timed_out = true;
                self.child.kill().unwrap();
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        let output = CommandOutput {
            status,
            stdout: self.stdout.take().unwrap().join().unwrap(),
            stderr: self.stderr.take().unwrap().join().unwrap(),
        };
        assert!(!timed_out, "timed out after {COMMAND_TIMEOUT:?}: {output}");
        assert_ne!(status.signal(), Some(libc::SIGABRT), "aborted: {output}");
        let escapes = [&output.stdout, &output.stderr].map(|text| text.contains('\x1b'));
        assert_eq!(escapes, [false; 2], "escape codes: {output:?}");
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if the command has exited already.
        let _killed = self.child.kill();
        let _waited = self.child.wait();
    }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until a condition is true.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}
