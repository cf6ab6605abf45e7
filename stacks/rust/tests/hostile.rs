//! One hostile driver for each lie: caught with its reason, or refuted by the server's log.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::{Duration, Instant};

use common::bench::Bench;
use common::{Driver, call, in_order, soon};
use driver::protocol::{Protocol, Row};
use driver::{DriverError, RunAnswer};

const HOSTILE: &str = env!("CARGO_BIN_EXE_commute-driver-hostile");

fn run(bench: &Bench, lie: &str, protocol: Protocol) -> Result<Vec<Row>, DriverError> {
    let mut driver = Driver::start(&[HOSTILE], &[("COMMUTE_HOSTILE", lie)]);
    driver.host.hello(soon())?;
    driver.host.setup(&bench.setup(protocol), soon())?;
    let patience = if lie == "silence" {
        Duration::from_secs(2)
    } else {
        Duration::from_secs(20)
    };
    let answer = driver
        .host
        .run(&in_order([call(), call()]), Instant::now() + patience)?;
    match answer {
        RunAnswer::Rows(rows) => Ok(rows),
        RunAnswer::Unsupported { what, .. } => panic!("{what}"),
    }
}

#[test]
fn what_the_host_can_catch_it_names() {
    let bench = Bench::start();
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
        let error = run(&bench, lie, Protocol::H2).unwrap_err().to_string();
        assert!(error.contains(reason), "{lie}: {error}");
    }
    // None of them did the next one any harm.
    let rows = run(&bench, "banner", Protocol::H2).unwrap();
    assert!(rows.iter().all(|row| row.error.is_none()), "{rows:?}");
}

#[test]
fn what_only_the_server_knows_its_log_refutes() {
    for (lie, protocol) in [
        ("claims-h3-over-h2", Protocol::H3),
        ("claims-reuse", Protocol::H2),
        ("claims-0rtt", Protocol::H2),
        ("wrong-digest", Protocol::H2),
    ] {
        let bench = Bench::start();
        let rows = run(&bench, lie, protocol).unwrap();
        let log = bench.stop();
        let hit = log.requests.iter().find(|hit| hit.id == Some(1)).unwrap();
        let row = &rows[0];
        assert_eq!(hit.protocol, "h2");
        match lie {
            "claims-h3-over-h2" => assert_eq!(row.protocol, Some(Protocol::H3)),
            "claims-reuse" => assert!(row.reused, "the first call of the only connection"),
            "claims-0rtt" => assert!(row.early_data && !hit.early_data),
            _ => assert_ne!(row.digest.as_ref(), Some(&hit.response_digest)),
        }
    }
}
