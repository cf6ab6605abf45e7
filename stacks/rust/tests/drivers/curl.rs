//! The libcurl driver against the real server, in the same tests as the Rust drivers.
//!
//! They are skipped unless `stacks/curl/install` has been run.

use std::time::Duration;

use crate::common::proxy::{self, Failure};
use crate::common::test_server::{ServerLog, TestServer};
use crate::common::{Driver, call, concurrent, deadline, sequential};
use driver::manifest::Manifest;
use driver::protocol::{Action, ErrorKind, Protocol, Reconnect, Row, Setup, Start, Step};
use driver::{RunAnswer, SetupAnswer};

/// The file of the game-api study.
const FILE_BYTES: u64 = 163_763;
/// More than the relay lets through before it fails.
const LARGE_FILE_BYTES: u64 = 4 << 20;
/// For calls on loopback, which take milliseconds, and for those that are to time out.
const TIMEOUT_NS: u64 = 1_500_000_000;
/// Ten times the resolution of libcurl's timeout (CURLOPT_TIMEOUT_MS), a millisecond.
const TIMER_MARGIN_NS: u64 = 10_000_000;
const PROTOCOLS: [Protocol; 3] = [Protocol::H1, Protocol::H2, Protocol::H3];

/// Returns the manifest's command if the driver is installed, else skips the test.
fn command() -> Option<Vec<String>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../curl");
    let text = std::fs::read_to_string(format!("{folder}/stack.toml")).unwrap();
    let manifest = Manifest::parse("stack.toml", &text).unwrap();
    let argv = manifest.driver[0].argv(folder.as_ref(), "".as_ref());
    if std::path::Path::new(&argv[0]).exists() {
        return Some(argv);
    }
    testing::skip("libcurl is not installed: run stacks/curl/install");
    None
}

fn run(server: &TestServer, setup: &Setup, steps: &[Step]) -> Option<Vec<Row>> {
    let command = command()?;
    let command: Vec<_> = command.iter().map(String::as_str).collect();
    Some(server.run_on(&command, setup, steps))
}

/// Runs these steps over each protocol and passes rows and log to `check`.
fn over_each(steps: &[Step], check: impl Fn(Protocol, &[Row], &ServerLog)) {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        // By address, because with early data libcurl takes the first address of a name for
        // connected, and `localhost` may have two.
        let setup = server.setup_by_address(protocol);
        let Some(rows) = run(&server, &setup, steps) else {
            return;
        };
        let log = server.stop();
        log.assert_agrees_with(&rows);
        check(protocol, &rows, &log);
    }
}

