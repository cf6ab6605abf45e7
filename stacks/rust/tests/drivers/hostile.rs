//! Each lie of the hostile driver is caught by the host, or refuted by the server's log.

use std::time::{Duration, Instant};

use crate::common::test_server::TestServer;
use crate::common::{Driver, call, deadline, sequential};
use driver::protocol::{Protocol, Row};
use driver::{DriverError, RunAnswer};

/// Long enough to show that a silent driver sends nothing.
const SILENCE: Duration = Duration::from_secs(2);

fn run(server: &TestServer, lie: &str, protocol: Protocol) -> Result<Vec<Row>, DriverError> {
    let hostile = testing::example("commute-driver-hostile");
    let mut driver = Driver::start(&[hostile.to_str().unwrap(), lie]);
    driver.host.hello(deadline())?;
    driver.host.setup(&server.setup(protocol), deadline())?;
    let deadline = match lie {
        "silence" => Instant::now() + SILENCE,
        _ => deadline(),
    };
    let answer = driver.host.run(&sequential([call(), call()]), deadline)?;
    match answer {
        RunAnswer::Rows(rows) => Ok(rows),
        RunAnswer::Unsupported { what, .. } => panic!("{what}"),
    }
}

#[test]
fn host_detects_each_lie_it_can() {
    let server = TestServer::start();
    for (lie, reason) in [
        ("time-before-start", "ns before the run was sent"),
        ("same-id-twice", "the driver sent the row of step 1 twice"),
        (
            "unknown-id",
            "the driver sent a row for step 1000001, which was never asked for",
        ),
        (
            "long-line",
            "the driver sent a line of more than 65536 bytes",
        ),
        ("no-newline", "without a newline"),
        ("silence", "the driver timed out: no row or done within"),
        (
            "death",
            "the driver exited or closed its pipe before sending row or done",
        ),
    ] {
        let error = run(&server, lie, Protocol::H2).unwrap_err().to_string();
        assert!(error.contains(reason), "{lie}: {error}");
    }
    // None of them affects the next driver.
    let rows = run(&server, "banner", Protocol::H2).unwrap();
    assert!(rows.iter().all(|row| row.error.is_none()), "{rows:?}");
}

#[test]
fn server_log_refutes_the_other_lies() {
    for (lie, protocol) in [
        ("claims-h3-over-h2", Protocol::H3),
        ("claims-reuse", Protocol::H2),
        ("claims-0rtt", Protocol::H2),
        ("wrong-digest", Protocol::H2),
    ] {
        let server = TestServer::start();
        let rows = run(&server, lie, protocol).unwrap();
        let log = server.stop();
        let request = log.request(1);
        let row = &rows[0];
        assert_eq!(request.protocol, "h2");
        match lie {
            "claims-h3-over-h2" => assert_eq!(row.protocol, Some(Protocol::H3)),
            "claims-reuse" => assert!(row.reused, "the first call of the only connection"),
            "claims-0rtt" => assert!(row.early_data && !request.early_data),
            _ => assert_ne!(row.digest.as_ref(), Some(&request.response_digest)),
        }
    }
}
