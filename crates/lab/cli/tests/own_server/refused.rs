//! Studies and servers that are refused before a request is sent.

use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::atomic::Ordering;

use crate::answering::{Answering, make_credentials};
use crate::common::{self, CommandOutput, Sandbox, User};
use crate::{ANY, HEAD, ONE_ARM, STEPS, run, run_unasked, sandbox, study};

#[test]
fn what_only_the_labs_servers_do_is_refused() {
    let sandbox = sandbox();
    sandbox.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    let address: SocketAddr = ([127, 0, 0, 1], 9).into();
    let with = |arms: &str, steps: &str| study(1, address, arms, steps);
    let arm = |more: &str| format!("{ONE_ARM}{more}\n");
    let no_url = with(ONE_ARM, STEPS).replace("https://my.test:9443", "https://localhost:9443");
    let typo = with(ONE_ARM, STEPS).replace("address =", "adress =");
    let two = with(&arm("server = \"go\""), STEPS);
    let string = format!("{HEAD}blocks = 1\nserver = \"https://a.test\"\n{ONE_ARM}{STEPS}");
    let origins = format!("{HEAD}blocks = 1\n[origins]\nfiles = \"own-server\"\n{ONE_ARM}{STEPS}");
    let origins = origins.replacen("path =", "origin = \"files\"\npath =", 1);
    let server = "[server]\nurl = \"https://my.test\"\nca = \"ca.pem\"\n[origins]";
    let origins = origins.replace("[origins]", server);
    let no_ca = with(ONE_ARM, STEPS).replace("ca.pem", "basic.toml");
    for (text, message) in [
        (
            with(ONE_ARM, "[[step]]\ncall = \"echo\"\n"),
            "mine.toml:16:8: group `echo`: a `call` without `path` asks for what only the lab's servers answer",
        ),
        (
            with(ONE_ARM, "[[step]]\nget = \"file\"\nbytes = 7\n"),
            "group `file`: `get` asks for what only",
        ),
        (
            origins,
            "commute: mine.toml: [origins]: a server of your own is one origin",
        ),
        (
            with(&arm("security = \"mtls\""), STEPS),
            "`security` chooses or sets up a server of the lab",
        ),
        (
            with(&arm("key = \"p256\""), STEPS),
            "`key` chooses or sets up",
        ),
        (
            two,
            "mine.toml:12:1: arm `hyper h1 (go server)`: a server of your own, [server] with `url`, is every arm's",
        ),
        (
            string,
            "mine.toml:8:10: server: write a server of your own as [server] url",
        ),
        (
            no_url,
            "mine.toml:9:7: url: `https://localhost:9443`: behind the emulated link",
        ),
        (typo, "unknown field `adress`"),
        (no_ca, "basic.toml: no certificate in PEM"),
    ] {
        sandbox.write("mine.toml", &text);
        let output = run(&sandbox, User::Caller, &["--dry-run"]);
        output.exits_with(1).stderr_contains(message);
    }
}

#[test]
fn secrets_of_another_server_cannot_be_saved() {
    let sandbox = sandbox();
    sandbox.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    let address: SocketAddr = ([127, 0, 0, 1], 9).into();
    sandbox.write("mine.toml", &study(1, address, ONE_ARM, STEPS));
    run(&sandbox, User::Caller, &["--dry-run"])
        .exits_with(0)
        .stdout_contains(
            "https://my.test:9443 gets up to 4 requests (more where blocks are run again)\n",
        );
    run(&sandbox, User::Caller, &["--keylog"])
        .exits_with(2)
        .stderr_contains("--keylog and --qlog are written by the lab's servers");
}

#[test]
fn many_requests_need_consent() {
    let sandbox = sandbox();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    sandbox.write(
        "mine.toml",
        &format!("{HEAD}blocks = 2501\n{ONE_ARM}{STEPS}"),
    );
    let address = listener.local_addr().unwrap().to_string();
    let server = [
        "--server",
        "https://my.test:9443",
        "--server-address",
        &address,
    ];
    run_unasked(&sandbox, User::Caller, &server)
        .exits_with(2)
        .stderr_contains(
            "this run would send 10004 requests to https://my.test:9443, more than 10000",
        );
    assert_unconnected(&listener);
}

