//! The host against scripted drivers: every violation of the protocol has its own error.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use driver::protocol::{Action, Clock, Codec, Protocol, Request, Setup, Step};
use driver::{ChannelError, DriverError, Host, Limits, Meanwhile, RunAnswer, SetupAnswer};

const HELLO: &str = r#"{"type":"hello","version":2,"stack":"scripted","stack_version":"1","tls":"none","protocols":["h2"],"capabilities":[],"clock":"own","resolution_ns":1,"phases":{},"colour":"green"}"#;
const READY: &str = r#"{"type":"ready"}"#;
const DONE: &str = r#"{"type":"done"}"#;
const FAILED_CALL: &str = r#"{"type":"row","id":1,"start_ns":5,"end_ns":6,"error":{"kind":"connect","detail":"refused"}}"#;

/// Starts a driver that answers each request with the next of these texts, then closes its pipes.
fn scripted(answers: &[&str]) -> (Host, JoinHandle<()>) {
    let (host, mut requests, mut replies) = connected();
    let answers: Vec<String> = answers.iter().map(|text| (*text).to_owned()).collect();
    let thread = std::thread::spawn(move || {
        for answer in answers {
            requests.read_line(&mut String::new()).unwrap();
            replies.write_all(answer.as_bytes()).ok();
        }
    });
    (host, thread)
}

fn connected() -> (Host, BufReader<File>, File) {
    let (input, write) = pipe();
    let (read, output) = pipe();
    let host = Host::new(read, write, Limits::default()).unwrap();
    (host, BufReader::new(File::from(input)), File::from(output))
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader.into(), writer.into())
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn setup() -> Setup {
    Setup {
        url: "https://a:1".into(),
        origins: std::collections::BTreeMap::new(),
        warmup_url: None,
        ca_file: "ca.pem".into(),
        client_cert_file: None,
        client_key_file: None,
        protocol: Protocol::H2,
        codec: Codec::plain(Protocol::H2),
        timeout_ns: 1,
        congestion: None,
        warmup_calls: None,
        observe: None,
        discovery: None,
        policy: None,
        auth: None,
        values: std::collections::BTreeMap::new(),
        schema_file: None,
        payloads: std::collections::BTreeMap::new(),
        coded: std::collections::BTreeMap::new(),
    }
}

fn steps() -> Vec<Step> {
    vec![Step {
        id: 1,
        start: None,
        group: 1,
        until: None,
        cancel_after_ns: None,
        origin: None,
        action: Action::Get { bytes: 1 },
    }]
}

/// Runs against a driver that answers `run` with `answer`.
fn run(answer: &str) -> Result<RunAnswer, DriverError> {
    let hello = format!("{HELLO}\n");
    let (mut host, thread) = scripted(&[&hello, answer]);
    host.hello(deadline()).unwrap();
    let outcome = host.run(&steps(), deadline());
    thread.join().unwrap();
    outcome
}

/// Acts every 5 ms: three times for itself, then twice for the driver.
struct Acts {
    due: Instant,
    done: u32,
}

impl Meanwhile for Acts {
    fn due(&self) -> Option<Instant> {
        (self.done < 5).then_some(self.due)
    }

    fn act(&mut self) -> Option<Request> {
        assert!(self.due <= Instant::now());
        self.due += Duration::from_millis(5);
        self.done += 1;
        (self.done > 3).then_some(Request::Network { id: self.done })
    }
}

#[test]
fn other_things_happen_while_a_driver_follows_its_steps() {
    let (hello, done) = (format!("{HELLO}\n"), format!("{FAILED_CALL}\n{DONE}\n"));
    // It answers `run` when both notices have come.
    let (mut host, thread) = scripted(&[&hello, "", "", &done]);
    host.hello(deadline()).unwrap();
    let mut acts = Acts {
        due: Instant::now(),
        done: 0,
    };
    let answer = host.run_meanwhile(&steps(), deadline(), &mut acts).unwrap();
    thread.join().unwrap();
    assert!(matches!(answer, RunAnswer::Rows(rows) if rows.len() == 1));
    assert_eq!(acts.done, 5);
}

#[test]
fn other_things_happen_before_rows_that_have_arrived() {
    let (mut host, _requests, mut replies) = connected();
    // All of it is read at once.
    let all = format!("{HELLO}\n{FAILED_CALL}\n{DONE}\n");
    replies.write_all(all.as_bytes()).unwrap();
    host.hello(deadline()).unwrap();
    let mut acts = Acts {
        due: Instant::now() - Duration::from_secs(1),
        done: 0,
    };
    host.run_meanwhile(&steps(), deadline(), &mut acts).unwrap();
    assert_eq!(acts.done, 5);
}

