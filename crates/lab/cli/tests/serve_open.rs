//! `commute serve` at addresses that other machines can reach.

mod common;

use common::command::Running;
use common::{CommandOutput, Sandbox};
use rustix::process::Signal;

const OPEN: &str = "0.0.0.0:0";
const NOTE: &str = "note: whoever reaches 0.0.0.0:";

/// Starts a server, and ends it once it listens.
fn serve(sandbox: &Sandbox, options: &[&str]) -> CommandOutput {
    let running = Running::start(sandbox.commute(&[&["serve"], options].concat()));
    running.wait_for_stdout("listening");
    running.signal(Signal::TERM);
    running.finish().exits_with(0)
}

#[test]
fn open_addresses_are_named_with_what_to_do() {
    let sandbox = Sandbox::new();
    let own = "127.0.0.1:0";
    let open: [&[&str]; 3] = [
        &["--listen", OPEN],
        &["--listen", own, "--plaintext-listen", OPEN],
        &["--listen", own, "--listen", OPEN, "--json"],
    ];
    for options in open {
        let output = serve(&sandbox, options)
            .stderr_contains(NOTE)
            .stderr_contains("add --auth jwt or --auth hmac");
        assert!(!output.stderr.contains(" or 127.0.0.1:"), "{output}");
    }
    let closed: [&[&str]; 4] = [
        &["--listen", own, "--plaintext-listen", "127.0.0.2:0"],
        &["--listen", own, "--mtls-listen", OPEN],
        &["--listen", OPEN, "--auth", "jwt", "--credentials", "cred"],
        &["--listen", OPEN, "--quiet"],
    ];
    for options in closed {
        let output = serve(&sandbox, options);
        assert!(!output.stderr.contains("reaches"), "{output}");
    }
}
