//! The libcurl driver against the real server, by the rules of the Rust drivers.
//!
//! It needs what `stacks/curl/install` makes. Without it these tests fail under `CI` and
//! only say so elsewhere.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::bench::{Bench, Log};
use common::proxy::{self, Fate};
use common::{Driver, call, in_order, side_by_side, soon};
use driver::manifest::Manifest;
use driver::protocol::{Action, ErrorKind, Protocol, Reconnect, Row, Setup, Start, Step};
use driver::{RunAnswer, SetupAnswer};

const FILE_BYTES: u64 = 163_763;
const PROTOCOLS: [Protocol; 3] = [Protocol::H1, Protocol::H2, Protocol::H3];

/// The manifest's command, if it is installed.
fn command() -> Option<Vec<String>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../curl");
    let text = std::fs::read_to_string(format!("{folder}/stack.toml")).unwrap();
    let manifest = Manifest::parse(&text).unwrap();
    let argv = manifest.driver[0].argv(folder.as_ref(), "".as_ref());
    if std::path::Path::new(&argv[0]).exists() {
        return Some(argv);
    }
    testing::skip("libcurl is not installed: run stacks/curl/install");
    None
}

fn run(bench: &Bench, setup: &Setup, steps: &[Step]) -> Option<Vec<Row>> {
    let command = command()?;
    let command: Vec<_> = command.iter().map(String::as_str).collect();
    Some(bench.run_on(&command, setup, steps))
}

/// Runs these steps over each protocol; hands rows and log to `check`.
fn over_each(steps: &[Step], check: impl Fn(Protocol, &[Row], &Log)) {
    for protocol in PROTOCOLS {
        let bench = Bench::start();
        // An address, for libcurl takes the first address of a name for connected when
        // it sends early data, and `localhost` may have two.
        let setup = bench.setup_by_address(protocol);
        let Some(rows) = run(&bench, &setup, steps) else {
            return;
        };
        let log = bench.stop();
        log.agrees_with(&rows);
        check(protocol, &rows, &log);
    }
}

#[test]
fn calls_and_files_over_one_connection() {
    let steps = in_order([
        call(),
        call(),
        Action::Get { bytes: FILE_BYTES },
        Action::Put { bytes: FILE_BYTES },
        Action::Get { bytes: 0 },
        Action::Put { bytes: 0 },
    ]);
    over_each(&steps, |protocol, rows, log| {
        assert_eq!(log.connections.len(), 1, "{protocol:?}");
        assert_eq!(
            rows[2].digest,
            Some(wire::digest_of(FILE_BYTES)),
            "{protocol:?}"
        );
        let uploaded = log.requests.iter().find(|hit| hit.id == Some(4)).unwrap();
        assert_eq!(
            uploaded.request_digest,
            wire::digest_of(FILE_BYTES),
            "{protocol:?}"
        );
        for row in rows {
            assert_eq!((row.connection, row.reused), (1, row.id > 1), "{row:?}");
            assert_eq!(row.tls_ns.is_some(), row.id == 1, "{row:?}");
            assert_eq!(
                row.connect_ns.is_some(),
                row.id == 1 && protocol != Protocol::H3
            );
        }
    });
}

#[test]
fn side_by_side_calls_share_a_connection_except_on_http_1() {
    let files = (0..6).map(|_| Action::Get { bytes: FILE_BYTES });
    over_each(&side_by_side(files), |protocol, rows, log| {
        let connections = if protocol == Protocol::H1 { 6 } else { 1 };
        assert_eq!(log.connections.len(), connections, "{protocol:?}");
        assert_eq!(
            rows.iter().filter(|row| !row.reused).count(),
            connections,
            "{protocol:?}"
        );
        let first_end_ns = rows.iter().map(|row| row.end_ns).min().unwrap();
        assert!(
            rows.iter().all(|row| row.start_ns < first_end_ns),
            "{protocol:?}"
        );
    });
}

#[test]
fn a_reconnect_forgets_or_resumes_as_told() {
    let steps = in_order([
        call(),
        Action::Reconnect {
            mode: Reconnect::Resume,
        },
        call(),
        call(),
        Action::Reconnect {
            mode: Reconnect::Cold,
        },
        call(),
    ]);
    over_each(&steps, |protocol, rows, log| {
        assert_eq!(log.connections.len(), 3, "{protocol:?}");
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.connection, row.resumed))
            .collect();
        assert_eq!(
            seen,
            [(1, false), (2, true), (2, true), (3, false)],
            "{protocol:?}"
        );
    });
}

#[test]
fn early_data_goes_over_http_3_only() {
    let bench = Bench::start();
    let steps = in_order([
        call(),
        Action::Reconnect {
            mode: Reconnect::EarlyData,
        },
        call(),
        call(),
    ]);
    let setup = bench.setup_by_address(Protocol::H3);
    let Some(rows) = run(&bench, &setup, &steps) else {
        return;
    };
    bench.stop().agrees_with(&rows);
    let early: Vec<_> = rows.iter().map(|row| row.early_data).collect();
    assert_eq!(early, [false, true, false]);
}

