//! What a command said, and how it ended.

use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A command that has ended.
#[derive(Debug)]
pub struct Said {
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

/// A command that runs; its output is read all the while. Killed when dropped.
pub struct Running {
    pub child: Child,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
}

impl Said {
    /// Runs a command to its end, with nothing on its standard input.
    pub fn of(command: Command) -> Said {
        Running::start(command).end()
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn code(self, expected: i32) -> Said {
        assert_eq!(self.status.code(), Some(expected), "{self}");
        self
    }

    /// Asserts that standard error holds this.
    #[track_caller]
    pub fn complains(self, of: &str) -> Said {
        assert!(self.err.contains(of), "should say {of:?}:\n{self}");
        self
    }

    /// Asserts that standard output holds this.
    #[track_caller]
    pub fn prints(self, text: &str) -> Said {
        assert!(self.out.contains(text), "should print {text:?}:\n{self}");
        self
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Said { status, out, err } = self;
        write!(
            f,
            "{status}\n--- standard output\n{out}\n--- standard error\n{err}"
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
        let out = child.stdout.take().map(read);
        let err = child.stderr.take().map(read);
        Running { child, out, err }
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for the end; a command that does not come to it is killed, and fails the test.
    #[track_caller]
    pub fn end(mut self) -> Said {
        let until = Instant::now() + LONGEST;
        let mut hangs = false;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until && !hangs {
                hangs = true;
                self.child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let said = Said {
            status,
            out: self.out.take().unwrap().join().unwrap(),
            err: self.err.take().unwrap().join().unwrap(),
        };
        assert!(!hangs, "did not end within {LONGEST:?}: {said}");
        assert_ne!(
            status.signal(),
            Some(libc::SIGABRT),
            "no command aborts: {said}"
        );
        assert!(
            ![&said.out, &said.err]
                .iter()
                .any(|text| text.contains('\x1b')),
            "escape codes in output that is not a terminal: {said:?}"
        );
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until something holds; a minute is far beyond what a loaded machine needs.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// No test runs a longer command, on however loaded a machine.
const LONGEST: Duration = Duration::from_secs(240);
