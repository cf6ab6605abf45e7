//! `commute link --far`: a second program at the far end, with nothing but the link in between.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{CommandOutput, Sandbox, users};

/// Not the first in the PATH, which only the caller may be able to run.
const PYTHON: &str = "/usr/bin/python3";
/// Answers one connection with what it receives, prints the client's address, and goes on. It takes a while to end.
const ECHO: &str = r#"
import signal, socket, sys, time
def end(*_):
    time.sleep(0.5)
    open("ended", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
listener = socket.create_server(("", 7000))
client, address = listener.accept()
print("client", address[0], flush=True)
client.sendall(client.recv(100))
signal.pause()
"#;

const CLIENT: &str = r#"
import socket, sys
s = socket.create_connection(("far", 7000), timeout=30)
s.sendall(b"hello")
sys.exit(9 if s.recv(100) == b"hello" else 1)
"#;

/// Sends a datagram, and sees it pass its own interface.
const CAPTURE: &str = r#"
import socket
capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
capture.bind(("eth0", 0))
capture.settimeout(30)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"a datagram", ("far", 9))
while b"a datagram" not in capture.recv(2000):
    pass
"#;

#[test]
fn far_program_serves_the_command_and_ends_with_it() {
    if !Path::new(PYTHON).exists() {
        return testing::skip("/usr/bin/python3 is missing");
    }
    for user in users() {
        let sandbox = Sandbox::new();
        let far = format!("{PYTHON} -c '{ECHO}'");
        let args = ["link", "lan", "--far", &far, "--", PYTHON, "-c", CLIENT];
        let output = CommandOutput::of(sandbox.commute_as(user, &args)).exits_with(9);
        assert!(output.stderr.contains("client 198.18.0.1\n"), "{output}");
        assert_eq!(output.stdout, "", "{output}");
        assert!(sandbox.work().join("ended").exists(), "{output}");
    }
}

#[test]
fn far_program_that_fails_at_once_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["link", "lan", "--far", "exit 3", "--", "touch", "ran"])
        .exits_with(125)
        .stderr_contains("before it opened a port: exit status: 3");
    assert!(!sandbox.work().join("ran").exists());
}

#[test]
fn early_end_of_the_far_program_is_reported() {
    if !Path::new(PYTHON).exists() {
        return testing::skip("/usr/bin/python3 is missing");
    }
    let sandbox = Sandbox::new();
    let far = format!(
        "{PYTHON} -c 'import os, socket; s = socket.create_server((\"\", 1)); s.accept(); os._exit(4)'"
    );
    // Reads to the end, i.e. until the far program has ended.
    let near = "import socket; socket.create_connection((\"far\", 1), timeout=30).recv(1)";
    sandbox
        .run(&["link", "lan", "--far", &far, "--", PYTHON, "-c", near])
        .exits_with(0)
        .stderr_contains("it ended before the command: exit status: 4");
}

/// It may have been meant for a single connection, or have nothing to serve.
#[test]
fn far_program_that_succeeds_early_is_no_error() {
    let sandbox = Sandbox::new();
    let done_at_once = ["link", "lan", "-q", "--far", "true", "--", "true"];
    let output = sandbox.run(&done_at_once).exits_with(0);
    assert_eq!(output.stderr, "", "{output}");
    if !Path::new(PYTHON).exists() {
        return testing::skip("/usr/bin/python3 is missing");
    }
    let far = format!(
        "{PYTHON} -c 'import os, socket; s = socket.create_server((\"\", 1)); s.accept(); os._exit(0)'"
    );
    // Lives on after the far program, which is looked at meanwhile.
    let near = "import socket, time; socket.create_connection((\"far\", 1), timeout=30).recv(1); time.sleep(0.5)";
    let output = sandbox.run(&["link", "lan", "-q", "--far", &far, "--", PYTHON, "-c", near]);
    let output = output.exits_with(0);
    assert_eq!(output.stderr, "", "{output}");
}

#[test]
fn command_may_capture_packets() {
    if !Path::new(PYTHON).exists() {
        return testing::skip("/usr/bin/python3 is missing");
    }
    for user in users() {
        let sandbox = Sandbox::new();
        let args = ["link", "lan", "--", PYTHON, "-c", CAPTURE];
        CommandOutput::of(sandbox.commute_as(user, &args)).exits_with(0);
    }
}
