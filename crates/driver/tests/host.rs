//! The host against drivers that are a few lines of text: each breach has its reason.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use driver::protocol::{Action, Clock, Codec, Protocol, Setup, Step};
use driver::{ChannelError, DriverError, Host, Limits, RunAnswer, SetupAnswer};

const HELLO: &str = r#"{"type":"hello","version":2,"stack":"toy","stack_version":"1","tls":"none","protocols":["h2"],"capabilities":[],"clock":"own","resolution_ns":1,"phases":{},"mood":"fine"}"#;
const READY: &str = r#"{"type":"ready"}"#;
const DONE: &str = r#"{"type":"done"}"#;
const FAILED_CALL: &str = r#"{"type":"row","id":1,"start_ns":5,"end_ns":6,"error":{"kind":"connect","detail":"refused"}}"#;

/// A driver that answers each request with the next of these texts, then hangs up.
fn toy(answers: &[&str]) -> (Host, JoinHandle<()>) {
    let (host, mut requests, mut replies) = wired();
    let answers: Vec<String> = answers.iter().map(|text| (*text).to_owned()).collect();
    let thread = std::thread::spawn(move || {
        for answer in answers {
            requests.read_line(&mut String::new()).unwrap();
            replies.write_all(answer.as_bytes()).ok();
        }
    });
    (host, thread)
}

fn wired() -> (Host, BufReader<File>, File) {
    let (input, write) = pipe();
    let (read, output) = pipe();
    let host = Host::new(read, write, Limits::default()).unwrap();
    (host, BufReader::new(File::from(input)), File::from(output))
}

fn pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader.into(), writer.into())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

fn setup() -> Setup {
    Setup {
        url: "https://a:1".into(),
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
        values: std::collections::BTreeMap::new(),
        schema_file: None,
    }
}

fn steps() -> Vec<Step> {
    vec![Step {
        id: 1,
        start: None,
        group: 1,
        cancel_after_ns: None,
        action: Action::Get { bytes: 1 },
    }]
}

/// What `run` comes to when the driver answers it with `answer`.
fn run(answer: &str) -> Result<RunAnswer, DriverError> {
    let hello = format!("{HELLO}\n");
    let (mut host, thread) = toy(&[&hello, answer]);
    host.hello(soon()).unwrap();
    let outcome = host.run(&steps(), soon());
    thread.join().unwrap();
    outcome
}

