//! Driver processes under test, and the steps that they follow.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses only a part of this"
)]

pub mod proxy;
pub mod test_server;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use driver::process::{Process, Started};
use driver::protocol::{Action, Codec, Protocol, Setup, Start, Step};
use driver::{Host, Limits};

/// Time limit of every wait: enough for a busy machine. Only a failing test reaches it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// `timeout_ns` of every setup.
pub const TIMEOUT_NS: u64 = 10_000_000_000;

/// A driver and the host's end of its conversation.
pub struct Driver {
    pub host: Host,
    process: Process,
}

impl Driver {
    pub fn start(command: &[&str]) -> Self {
        Self::started(start(command))
    }

    /// Starts a driver that connects over TCP.
    pub fn start_connecting(command: &[&str]) -> Self {
        Self::started(Process::start_connecting(&owned(command), deadline()).unwrap())
    }

    fn started(started: Started) -> Self {
        let host = Host::new(started.read, started.write, Limits::default()).unwrap();
        let process = started.process;
        Self { host, process }
    }

    /// Ends the conversation. The driver must exit by itself and with success.
    pub fn close(mut self) {
        self.host.close();
        let status = self.process.close(TIMEOUT).unwrap();
        assert!(status.success(), "{status}");
    }
}

/// A driver that any line can be sent to.
pub struct RawDriver {
    requests: File,
    replies: BufReader<File>,
    _process: Process,
}

impl RawDriver {
    pub fn start(command: &[&str]) -> Self {
        let started = start(command);
        Self {
            requests: File::from(started.write),
            replies: BufReader::new(File::from(started.read)),
            _process: started.process,
        }
    }

    /// Sends a line and returns the reply.
    pub fn ask(&mut self, line: &str) -> serde_json::Value {
        writeln!(self.requests, "{line}").unwrap();
        let mut reply = String::new();
        self.replies.read_line(&mut reply).unwrap();
        serde_json::from_str(&reply).unwrap()
    }
}

/// Returns the command of a Rust driver.
pub fn rust_driver(name: &'static str) -> [&'static str; 2] {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| testing::example("commute-driver"));
    [PROGRAM.to_str().unwrap(), name]
}

fn start(command: &[&str]) -> Started {
    Process::start(&owned(command)).unwrap()
}

fn owned(command: &[&str]) -> Vec<String> {
    command.iter().map(|&word| word.to_owned()).collect()
}

/// Returns the path of a file in the checkout, e.g. `docs/driver-protocol.md`.
pub fn in_checkout(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(path).to_str().unwrap().to_owned()
}

/// Returns a deadline for an answer that comes at once.
pub fn deadline() -> Instant {
    Instant::now() + TIMEOUT
}

pub fn setup(url: &str, ca_file: &str, protocol: Protocol) -> Setup {
    Setup {
        url: url.into(),
        origins: BTreeMap::new(),
        warmup_url: None,
        ca_file: ca_file.into(),
        client_cert_file: None,
        client_key_file: None,
        protocol,
        codec: Codec::plain(protocol),
        timeout_ns: TIMEOUT_NS,
        congestion: None,
        warmup_calls: None,
        observe: None,
        discovery: None,
        policy: None,
        auth: None,
        values: BTreeMap::new(),
        schema_file: None,
        coded: BTreeMap::new(),
        payloads: BTreeMap::new(),
    }
}

/// Returns steps that run one after another, in one group.
pub fn sequential(actions: impl IntoIterator<Item = Action>) -> Vec<Step> {
    let step = |(index, action)| Step {
        id: index as u32 + 1,
        start: None,
        group: 1,
        until: None,
        cancel_after_ns: None,
        origin: None,
        action,
    };
    actions.into_iter().enumerate().map(step).collect()
}

/// Returns steps that all start with the run, in one group.
pub fn concurrent(actions: impl IntoIterator<Item = Action>) -> Vec<Step> {
    let at_once = |step| Step {
        start: Some(Start::After(0)),
        ..step
    };
    sequential(actions).into_iter().map(at_once).collect()
}

/// Writes value files and returns their paths by message name.
pub fn values(dir: &tempfile::TempDir, names: &[&str]) -> BTreeMap<String, String> {
    let value = |name: &&str| {
        let path = dir.path().join(format!("{name}.value"));
        let message = name.parse::<messages::Name>().unwrap().message(1);
        std::fs::write(&path, messages::to_value(&message)).unwrap();
        ((*name).to_owned(), path.to_str().unwrap().to_owned())
    };
    names.iter().map(value).collect()
}

pub fn call() -> Action {
    Action::Call {
        body: r#"{"start_ts":1763757325123}"#.into(),
    }
}

/// Checks that every unknown word is answered `unsupported` and named, every malformed line
/// `failed`, and that the driver goes on.
pub fn check_unknown_words(command: &[&str], ca_file: &str, protocol: Protocol) {
    let mut driver = RawDriver::start(command);
    let setup = |protocol: &str, codec: &str| {
        format!(
            r#"{{"type":"setup","url":"https://127.0.0.1:1","ca_file":"{ca_file}","protocol":"{protocol}","codec":"{codec}","timeout_ns":1000000000,"colour":"red"}}"#
        )
    };
    let run = |step: &str| format!(r#"{{"type":"run","steps":[{{"id":1,"group":1,{step}}}]}}"#);
    assert_eq!(
        driver.ask(&run(r#""step":"get","bytes":1"#))["type"],
        "failed",
        "run before setup"
    );
    let name = protocol.name();
    let ready = driver.ask(&setup(name, Codec::plain(protocol).name()));
    assert_eq!(ready["type"], "ready");
    for (line, what) in [
        (r#"{"type":"unknown"}"#.to_owned(), "request unknown"),
        (run(r#""step":"unknown""#), "step unknown"),
        (
            run(r#""step":"reconnect","mode":"unknown""#),
            "reconnect unknown",
        ),
        (
            run(r#""step":"get","bytes":1,"start":{"unknown":3}"#),
            "start unknown",
        ),
        // Last: whether the setup before them still counts is the driver's choice.
        (setup("h9", "json"), "protocol h9"),
        (setup(name, "asn1"), "codec asn1"),
    ] {
        let reply = driver.ask(&line);
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
        assert_eq!(driver.ask(line)["type"], "failed", "{line}");
    }
    let hello = driver.ask(r#"{"type":"hello","version":2}"#);
    assert_eq!(hello["type"], "hello");
}