#[test]
fn client_certificates_are_shown_where_they_are_demanded() {
    for protocol in PROTOCOLS {
        let bench = Bench::start();
        let Some(rows) = run(&bench, &bench.mtls_setup(protocol), &in_order([call()])) else {
            return;
        };
        let log = bench.stop();
        log.agrees_with(&rows);
        assert!(log.connections[0].client_cert.is_some(), "{protocol:?}");
    }
}

#[test]
fn steps_start_when_they_are_told_to() {
    let pause_ns = 50_000_000;
    let mut steps = in_order([
        call(),
        Action::Pause { ns: pause_ns },
        call(),
        call(),
        call(),
    ]);
    steps[3].start = Some(Start::AtNs(2 * pause_ns));
    steps[4].start = Some(Start::After(1));
    steps[4].group = 2;
    over_each(&steps, |protocol, rows, _| {
        let begin_ns = rows[0].start_ns;
        assert!(
            rows[1].start_ns >= rows[0].end_ns + pause_ns,
            "{protocol:?}"
        );
        // The run began a little before its first call, never after.
        assert!(
            rows[2].start_ns + 5_000_000 >= begin_ns + 2 * pause_ns,
            "{protocol:?}"
        );
        assert!(
            (rows[0].end_ns..rows[1].start_ns).contains(&rows[3].start_ns),
            "{protocol:?}"
        );
    });
}

#[test]
fn a_connection_that_breaks_fails_its_call_and_the_next_opens_another() {
    for protocol in [Protocol::H1, Protocol::H2] {
        let bench = Bench::start();
        let proxy = proxy::tcp(bench.address(), 1 << 20, Fate::Closes);
        let url = format!("https://localhost:{}", proxy.port());
        let setup = Setup {
            url,
            ..bench.setup(protocol)
        };
        let steps = in_order([Action::Get { bytes: 4 << 20 }, call()]);
        let Some(rows) = run(&bench, &setup, &steps) else {
            return;
        };
        assert_eq!(
            rows[0].error.as_ref().unwrap().kind,
            ErrorKind::Reset,
            "{rows:?}"
        );
        assert_eq!(
            (rows[0].connection, rows[0].status),
            (1, Some(200)),
            "{rows:?}"
        );
        assert_eq!(
            (rows[1].connection, rows[1].error.as_ref()),
            (2, None),
            "{rows:?}"
        );
    }
}

#[test]
fn a_silent_path_times_http_3_out_until_it_reconnects() {
    let bench = Bench::start();
    let proxy = proxy::udp(bench.address(), 40);
    let url = format!("https://127.0.0.1:{}", proxy.port());
    let setup = Setup {
        url,
        timeout_ns: 1_500_000_000,
        ..bench.setup(Protocol::H3)
    };
    let reconnect = Action::Reconnect {
        mode: Reconnect::Cold,
    };
    let steps = in_order([Action::Get { bytes: 4 << 20 }, reconnect, call()]);
    let Some(rows) = run(&bench, &setup, &steps) else {
        return;
    };
    assert_eq!(
        rows[0].error.as_ref().unwrap().kind,
        ErrorKind::Timeout,
        "{rows:?}"
    );
    assert!(
        rows[0].end_ns - rows[0].start_ns >= 1_490_000_000,
        "{rows:?}"
    );
    assert!(
        rows[0].tls_ns.is_some() && rows[0].first_byte_ns.is_some(),
        "{rows:?}"
    );
    assert_eq!(
        (rows[1].connection, rows[1].error.as_ref()),
        (2, None),
        "{rows:?}"
    );
}

#[test]
fn what_it_cannot_do_it_says_and_failures_are_rows() {
    let Some(command) = command() else { return };
    let command: Vec<_> = command.iter().map(String::as_str).collect();
    let bench = Bench::start();
    for protocol in ["h1", "h2", "h3"] {
        common::probe(&command, &bench.setup(Protocol::H1).ca_file, protocol);
    }
    let mut driver = Driver::start(&command, &[]);
    let hello = driver.host.hello(soon()).unwrap();
    assert_eq!(hello.protocols, PROTOCOLS);
    let grpc = driver
        .host
        .setup(&bench.setup(Protocol::Grpc), soon())
        .unwrap();
    assert!(matches!(grpc, SetupAnswer::Unsupported { what, .. } if what == "protocol grpc"));

    let closed = Setup {
        url: "https://127.0.0.1:1".into(),
        ..bench.setup(Protocol::H2)
    };
    assert_eq!(
        driver.host.setup(&closed, soon()).unwrap(),
        SetupAnswer::Ready
    );
    let stream = in_order([Action::Stream {
        body: "{}".into(),
        messages: 1,
    }]);
    let answer = driver.host.run(&stream, soon()).unwrap();
    assert!(matches!(answer, RunAnswer::Unsupported { what, .. } if what == "step stream"));
    let RunAnswer::Rows(rows) = driver.host.run(&in_order([call()]), soon()).unwrap() else {
        panic!();
    };
    assert_eq!(rows[0].error.as_ref().unwrap().kind, ErrorKind::Connect);
    assert_eq!((rows[0].connection, rows[0].attempts), (0, 0));
    driver.close();
}