#[track_caller]
fn assert_error(answer: &str, reason: &str) {
    let error = run(answer).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn conversation_from_hello_to_close() {
    let lines = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let answers = [
        lines(&[HELLO]),
        lines(&[READY]),
        lines(&[FAILED_CALL, DONE]),
    ];
    let (mut host, thread) = scripted(&answers.each_ref().map(String::as_str));
    let hello = host.hello(deadline()).unwrap();
    assert_eq!(
        (hello.stack.as_str(), hello.clock),
        ("scripted", Clock::Own)
    );
    assert_eq!(
        host.setup(&setup(), deadline()).unwrap(),
        SetupAnswer::Ready
    );
    let RunAnswer::Rows(rows) = host.run(&steps(), deadline()).unwrap() else {
        panic!()
    };
    assert_eq!((rows[0].id, rows[0].end_ns), (1, 6));
    host.close();
    thread.join().unwrap();
}

#[test]
fn unsupported_is_an_answer_and_not_an_error() {
    let line =
        "{\"type\":\"unsupported\",\"what\":\"step\\u001b[31m get\",\"reason\":\"no stream\"}\n";
    let RunAnswer::Unsupported { what, reason } = run(line).unwrap() else {
        panic!()
    };
    // Control characters are replaced: they would reach a terminal.
    assert_eq!(
        (what.as_str(), reason.as_str()),
        ("step\u{fffd}[31m get", "no stream")
    );
    assert_error(
        &format!("{FAILED_CALL}\n{line}"),
        "sent unsupported where row or done was expected",
    );
}

#[test]
fn lines_that_are_not_a_valid_reply() {
    assert_error(
        "hello there\n",
        "invalid reply (expected value at line 1 column 1): \"hello there\"",
    );
    assert_error("{\"type\":\"unknown\"}\n", "unknown variant `unknown`");
    assert_error("\n", "EOF while parsing");
    assert_error("\u{0}\n", "sent an invalid reply");
    assert_error(
        &format!("{READY}\n"),
        "sent ready where row or done was expected",
    );
    assert_error(
        "{\"type\":\"failed\",\"reason\":\"out of\\nmemory\"}\n",
        "the driver failed: out of\u{fffd}memory",
    );
    let (mut host, thread) = scripted(&[&format!("{DONE}\n")]);
    let error = host.hello(deadline()).unwrap_err().to_string();
    assert_eq!(error, "the driver sent done where hello was expected");
    thread.join().unwrap();
}

#[test]
fn bytes_that_are_not_utf8() {
    let (mut host, mut requests, mut replies) = connected();
    let thread = std::thread::spawn(move || {
        requests.read_line(&mut String::new()).unwrap();
        replies.write_all(b"{\"type\":\"\xff\"}\n").unwrap();
    });
    let error = host.hello(deadline()).unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Channel(ChannelError::InvalidReply { .. })
        ),
        "{error}"
    );
    thread.join().unwrap();
}

#[test]
fn end_of_file_before_done() {
    assert_error("", "exited or closed its pipe before sending row or done");
    assert_error(DONE, "sent 15 bytes without a newline");
    assert_error(
        &format!("{FAILED_CALL}\n"),
        "exited or closed its pipe before sending row or done",
    );
}

#[test]
fn rows_are_checked() {
    let twice = format!("{FAILED_CALL}\n{FAILED_CALL}\n");
    assert_error(&twice, "the row of step 1 twice");
    assert_error(&format!("{DONE}\n"), "no row for step 1 (1 missing)");
    assert_error(
        &FAILED_CALL
            .replace("\"id\":1", "\"id\":2\n")
            .replace('\n', ""),
        "without a newline",
    );
    assert_error(
        &format!("{}\n", FAILED_CALL.replace("\"id\":1", "\"id\":2")),
        "never asked for",
    );
    assert_error(
        &format!("{}\n", FAILED_CALL.replace("\"id\":1,", "")),
        "missing field `id`",
    );
}

#[test]
fn impossible_hellos() {
    for (from, to, reason) in [
        (
            "\"version\":2",
            "\"version\":3",
            "speaks protocol version 3; this lab speaks 2",
        ),
        (
            "\"resolution_ns\":1",
            "\"resolution_ns\":0",
            "a clock resolution of 0 ns",
        ),
        ("\"stack\":\"scripted\"", "\"stack\":\"\"", "the name \"\""),
        (
            "\"colour\":\"green\"",
            "\"codecs\":[\"json\",\"\\u001b[2J\"]",
            "the codec \"\\u{1b}[2J\"",
        ),
        (
            "\"tls\":\"none\"",
            "\"tls\":\"a\\u001b\"",
            "the name \"a\\u{1b}\"",
        ),
    ] {
        let (mut host, thread) = scripted(&[&format!("{}\n", HELLO.replace(from, to))]);
        let error = host.hello(deadline()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        thread.join().unwrap();
    }
}

#[test]
fn line_limit_is_exact() {
    let padded = |length: usize| format!("{DONE}{}\n", " ".repeat(length - DONE.len()));
    let row = format!("{FAILED_CALL}\n");
    assert!(run(&format!("{row}{}", padded(65_536))).is_ok());
    assert_error(
        &format!("{row}{}", padded(65_537)),
        "a line of more than 65536 bytes",
    );
}

#[test]
fn waiting_ends_at_the_deadline() {
    let (mut host, _requests, _replies) = connected();
    let deadline = Instant::now() + Duration::from_millis(50);
    let error = host.hello(deadline).unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Channel(ChannelError::ReceiveTimeout {
                expected: "hello",
                ..
            })
        ),
        "{error}"
    );
    assert!(Instant::now() >= deadline);
}

#[test]
fn bytes_without_a_newline_do_not_extend_the_deadline() {
    let (mut host, _requests, mut replies) = connected();
    let thread = std::thread::spawn(move || while replies.write_all(b" ").is_ok() {});
    let deadline = Instant::now() + Duration::from_millis(50);
    let error = host.hello(deadline).unwrap_err();
    let ended = matches!(
        error,
        DriverError::Channel(ChannelError::NoNewline { .. } | ChannelError::LineTooLong { .. })
    );
    assert!(ended, "{error}");
    drop(host);
    thread.join().unwrap();
}

#[test]
fn sending_ends_at_the_deadline() {
    let (mut host, _requests, _replies) = connected();
    let call = Action::Call {
        body: "x".repeat(1 << 20),
    };
    let steps = [Step {
        id: 1,
        start: None,
        group: 1,
        until: None,
        cancel_after_ns: None,
        origin: None,
        action: call,
    }];
    let error = host
        .run(&steps, Instant::now() + Duration::from_millis(50))
        .unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Channel(ChannelError::SendTimeout { sent: "run", .. })
        ),
        "{error}"
    );
}
