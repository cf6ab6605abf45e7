//! What a driver cannot do it says; what goes wrong on the way is a row.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::net::TcpListener;
use std::process::Command;

use common::{Driver, call, in_order, setup, soon};
use driver::protocol::{Action, Codec, ErrorKind, Protocol, Reconnect, Setup, Start, Step};
use driver::{DriverError, Host, Limits, RunAnswer, SetupAnswer};

const HYPER: &str = env!("CARGO_BIN_EXE_commute-driver-hyper");

/// A certificate authority whose key is gone.
fn authority() -> tempfile::NamedTempFile {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), params.self_signed(&key).unwrap().pem()).unwrap();
    file
}

fn ready(setup: impl FnOnce(Setup) -> Setup) -> Driver {
    let ca = authority();
    let mut driver = Driver::start(&[HYPER], &[]);
    driver.host.hello(soon()).unwrap();
    let plain = common::setup(
        "https://127.0.0.1:1",
        ca.path().to_str().unwrap(),
        Protocol::H2,
    );
    let answer = driver.host.setup(&setup(plain), soon()).unwrap();
    assert_eq!(answer, SetupAnswer::Ready);
    driver
}

fn unsupported(answer: RunAnswer) -> String {
    match answer {
        RunAnswer::Unsupported { what, .. } => what,
        RunAnswer::Rows(rows) => panic!("{rows:?}"),
    }
}

#[test]
fn protocols_and_codecs_it_does_not_have() {
    let ca = authority();
    let mut driver = Driver::start(&[HYPER], &[]);
    let hello = driver.host.hello(soon()).unwrap();
    assert_eq!(hello.protocols, [Protocol::H1, Protocol::H2]);
    let h2 = setup(
        "https://127.0.0.1:1",
        ca.path().to_str().unwrap(),
        Protocol::H2,
    );
    let refused = [
        (
            "protocol h3",
            Setup {
                protocol: Protocol::H3,
                ..h2.clone()
            },
        ),
        (
            "codec asn1",
            Setup {
                codec: Codec("asn1".into()),
                ..h2.clone()
            },
        ),
        (
            "congestion warp",
            Setup {
                congestion: Some("warp".into()),
                ..h2.clone()
            },
        ),
    ];
    for (expected, setup) in refused {
        match driver.host.setup(&setup, soon()).unwrap() {
            SetupAnswer::Unsupported { what, .. } => assert_eq!(what, expected),
            SetupAnswer::Ready => panic!("{expected}"),
        }
    }
    driver.close();
}

#[test]
fn words_nobody_knows() {
    let ca = authority();
    let ca_file = ca.path().to_str().unwrap();
    for (protocol, name) in [
        (Protocol::H1, "h1"),
        (Protocol::H2, "h2"),
        (Protocol::H3, "h3"),
        (Protocol::Grpc, "grpc"),
    ] {
        common::probe(&[common::bench::program(protocol)], ca_file, name);
    }
}

#[test]
fn steps_it_does_not_have() {
    let mut driver = ready(|setup| setup);
    let stream = in_order([Action::Stream {
        body: "{}".into(),
        messages: 2,
    }]);
    assert_eq!(
        unsupported(driver.host.run(&stream, soon()).unwrap()),
        "step stream"
    );
    let early = in_order([Action::Reconnect {
        mode: Reconnect::EarlyData,
    }]);
    assert_eq!(
        unsupported(driver.host.run(&early, soon()).unwrap()),
        "reconnect early_data"
    );
    driver.close();
}

#[test]
fn steps_that_never_start_and_files_that_are_not_there() {
    let mut driver = ready(|setup| setup);
    let forward = Step {
        start: Some(Start::After(7)),
        ..in_order([call()]).remove(0)
    };
    let error = driver.host.run(&[forward], soon()).unwrap_err();
    assert!(
        matches!(&error, DriverError::Failed { reason } if reason.contains("step 7")),
        "{error}"
    );

    let nowhere = setup("https://127.0.0.1:1", "/nowhere/ca.pem", Protocol::H2);
    let error = driver.host.setup(&nowhere, soon()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
    driver.close();
}

#[test]
fn a_closed_port_is_a_connect_error() {
    let mut driver = ready(|setup| setup);
    let RunAnswer::Rows(rows) = driver
        .host
        .run(&in_order([call(), call()]), soon())
        .unwrap()
    else {
        panic!();
    };
    for row in &rows {
        let error = row.error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Connect, "{error:?}");
        assert_eq!((row.connection, row.attempts), (0, 0));
        assert!(row.connect_ns.is_none() && row.first_byte_ns.is_none());
    }
    driver.close();
}

#[test]
fn a_name_that_does_not_resolve_is_a_dns_error() {
    // RFC 6761 section 6.4: `invalid` never resolves.
    let mut driver = ready(|setup| Setup {
        url: "https://a.invalid:1".into(),
        ..setup
    });
    let RunAnswer::Rows(rows) = driver.host.run(&in_order([call()]), soon()).unwrap() else {
        panic!();
    };
    assert_eq!(rows[0].error.as_ref().unwrap().kind, ErrorKind::Dns);
    driver.close();
}

#[test]
fn silence_is_cut_off_at_the_time_out_and_keeps_its_stamps() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", silent.local_addr().unwrap());
    let timeout_ns = 300_000_000;
    let mut driver = ready(|setup| Setup {
        url,
        timeout_ns,
        ..setup
    });
    let RunAnswer::Rows(rows) = driver.host.run(&in_order([call()]), soon()).unwrap() else {
        panic!();
    };
    let row = &rows[0];
    assert_eq!(row.error.as_ref().unwrap().kind, ErrorKind::Timeout);
    assert!(row.end_ns - row.start_ns >= timeout_ns, "cut off early");
    assert!(row.connect_ns.is_some() && row.tls_ns.is_none(), "{row:?}");
    driver.close();
}

#[test]
fn a_driver_that_is_told_to_connects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut child = Command::new(HYPER)
        .env_clear()
        .env("COMMUTE_CONNECT", address)
        .spawn()
        .unwrap();
    let (stream, _) = listener.accept().unwrap();
    let read = stream.try_clone().unwrap();
    let mut host = Host::new(read.into(), stream.into(), Limits::default()).unwrap();
    assert_eq!(host.hello(soon()).unwrap().stack, "hyper");
    host.close();
    assert!(child.wait().unwrap().success());
}
