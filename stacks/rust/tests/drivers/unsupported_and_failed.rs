//! What a driver cannot do is `unsupported`; a call that fails is a row.

use std::net::TcpListener;

use crate::common::test_server::{PROTOCOLS, driver_for};
use crate::common::{Driver, call, deadline, rust_driver, sequential, setup};
use driver::protocol::{Action, Codec, ErrorKind, Protocol, Reconnect, Setup, Start, Step};
use driver::{DriverError, RunAnswer, SetupAnswer};

/// Returns a certificate authority that has signed no server.
fn authority() -> tempfile::NamedTempFile {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), params.self_signed(&key).unwrap().pem()).unwrap();
    file
}

/// Starts a driver and sets it up for a closed port, with `change` applied to that setup.
fn set_up_driver(change: impl FnOnce(Setup) -> Setup) -> Driver {
    let ca = authority();
    let mut driver = Driver::start(&rust_driver("hyper"));
    driver.host.hello(deadline()).unwrap();
    let closed_port = crate::common::setup(
        "https://127.0.0.1:1",
        ca.path().to_str().unwrap(),
        Protocol::H2,
    );
    let answer = driver.host.setup(&change(closed_port), deadline()).unwrap();
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
fn unknown_protocols_codecs_and_congestion_controls() {
    let ca = authority();
    let mut driver = Driver::start(&rust_driver("hyper"));
    let hello = driver.host.hello(deadline()).unwrap();
    assert_eq!(hello.protocols, [Protocol::H1, Protocol::H2]);
    let h2 = setup(
        "https://127.0.0.1:1",
        ca.path().to_str().unwrap(),
        Protocol::H2,
    );
    let unsupported = [
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
            "congestion unknown",
            Setup {
                congestion: Some("unknown".into()),
                ..h2.clone()
            },
        ),
    ];
    for (expected, setup) in unsupported {
        match driver.host.setup(&setup, deadline()).unwrap() {
            SetupAnswer::Unsupported { what, .. } => assert_eq!(what, expected),
            SetupAnswer::Ready => panic!("{expected}"),
        }
    }
    driver.close();
}

#[test]
fn unknown_words_of_every_message() {
    let ca = authority();
    let ca_file = ca.path().to_str().unwrap();
    for protocol in PROTOCOLS {
        crate::common::check_unknown_words(&driver_for(protocol), ca_file, protocol);
    }
}

#[test]
fn steps_without_the_capability() {
    let mut driver = set_up_driver(|setup| setup);
    let stream = sequential([Action::Stream {
        body: "{}".into(),
        messages: 2,
    }]);
    assert_eq!(
        unsupported(driver.host.run(&stream, deadline()).unwrap()),
        "step stream"
    );
    let early = sequential([Action::Reconnect {
        mode: Reconnect::EarlyData,
    }]);
    assert_eq!(
        unsupported(driver.host.run(&early, deadline()).unwrap()),
        "reconnect early_data"
    );
    driver.close();
}

#[test]
fn steps_that_never_start_and_missing_files() {
    let mut driver = set_up_driver(|setup| setup);
    let forward = Step {
        start: Some(Start::After(7)),
        ..sequential([call()]).remove(0)
    };
    let error = driver.host.run(&[forward], deadline()).unwrap_err();
    assert!(
        matches!(&error, DriverError::Failed { reason } if reason.contains("step 7")),
        "{error}"
    );

    let nowhere = setup("https://127.0.0.1:1", "/nowhere/ca.pem", Protocol::H2);
    let error = driver.host.setup(&nowhere, deadline()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/ca.pem"), "{error}");
    driver.close();
}

#[test]
fn closed_port_is_a_connect_error() {
    let mut driver = set_up_driver(|setup| setup);
    let RunAnswer::Rows(rows) = driver
        .host
        .run(&sequential([call(), call()]), deadline())
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
fn unresolvable_name_is_a_dns_error() {
    // RFC 6761 section 6.4: `invalid` never resolves.
    let mut driver = set_up_driver(|setup| Setup {
        url: "https://a.invalid:1".into(),
        ..setup
    });
    let RunAnswer::Rows(rows) = driver.host.run(&sequential([call()]), deadline()).unwrap() else {
        panic!();
    };
    assert_eq!(rows[0].error.as_ref().unwrap().kind, ErrorKind::Dns);
    driver.close();
}

#[test]
fn call_that_times_out_keeps_its_times() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", silent.local_addr().unwrap());
    let timeout_ns = 300_000_000;
    let mut driver = set_up_driver(|setup| Setup {
        url,
        timeout_ns,
        ..setup
    });
    let RunAnswer::Rows(rows) = driver.host.run(&sequential([call()]), deadline()).unwrap() else {
        panic!();
    };
    let row = &rows[0];
    assert_eq!(row.error.as_ref().unwrap().kind, ErrorKind::Timeout);
    assert!(
        row.end_ns - row.start_ns >= timeout_ns,
        "the call ended early"
    );
    assert!(row.connect_ns.is_some() && row.tls_ns.is_none(), "{row:?}");
    driver.close();
}

#[test]
fn driver_connects_over_tcp() {
    let mut driver = Driver::start_connecting(&rust_driver("hyper"));
    assert_eq!(driver.host.hello(deadline()).unwrap().stack, "hyper");
    driver.close();
}
