//! The driver in docs/driver-protocol.md and the one in stacks/example, against the real server.

use crate::common::test_server::TestServer;
use crate::common::{Driver, call, deadline, in_checkout, sequential};
use driver::protocol::{Action, Protocol, Reconnect};
use driver::{RunAnswer, SetupAnswer};

const PYTHON: &str = "/usr/bin/python3";

/// Reports whether Python is there, else skips the test.
fn has_python() -> bool {
    let there = std::path::Path::new(PYTHON).is_file();
    if !there {
        testing::skip("python3 is not installed");
    }
    there
}

/// Writes the only Python program of the page into a file.
fn driver_in_the_docs() -> tempfile::NamedTempFile {
    let page = std::fs::read_to_string(in_checkout("docs/driver-protocol.md")).unwrap();
    let (_, program) = page.split_once("```python\n").unwrap();
    let (program, _) = program.split_once("```\n").unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), program).unwrap();
    file
}

#[test]
fn driver_in_the_docs_downloads() {
    if !has_python() {
        return;
    }
    let file = driver_in_the_docs();
    let command = [PYTHON, "-I", file.path().to_str().unwrap()];
    let server = TestServer::start();
    let files = [0, 1, 100_000].map(|bytes| Action::Get { bytes });
    let rows = server.run_on(&command, &server.setup(Protocol::H1), &sequential(files));
    let reused: Vec<_> = rows.iter().map(|row| row.reused).collect();
    assert_eq!(reused, [false, true, true]);
    server.stop().assert_agrees_with(&rows);
}

#[test]
fn driver_in_the_docs_reports_what_it_does_not_support() {
    if !has_python() {
        return;
    }
    let file = driver_in_the_docs();
    let server = TestServer::start();
    let mut driver = Driver::start(&[PYTHON, "-I", file.path().to_str().unwrap()]);
    driver.host.hello(deadline()).unwrap();
    let unknown = driver
        .host
        .send_unknown_request(r#"{"type":"unknown"}"#, deadline());
    assert_eq!(unknown.unwrap().0, "unknown");
    for setup in [server.setup(Protocol::H2), server.mtls_setup(Protocol::H1)] {
        let answer = driver.host.setup(&setup, deadline()).unwrap();
        assert!(matches!(answer, SetupAnswer::Unsupported { .. }));
    }
    let setup = server.setup(Protocol::H1);
    let answer = driver.host.setup(&setup, deadline()).unwrap();
    assert_eq!(answer, SetupAnswer::Ready);
    let answer = driver.host.run(&sequential([call()]), deadline()).unwrap();
    assert!(matches!(answer, RunAnswer::Unsupported { .. }));
    driver.close();
}

#[test]
fn example_driver_makes_every_call_of_http_1() {
    if !has_python() {
        return;
    }
    let path = in_checkout("stacks/example/driver.py");
    let command = [PYTHON, "-I", &path];
    let server = TestServer::start();
    let steps = sequential([
        call(),
        Action::Get { bytes: 100_000 },
        Action::Reconnect {
            mode: Reconnect::Cold,
        },
        Action::Pause { ns: 1_000_000 },
        Action::Put { bytes: 100_000 },
    ]);
    let rows = server.run_on(&command, &server.setup(Protocol::H1), &steps);
    let connections: Vec<_> = rows
        .iter()
        .map(|row| (row.connection, row.reused))
        .collect();
    assert_eq!(connections, [(1, false), (1, true), (2, false)]);
    server.stop().assert_agrees_with(&rows);
}