#[test]
fn calls_and_files_over_one_connection() {
    let steps = sequential([
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
            Some(messages::digest_of(FILE_BYTES)),
            "{protocol:?}"
        );
        assert_eq!(
            log.request(4).request_digest,
            messages::digest_of(FILE_BYTES),
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
fn concurrent_calls_share_a_connection_except_on_http_1() {
    let files = (0..6).map(|_| Action::Get { bytes: FILE_BYTES });
    over_each(&concurrent(files), |protocol, rows, log| {
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
fn reconnect_discards_or_uses_tickets() {
    let steps = sequential([
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
        let reported: Vec<_> = rows
            .iter()
            .map(|row| (row.connection, row.resumed))
            .collect();
        assert_eq!(
            reported,
            [
                (1, Some(false)),
                (2, Some(true)),
                (2, Some(true)),
                (3, Some(false))
            ],
            "{protocol:?}"
        );
    });
}

#[test]
fn only_the_first_call_after_a_reconnect_is_early_data() {
    let server = TestServer::start();
    let steps = sequential([
        call(),
        Action::Reconnect {
            mode: Reconnect::EarlyData,
        },
        call(),
        call(),
    ]);
    let setup = server.setup_by_address(Protocol::H3);
    let Some(rows) = run(&server, &setup, &steps) else {
        return;
    };
    server.stop().assert_agrees_with(&rows);
    let early: Vec<_> = rows.iter().map(|row| row.early_data).collect();
    assert_eq!(early, [false, true, false]);
}

#[test]
fn client_certificates_are_sent_on_request() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let Some(rows) = run(&server, &server.mtls_setup(protocol), &sequential([call()])) else {
            return;
        };
        let log = server.stop();
        log.assert_agrees_with(&rows);
        assert!(log.connections[0].client_cert.is_some(), "{protocol:?}");
    }
}

#[test]
fn steps_start_at_their_time_or_after_their_step() {
    let pause_ns = 50_000_000;
    let mut steps = sequential([
        call(),
        Action::Pause { ns: pause_ns },
        call(),
        call(),
        call(),
    ]);
    steps[3].start = Some(Start::AtNs(2 * pause_ns));
    steps[4].start = Some(Start::After(1));
    steps[4].group = 2;
    for protocol in PROTOCOLS {
        let Some(command) = command() else { return };
        let command: Vec<_> = command.iter().map(String::as_str).collect();
        let server = TestServer::start();
        let setup = server.setup_by_address(protocol);
        let (sent_ns, rows) = server.run_and_time(&command, &setup, &steps);
        assert!(
            rows[1].start_ns >= rows[0].end_ns + pause_ns,
            "{protocol:?}"
        );
        assert!(rows[2].start_ns >= sent_ns + 2 * pause_ns, "{protocol:?}");
        assert!(
            (rows[0].end_ns..rows[1].start_ns).contains(&rows[3].start_ns),
            "{protocol:?}"
        );
        server.stop().assert_agrees_with(&rows);
    }
}

#[test]
fn broken_connection_fails_its_call_and_is_replaced() {
    for protocol in [Protocol::H1, Protocol::H2] {
        let server = TestServer::start();
        let proxy = proxy::tcp(server.address(), 1 << 20, Failure::Close);
        let url = format!("https://localhost:{}", proxy.port());
        let setup = Setup {
            url,
            ..server.setup(protocol)
        };
        let steps = sequential([
            Action::Get {
                bytes: LARGE_FILE_BYTES,
            },
            call(),
        ]);
        let Some(rows) = run(&server, &setup, &steps) else {
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

/// libcurl counts the phases of a request that it sends again from the second attempt.
#[test]
fn phases_of_a_request_that_is_sent_again_are_those_of_the_second_connection() {
    let pause_ns = 300_000_000;
    let lost = Duration::from_millis(100);
    for protocol in [Protocol::H1, Protocol::H2] {
        let server = TestServer::start();
        let silence = Duration::from_nanos(pause_ns) / 2;
        let proxy = proxy::tcp_lost_in_silence(server.address(), silence, lost);
        let setup = Setup {
            url: format!("https://localhost:{}", proxy.port()),
            ..server.setup(protocol)
        };
        let get = Action::Get { bytes: 2_000 };
        let steps = sequential([get.clone(), Action::Pause { ns: pause_ns }, get]);
        let Some(rows) = run(&server, &setup, &steps) else {
            return;
        };
        let (first, again) = (&rows[0], &rows[1]);
        assert_eq!((first.attempts, again.attempts), (1, 2), "{rows:?}");
        assert_eq!(again.error, None, "{rows:?}");
        let lost_ns = again.start_ns + lost.as_nanos() as u64;
        for phase_ns in [
            again.connect_ns,
            again.tls_ns,
            again.request_sent_ns,
            again.first_byte_ns,
        ] {
            assert!(phase_ns.is_some_and(|at_ns| at_ns >= lost_ns), "{rows:?}");
        }
        assert!(again.first_byte_ns <= Some(again.end_ns), "{rows:?}");
    }
}

#[test]
fn http_3_times_out_on_a_silent_path_until_it_reconnects() {
    let server = TestServer::start();
    let proxy = proxy::udp(server.address(), 40);
    let url = format!("https://127.0.0.1:{}", proxy.port());
    let setup = Setup {
        url,
        timeout_ns: TIMEOUT_NS,
        ..server.setup(Protocol::H3)
    };
    let reconnect = Action::Reconnect {
        mode: Reconnect::Cold,
    };
    let steps = sequential([
        Action::Get {
            bytes: LARGE_FILE_BYTES,
        },
        reconnect,
        call(),
    ]);
    let Some(rows) = run(&server, &setup, &steps) else {
        return;
    };
    assert_eq!(
        rows[0].error.as_ref().unwrap().kind,
        ErrorKind::Timeout,
        "{rows:?}"
    );
    assert!(
        rows[0].end_ns - rows[0].start_ns >= TIMEOUT_NS - TIMER_MARGIN_NS,
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
fn unsupported_requests_and_failed_calls() {
    let Some(command) = command() else { return };
    let command: Vec<_> = command.iter().map(String::as_str).collect();
    let server = TestServer::start();
    for protocol in PROTOCOLS {
        crate::common::check_unknown_words(&command, &server.setup(Protocol::H1).ca_file, protocol);
    }
    let mut driver = Driver::start(&command);
    let hello = driver.host.hello(deadline()).unwrap();
    assert_eq!(hello.protocols, PROTOCOLS);
    let grpc = driver
        .host
        .setup(&server.setup(Protocol::Grpc), deadline())
        .unwrap();
    assert!(matches!(grpc, SetupAnswer::Unsupported { what, .. } if what == "protocol grpc"));

    let closed = Setup {
        url: "https://127.0.0.1:1".into(),
        ..server.setup(Protocol::H2)
    };
    assert_eq!(
        driver.host.setup(&closed, deadline()).unwrap(),
        SetupAnswer::Ready
    );
    let stream = sequential([Action::Stream {
        body: "{}".into(),
        messages: 1,
    }]);
    let answer = driver.host.run(&stream, deadline()).unwrap();
    assert!(matches!(answer, RunAnswer::Unsupported { what, .. } if what == "step stream"));
    let RunAnswer::Rows(rows) = driver.host.run(&sequential([call()]), deadline()).unwrap() else {
        panic!();
    };
    assert_eq!(rows[0].error.as_ref().unwrap().kind, ErrorKind::Connect);
    assert_eq!((rows[0].connection, rows[0].attempts), (0, 0));
    driver.close();
}