#[track_caller]
fn breach(answer: &str, reason: &str) {
    let error = run(answer).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn a_whole_conversation() {
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
    let (mut host, thread) = toy(&answers.each_ref().map(String::as_str));
    let hello = host.hello(soon()).unwrap();
    assert_eq!((hello.stack.as_str(), hello.clock), ("toy", Clock::Own));
    assert_eq!(host.setup(&setup(), soon()).unwrap(), SetupAnswer::Ready);
    let RunAnswer::Rows(rows) = host.run(&steps(), soon()).unwrap() else {
        panic!()
    };
    assert_eq!((rows[0].id, rows[0].end_ns), (1, 6));
    host.close();
    thread.join().unwrap();
}

#[test]
fn unsupported_is_an_answer() {
    let line = "{\"type\":\"unsupported\",\"what\":\"step\\u001b[31m get\",\"reason\":\"tired\"}\n";
    let RunAnswer::Unsupported { what, reason } = run(line).unwrap() else {
        panic!()
    };
    // Control characters stay out of terminals.
    assert_eq!(
        (what.as_str(), reason.as_str()),
        ("step\u{fffd}[31m get", "tired")
    );
    breach(
        &format!("{FAILED_CALL}\n{line}"),
        "said unsupported where row or done was due",
    );
}

#[test]
fn lines_that_are_no_reply() {
    breach(
        "hello there\n",
        "no reply (expected value at line 1 column 1): \"hello there\"",
    );
    breach("{\"type\":\"dance\"}\n", "unknown variant `dance`");
    breach("\n", "EOF while parsing");
    breach("\u{0}\n", "is no reply");
    breach(
        &format!("{READY}\n"),
        "said ready where row or done was due",
    );
    breach(
        "{\"type\":\"failed\",\"reason\":\"out of\\ncheese\"}\n",
        "gave up: out of\u{fffd}cheese",
    );
    let (mut host, thread) = toy(&[&format!("{DONE}\n")]);
    let error = host.hello(soon()).unwrap_err().to_string();
    assert_eq!(error, "the driver said done where hello was due");
    thread.join().unwrap();
}

#[test]
fn bytes_that_are_no_text() {
    let (mut host, mut requests, mut replies) = wired();
    let thread = std::thread::spawn(move || {
        requests.read_line(&mut String::new()).unwrap();
        replies.write_all(b"{\"type\":\"\xff\"}\n").unwrap();
    });
    let error = host.hello(soon()).unwrap_err();
    assert!(
        matches!(error, DriverError::Channel(ChannelError::NotAReply { .. })),
        "{error}"
    );
    thread.join().unwrap();
}

#[test]
fn an_end_in_the_wrong_place() {
    breach("", "died: it closed its pipe before row or done");
    breach(DONE, "a line of 15 bytes without a newline");
    breach(
        &format!("{FAILED_CALL}\n"),
        "died: it closed its pipe before row or done",
    );
}

#[test]
fn rows_are_checked() {
    let twice = format!("{FAILED_CALL}\n{FAILED_CALL}\n");
    breach(&twice, "the row of step 1 twice");
    breach(&format!("{DONE}\n"), "no row for step 1 (1 missing)");
    breach(
        &FAILED_CALL
            .replace("\"id\":1", "\"id\":2\n")
            .replace('\n', ""),
        "without a newline",
    );
    breach(
        &format!("{}\n", FAILED_CALL.replace("\"id\":1", "\"id\":2")),
        "never asked for",
    );
    breach(
        &format!("{}\n", FAILED_CALL.replace("\"id\":1,", "")),
        "missing field `id`",
    );
}

#[test]
fn a_hello_that_cannot_be_true() {
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
        ("\"stack\":\"toy\"", "\"stack\":\"\"", "the name \"\""),
        (
            "\"mood\":\"fine\"",
            "\"codecs\":[\"json\",\"\\u001b[2J\"]",
            "the codec \"\\u{1b}[2J\"",
        ),
        (
            "\"tls\":\"none\"",
            "\"tls\":\"a\\u001b\"",
            "the name \"a\\u{1b}\"",
        ),
    ] {
        let (mut host, thread) = toy(&[&format!("{}\n", HELLO.replace(from, to))]);
        let error = host.hello(soon()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        thread.join().unwrap();
    }
}

#[test]
fn a_line_at_the_bound_and_one_beyond() {
    let padded = |length: usize| format!("{DONE}{}\n", " ".repeat(length - DONE.len()));
    let row = format!("{FAILED_CALL}\n");
    assert!(run(&format!("{row}{}", padded(65_536))).is_ok());
    breach(
        &format!("{row}{}", padded(65_537)),
        "a line of more than 65536 bytes",
    );
}

#[test]
fn silence_ends_at_the_deadline() {
    let (mut host, _requests, _replies) = wired();
    let deadline = Instant::now() + Duration::from_millis(50);
    let error = host.hello(deadline).unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Channel(ChannelError::Silence {
                awaited: "hello",
                ..
            })
        ),
        "{error}"
    );
    assert!(Instant::now() >= deadline);
}

#[test]
fn a_drip_of_bytes_does_not_move_the_deadline() {
    let (mut host, _requests, mut replies) = wired();
    let thread = std::thread::spawn(move || while replies.write_all(b" ").is_ok() {});
    let deadline = Instant::now() + Duration::from_millis(50);
    let error = host.hello(deadline).unwrap_err();
    let bounded = matches!(
        error,
        DriverError::Channel(ChannelError::NoNewline { .. } | ChannelError::LineTooLong { .. })
    );
    assert!(bounded, "{error}");
    drop(host);
    thread.join().unwrap();
}

#[test]
fn a_driver_that_does_not_read_is_not_waited_for() {
    let (mut host, _requests, _replies) = wired();
    let call = Action::Call {
        body: "x".repeat(1 << 20),
    };
    let steps = [Step {
        id: 1,
        start: None,
        group: 1,
        cancel_after_ns: None,
        action: call,
    }];
    let error = host
        .run(&steps, Instant::now() + Duration::from_millis(50))
        .unwrap_err();
    assert!(
        matches!(
            error,
            DriverError::Channel(ChannelError::Deaf { request: "run", .. })
        ),
        "{error}"
    );
}
