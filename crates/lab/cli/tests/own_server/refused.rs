//! Studies and servers that are refused before a request is sent.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crate::common::User;
use crate::{HEAD, ONE_ARM, STEPS, run, sandbox, study};

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
        .stdout_contains("https://my.test:9443 gets at most 4 requests");
    run(&sandbox, User::Caller, &["--keylog"])
        .exits_with(2)
        .stderr_contains("--keylog and --qlog are written by the lab's servers");
}

#[test]
fn many_requests_need_consent() {
    let sandbox = sandbox();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    sandbox.write("ca.pem", "-----BEGIN CERTIFICATE-----\n");
    let address = listener.local_addr().unwrap();
    sandbox.write("mine.toml", &study(2_501, address, ONE_ARM, STEPS));
    run(&sandbox, User::Caller, &[])
        .exits_with(2)
        .stderr_contains("this run would send 10004 requests to https://my.test:9443");
    listener.set_nonblocking(true).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    assert_eq!(std::io::Read::read(&mut stream, &mut [0]).unwrap(), 0);
}