/// Checks that nothing has connected.
fn assert_unconnected(listener: &TcpListener) {
    listener.set_nonblocking(true).unwrap();
    let error = listener.accept().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn the_server_that_a_study_names_needs_consent() {
    let sandbox = sandbox();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    sandbox.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    sandbox.write("body.json", "{}");
    let steps = STEPS.replacen("path =", "request = \"body.json\"\npath =", 1);
    sandbox.write("mine.toml", &study(1, address, ONE_ARM, &steps));
    let refused = format!(
        "this run would send up to 4 requests (more where blocks are run again) to https://my.test:9443 at {address}, \
         which the study names, with \"body.json\"; add --yes"
    );
    run_unasked(&sandbox, User::Caller, &[])
        .exits_with(2)
        .stderr_contains(&refused);
    let added =
        "up to 4 requests (more where blocks are run again or added) to https://my.test:9443";
    run_unasked(
        &sandbox,
        User::Caller,
        &["--until-decided", "--blocks", "1"],
    )
    .exits_with(2)
    .stderr_contains(added);
    assert_unconnected(&listener);
    assert!(!sandbox.work().join("run").exists());
    if common::find_program("script").is_none() {
        return testing::skip("script (util-linux), which opens a terminal, is missing");
    }
    let commute = sandbox.commute(&[]);
    let program = commute.get_program().to_str().unwrap();
    let line = format!("'{program}' run mine.toml --out run --no-self-test -q");
    let answered = |answer: &str| on_terminal(&sandbox, answer, &line);
    answered("n")
        .exits_with(1)
        .stdout_contains("this run sends the content of:\r\n  \"body.json\"\r\n")
        .stdout_contains("which the study names. Continue? [y/N]")
        .stdout_contains("nothing was sent");
    assert_unconnected(&listener);
    // The next that would happen.
    drop(listener);
    answered("y")
        .exits_with(1)
        .stdout_contains(&format!("no connection to {address}"));
}

/// Runs a line of the shell on a terminal, with this answer to its question.
fn on_terminal(sandbox: &Sandbox, answer: &str, line: &str) -> CommandOutput {
    let mut command = Command::new("sh");
    let script = format!("echo {answer} | script -qec \"{line}\" /dev/null");
    command.args(["-c", &script]);
    sandbox.configure(&mut command, User::Caller);
    CommandOutput::of(command)
}

/// Whoever resumes a run may have got its folder from somebody else.
#[test]
fn resuming_needs_consent_as_well() {
    let sandbox = sandbox();
    let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let server = Answering::start(&make_credentials(&sandbox), ANY, ok);
    sandbox.write("mine.toml", &study(1, server.address, ONE_ARM, STEPS));
    run(&sandbox, User::Caller, &[]).exits_with(0);
    let sent = server.requests.load(Ordering::Relaxed);
    let resume = ["run", "--resume", "run", "--blocks", "2"];
    sandbox
        .run(&resume)
        .exits_with(2)
        .stderr_contains("which the study names; add --yes");
    assert_eq!(server.requests.load(Ordering::Relaxed), sent);
    sandbox
        .run(&[&resume[..], &["--yes"]].concat())
        .exits_with(0);
    assert!(server.requests.load(Ordering::Relaxed) > sent);
    let or_resume = ["--or-resume", "--blocks", "3"];
    let sent = server.requests.load(Ordering::Relaxed);
    run_unasked(&sandbox, User::Caller, &or_resume)
        .exits_with(2)
        .stderr_contains("which the study names; add --yes");
    assert_eq!(server.requests.load(Ordering::Relaxed), sent);
    run(&sandbox, User::Caller, &or_resume).exits_with(0);
    assert!(server.requests.load(Ordering::Relaxed) > sent);
    server.end();
}

#[test]
fn names_of_files_cannot_forge_the_question() {
    let sandbox = sandbox();
    let address: SocketAddr = ([127, 0, 0, 1], 9).into();
    sandbox.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    let harmless = "this run sends up to 1 request to https:harmless.test";
    let name = format!("a\". Continue? [y-N]\n{harmless}\u{1b}[2J\u{202e}.json");
    sandbox.write(&name, "{}");
    let path = format!("request = {}\npath =", toml::Value::from(name));
    let steps = STEPS.replacen("path =", &path, 1);
    sandbox.write("mine.toml", &study(1, address, ONE_ARM, &steps));
    let shown = format!(r#""a\". Continue? [y-N]\n{harmless}\u{{1b}}[2J\u{{202e}}.json""#);
    let refused = run_unasked(&sandbox, User::Caller, &[])
        .exits_with(2)
        .stderr_contains(&format!("which the study names, with {shown}; add --yes"));
    assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{refused}");
    if common::find_program("script").is_none() {
        return testing::skip("script (util-linux), which opens a terminal, is missing");
    }
    let commute = sandbox.commute(&[]);
    let program = commute.get_program().to_str().unwrap();
    let line = format!("'{program}' run mine.toml --out run --no-self-test -q");
    let output = on_terminal(&sandbox, "n", &line).exits_with(1);
    let lines: Vec<&str> = output.stdout.lines().map(str::trim_end).collect();
    let file = lines.iter().position(|line| *line == format!("  {shown}"));
    let question = lines[file.unwrap() + 1];
    assert!(
        question.starts_with("this run sends up to 4 requests (more where blocks are run again) to https://my.test:9443"),
        "{output}"
    );
    assert!(
        !lines.iter().any(|line| line.starts_with(harmless)),
        "{output}"
    );
    assert!(!output.stdout.contains(['\u{1b}', '\u{202e}']), "{output}");
}
