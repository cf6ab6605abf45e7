//! Runs commands, and checks their exit codes and output.

use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
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
    stdout: Stream,
    stderr: Stream,
}

/// What a command writes, which a thread reads.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
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
        let stdout = Stream::read(child.stdout.take().unwrap());
        let stderr = Stream::read(child.stderr.take().unwrap());
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

    /// Waits until the command has written `text` on standard error.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        wait_until(text, || self.stderr.text().contains(text));
    }

    /// Waits until the command has written `text` on standard output.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str) {
        wait_until(text, || self.stdout.text().contains(text));
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
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
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

impl Stream {
    fn read(mut from: impl Read + Send + 'static) -> Stream {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4096];
            loop {
                let length = from.read(&mut part).unwrap();
                if length == 0 {
                    break;
                }
                all.lock().unwrap().extend(&part[..length]);
            }
        });
        Stream {
            bytes,
            reader: Some(reader),
        }
    }

    /// Returns what has been written so far.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// Waits for the end, and returns all that was written.
    fn finish(&mut self) -> String {
        self.reader.take().unwrap().join().unwrap();
        self.text()
    }
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
