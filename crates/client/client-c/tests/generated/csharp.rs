//! Requests through HttpClient on Mono, in a process that reads them from its standard input.
//!
//! `Tests~/Answers.cs` describes the lines. Mono's HttpClient has no trailers, so these are not compared.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use peers::{Case, Failure, FailureKind, Outcome, Rng};
use tokio::sync::oneshot;

use crate::is_streamed;
use crate::unity::library;

/// Who waits for an outcome, by the id of the request.
type Waiting = Mutex<HashMap<String, oneshot::Sender<String>>>;

/// A process that sends requests.
pub(crate) struct Driver {
    child: Mutex<Child>,
    /// `None` once the test has ended the process.
    requests: Mutex<Option<ChildStdin>>,
    ids: AtomicU64,
    waiting: Arc<Waiting>,
}

impl Driver {
    /// Starts the process.
    pub(crate) fn start(program: &Path, roots: &Path) -> Arc<Self> {
        let mut mono = Command::new("mono");
        mono.arg("--debug").arg(program).arg("answers").arg(roots);
        mono.env("LD_LIBRARY_PATH", library());
        mono.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = mono.spawn().unwrap();
        let (requests, outcomes) = (child.stdin.take(), child.stdout.take().unwrap());
        let driver = Arc::new(Self {
            child: Mutex::new(child),
            requests: Mutex::new(requests),
            ids: AtomicU64::new(0),
            waiting: Arc::default(),
        });
        let waiting = Arc::clone(&driver.waiting);
        std::thread::spawn(move || hand_out(outcomes, &waiting));
        driver
    }

    /// Ends the process, which must end well.
    pub(crate) fn end(&self) {
        drop(self.requests.lock().unwrap().take());
        let status = self.child.lock().unwrap().wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A test that failed has not told it to end.
        self.child.lock().unwrap().kill().ok();
    }
}

fn hand_out(outcomes: ChildStdout, waiting: &Waiting) {
    for line in BufReader::new(outcomes).lines() {
        let line = line.unwrap();
        let (id, outcome) = line.split_once(' ').unwrap();
        let waiting = waiting.lock().unwrap().remove(id).unwrap();
        // The test has given up on a request that hangs.
        waiting.send(outcome.to_owned()).ok();
    }
    // Whoever still waits learns that the process has ended.
    waiting.lock().unwrap().clear();
}

/// Sends the request of a case.
pub(crate) async fn send(driver: Arc<Driver>, case: Arc<Case>, url: String) -> Outcome {
    let id = driver.ids.fetch_add(1, Ordering::Relaxed).to_string();
    let (sender, outcome) = oneshot::channel();
    driver.waiting.lock().unwrap().insert(id.clone(), sender);
    // HttpClient reads the body for apps that do not do so themselves.
    let reader = Rng::new(case.seed).pick(&["app", "client"]);
    let upload = match is_streamed(&case) {
        true => "streamed",
        false => "held",
    };
    let (protocol, body) = (case.protocol.alpn(), hex(&case.request));
    let line = format!(
        "{id} {protocol} {} {url} {reader} {upload} {body}\n",
        case.method
    );
    if let Some(requests) = &mut *driver.requests.lock().unwrap() {
        requests.write_all(line.as_bytes()).unwrap();
        requests.flush().unwrap();
    }
    match outcome.await {
        Ok(outcome) => parse(&outcome),
        Err(_) => Outcome::failed(FailureKind::Other, true, "Mono has ended"),
    }
}

fn parse(line: &str) -> Outcome {
    let mut parts = line.splitn(5, ' ');
    let mut part = || parts.next().unwrap();
    let (status, body) = (part().parse().unwrap(), bytes(part()));
    let (end, may_have_acted, text) = (part(), part() == "1", part().to_owned());
    let kind = match end {
        "Ok" => None,
        "Reset" => Some(FailureKind::Reset),
        "Protocol" => Some(FailureKind::Malformed),
        _ => Some(FailureKind::Other),
    };
    let failure = kind.map(|kind| Failure {
        kind,
        may_have_acted,
        text,
    });
    Outcome {
        status,
        body,
        trailers: None,
        failure,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
