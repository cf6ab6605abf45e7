//! A driver process under test.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

pub mod bench;
pub mod proxy;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use driver::env::{ENV_IN, ENV_OUT};
use driver::protocol::{Action, Codec, Protocol, Setup, Start, Step};
use driver::{Host, Limits};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};

/// A driver, its host's end, and its end with the test's.
pub struct Driver {
    pub host: Host,
    child: Child,
}

impl Driver {
    pub fn start(command: &[&str], environment: &[(&str, &str)]) -> Self {
        let (child, read, write) = spawn(command, environment);
        let host = Host::new(read, write, Limits::default()).unwrap();
        Self { host, child }
    }

    /// Closes the conversation; the driver must leave by itself and be content.
    pub fn close(mut self) {
        let host = std::mem::replace(&mut self.host, idle_host());
        host.close();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A driver to be spoken to line by line.
pub struct Raw {
    child: Child,
    requests: File,
    replies: BufReader<File>,
}

impl Raw {
    pub fn start(command: &[&str]) -> Self {
        let (child, read, write) = spawn(command, &[]);
        let (requests, replies) = (File::from(write), BufReader::new(File::from(read)));
        Self {
            child,
            requests,
            replies,
        }
    }

    /// Says a line; returns the one that answers it.
    pub fn ask(&mut self, line: &str) -> serde_json::Value {
        writeln!(self.requests, "{line}").unwrap();
        let mut reply = String::new();
        self.replies.read_line(&mut reply).unwrap();
        serde_json::from_str(&reply).unwrap()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The driver's process, its output and its input.
fn spawn(command: &[&str], environment: &[(&str, &str)]) -> (Child, OwnedFd, OwnedFd) {
    let ((input, write), (read, output)) = (pipe(), pipe());
    let (program, arguments) = command.split_first().unwrap();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    pass(&mut command, ENV_IN, &input);
    pass(&mut command, ENV_OUT, &output);
    let child = command.spawn().unwrap();
    // Kept, our copies would hide the driver's death.
    drop((input, output));
    (child, read, write)
}

fn idle_host() -> Host {
    let ((_, write), (read, _)) = (pipe(), pipe());
    Host::new(read, write, Limits::default()).unwrap()
}

/// Read end, write end; no other test's driver inherits them.
fn pipe() -> (OwnedFd, OwnedFd) {
    pipe_with(PipeFlags::CLOEXEC).unwrap()
}

/// Lets the one child have `end`, and tells it where.
fn pass(command: &mut Command, variable: &str, end: &OwnedFd) {
    let fd = end.as_raw_fd();
    command.env(variable, format!("/proc/self/fd/{fd}"));
    let inherit = move || {
        // SAFETY: the parent holds the end open until the spawn is over, so in the child,
        // its copy, the number is that descriptor.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        Ok(fcntl_setfd(fd, FdFlags::empty())?)
    };
    // SAFETY: between fork and exec it makes one fcntl call, which is async-signal-safe,
    // and allocates nothing.
    unsafe { command.pre_exec(inherit) };
}

/// Long enough for a busy machine, short enough for a test that fails.
pub fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

pub fn setup(url: &str, ca_file: &str, protocol: Protocol) -> Setup {
    Setup {
        url: url.into(),
        warmup_url: None,
        ca_file: ca_file.into(),
        client_cert_file: None,
        client_key_file: None,
        protocol,
        codec: Codec::plain(protocol),
        timeout_ns: 10_000_000_000,
        congestion: None,
        warmup_calls: None,
        observe: None,
        discovery: None,
        values: BTreeMap::new(),
        schema_file: None,
    }
}

/// Steps one after the other, all of one group.
pub fn in_order(actions: impl IntoIterator<Item = Action>) -> Vec<Step> {
    let step = |(place, action)| Step {
        id: place as u32 + 1,
        start: None,
        group: 1,
        cancel_after_ns: None,
        action,
    };
    actions.into_iter().enumerate().map(step).collect()
}

/// Steps side by side from the start, all of one group.
pub fn side_by_side(actions: impl IntoIterator<Item = Action>) -> Vec<Step> {
    let free = |step| Step {
        start: Some(Start::After(0)),
        ..step
    };
    in_order(actions).into_iter().map(free).collect()
}

pub fn call() -> Action {
    Action::Call {
        body: r#"{"start_ts":1763757325123}"#.into(),
    }
}

/// Each unknown word is answered `unsupported` and named; what is no request, `failed`; and
/// the driver lives on.
pub fn probe(command: &[&str], ca_file: &str, protocol: &str) {
    let mut raw = Raw::start(command);
    let setup = |protocol: &str, codec: &str| {
        format!(
            r#"{{"type":"setup","url":"https://127.0.0.1:1","ca_file":"{ca_file}","protocol":"{protocol}","codec":"{codec}","timeout_ns":1000000000,"colour":"red"}}"#
        )
    };
    let run = |step: &str| format!(r#"{{"type":"run","steps":[{{"id":1,"group":1,{step}}}]}}"#);
    assert_eq!(
        raw.ask(&run(r#""step":"get","bytes":1"#))["type"],
        "failed",
        "run before setup"
    );
    let codec = if protocol == "grpc" {
        "protobuf"
    } else {
        "json"
    };
    assert_eq!(raw.ask(&setup(protocol, codec))["type"], "ready");
    for (line, what) in [
        (r#"{"type":"teleport"}"#.to_owned(), "request teleport"),
        (setup("h9", "json"), "protocol h9"),
        (setup(protocol, "asn1"), "codec asn1"),
        (run(r#""step":"juggle""#), "step juggle"),
        (run(r#""step":"reconnect","mode":"warp""#), "reconnect warp"),
        (
            run(r#""step":"get","bytes":1,"start":{"mood":3}"#),
            "start mood",
        ),
    ] {
        let reply = raw.ask(&line);
        assert_eq!(reply["type"], "unsupported", "{line} {reply}");
        assert_eq!(reply["what"], what, "{line} {reply}");
    }
    for line in [
        "",
        "[]",
        "{}",
        "null",
        "\"hello\"",
        r#"{"type":3}"#,
        r#"{"type":"run"}"#,
    ] {
        assert_eq!(raw.ask(line)["type"], "failed", "{line}");
    }
    assert_eq!(raw.ask(r#"{"type":"hello","version":2}"#)["type"], "hello");
}
