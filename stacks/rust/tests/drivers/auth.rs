//! Tokens, signatures, plaintext, submissions and time limits of steps, against the real server.

use crate::common::test_server::{PROTOCOLS, TestServer, driver_for, hello};
use crate::common::{Driver, call, deadline, sequential, values};
use driver::protocol::{Action, Auth, Capability, ErrorKind, Protocol, Setup, Step, Until};
use driver::{RunAnswer, SetupAnswer};
use server::AuthScheme;

const MESSAGE: &str = "diag-100kB";

fn submit(chunk_bytes: Option<u64>) -> Action {
    Action::Submit {
        message: MESSAGE.into(),
        kind: "Diag".into(),
        chunk_bytes,
    }
}

#[test]
fn both_schemes_over_every_protocol() {
    let dir = tempfile::tempdir().unwrap();
    let values = values(&dir, &[MESSAGE]);
    for scheme in [AuthScheme::Jwt, AuthScheme::Hmac] {
        for protocol in PROTOCOLS {
            let server = TestServer::start_with(Some(scheme));
            let setup = Setup {
                values: values.clone(),
                ..server.auth_setup(protocol, scheme)
            };
            let exchange = Action::Exchange {
                message: "big-7".into(),
                kind: "Big".into(),
            };
            let mut actions = vec![
                call(),
                Action::Get { bytes: 100_000 },
                Action::Put { bytes: 100_000 },
                Action::Put { bytes: 0 },
                exchange,
                submit(None),
            ];
            if protocol == Protocol::Grpc {
                actions.push(submit(Some(30_000)));
                if scheme == AuthScheme::Jwt {
                    let body = r#"{"start_ts":7}"#.to_owned();
                    actions.push(Action::Stream { body, messages: 3 });
                }
            }
            let rows = server.run(&setup, &sequential(actions));
            let log = server.stop();
            log.assert_agrees_with(&rows);
            for row in &rows {
                let logged = log.request(row.id);
                assert_eq!(logged.auth.as_deref(), Some(scheme.name()), "{logged:?}");
                assert_eq!(row.signed_ns.is_some(), scheme == AuthScheme::Hmac);
                let times = [
                    Some(row.start_ns),
                    row.encoded_ns,
                    row.signed_ns,
                    row.request_sent_ns,
                ];
                assert!(times.into_iter().flatten().is_sorted(), "{row:?}");
            }
        }
    }
}

#[test]
fn without_proof_the_server_refuses() {
    for protocol in PROTOCOLS {
        let server = TestServer::start_with(Some(AuthScheme::Hmac));
        let rows = server.run(&server.setup(protocol), &sequential([call()]));
        let error = rows[0].error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Status, "{error:?}");
        let unauthenticated = if protocol == Protocol::Grpc { 16 } else { 401 };
        assert_eq!(rows[0].status, Some(unauthenticated));
        server.stop();
    }
}

#[test]
fn streams_in_both_directions_cannot_be_signed() {
    let server = TestServer::start_with(Some(AuthScheme::Hmac));
    let mut driver = Driver::start(&driver_for(Protocol::Grpc));
    driver.host.hello(deadline()).unwrap();
    let setup = server.auth_setup(Protocol::Grpc, AuthScheme::Hmac);
    driver.host.setup(&setup, deadline()).unwrap();
    let body = r#"{"start_ts":7}"#.to_owned();
    let steps = sequential([Action::Stream { body, messages: 3 }]);
    let RunAnswer::Unsupported { what, .. } = driver.host.run(&steps, deadline()).unwrap() else {
        panic!("it ran");
    };
    assert_eq!(what, "step stream");
    driver.close();
    server.stop();
}

#[test]
fn secrets_that_cannot_be_read_are_named_and_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("secret");
    std::fs::write(&file, "c2hvcnQ=").unwrap();
    let file = file.to_str().unwrap().to_owned();
    let server = TestServer::start();
    for auth in [
        Auth::Hmac {
            key_id: "a".into(),
            key_file: file.clone(),
        },
        Auth::Hmac {
            key_id: "a".into(),
            key_file: "/nowhere/hmac.key".into(),
        },
        Auth::Jwt {
            token_file: "/nowhere/token".into(),
        },
    ] {
        let mut driver = Driver::start(&driver_for(Protocol::H1));
        driver.host.hello(deadline()).unwrap();
        let setup = Setup {
            auth: Some(auth),
            ..server.setup(Protocol::H1)
        };
        let error = driver
            .host
            .setup(&setup, deadline())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&file) || error.contains("/nowhere/"),
            "{error}"
        );
        assert!(!error.contains("c2hvcnQ"), "{error}");
        driver.close();
    }
    server.stop();
}

#[test]
fn plaintext_over_http_1_and_grpc_only() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let setup = server.plaintext_setup(protocol);
        if hello(protocol)
            .capabilities
            .contains(&Capability::Plaintext)
            && protocol != Protocol::H2
        {
            let actions = [call(), Action::Get { bytes: 100_000 }, call()];
            let rows = server.run(&setup, &sequential(actions));
            let log = server.stop();
            log.assert_agrees_with(&rows);
            assert!(rows[0].connect_ns.is_some() && rows[0].tls_ns.is_none());
            assert_eq!(log.connections.len(), 1);
            assert_eq!(log.connections[0].tls_version, "");
            continue;
        }
        let mut driver = Driver::start(&driver_for(protocol));
        driver.host.hello(deadline()).unwrap();
        match driver.host.setup(&setup, deadline()).unwrap() {
            SetupAnswer::Unsupported { what, .. } => assert_eq!(what, "plaintext"),
            SetupAnswer::Ready => panic!("{protocol:?}"),
        }
        driver.close();
        server.stop();
    }
}

#[test]
fn submissions_are_decoded_and_answered_with_a_receipt() {
    let dir = tempfile::tempdir().unwrap();
    let values = values(&dir, &[MESSAGE]);
    for protocol in PROTOCOLS {
        for codec in hello(protocol).codecs {
            let server = TestServer::start();
            let setup = Setup {
                codec: codec.clone(),
                values: values.clone(),
                ..server.setup(protocol)
            };
            let mut actions = vec![submit(None)];
            if protocol == Protocol::Grpc {
                actions.extend([submit(Some(1_000)), submit(Some(1 << 30))]);
            }
            let rows = server.run(&setup, &sequential(actions));
            let log = server.stop();
            log.assert_agrees_with(&rows);
            for row in &rows {
                let logged = log.request(row.id);
                assert_eq!(logged.codec.as_deref(), Some(codec.name()));
                assert!(logged.decode_ns.is_some() && logged.encode_ns.is_none());
                assert!(row.encoded_ns <= row.request_sent_ns, "{row:?}");
                assert!(row.response_bytes < 20, "{row:?}");
            }
            if let [whole, parts, one_part] = &rows[..] {
                // A hundred parts, each with the heads of a record.
                assert!(parts.request_bytes > whole.request_bytes + 99 * 4);
                assert_eq!(one_part.request_bytes, whole.request_bytes);
            }
        }
    }
}

#[test]
fn submissions_that_the_stack_cannot_make_are_unsupported() {
    let dir = tempfile::tempdir().unwrap();
    let server = TestServer::start();
    let mut driver = Driver::start(&driver_for(Protocol::H1));
    driver.host.hello(deadline()).unwrap();
    let setup = Setup {
        values: values(&dir, &[MESSAGE]),
        ..server.setup(Protocol::H1)
    };
    driver.host.setup(&setup, deadline()).unwrap();
    let big = Action::Submit {
        message: "big-7".into(),
        kind: "Big".into(),
        chunk_bytes: None,
    };
    for (action, expected) in [
        (submit(Some(1_000)), "step submit in chunks"),
        (big, "submit Big"),
    ] {
        match driver.host.run(&sequential([action]), deadline()).unwrap() {
            RunAnswer::Unsupported { what, .. } => assert_eq!(what, expected),
            RunAnswer::Rows(rows) => panic!("{rows:?}"),
        }
    }
    driver.close();
    server.stop();
}

#[test]
fn steps_whose_time_is_over_are_left_out() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let until = |after, ns| Some(Until { after, ns });
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let mut steps: Vec<Step> = sequential([call(), call(), call(), call(), call()]);
        // The second and the fourth begin after the first has ended, later than 1 ns after the start.
        steps[1].until = until(0, 1);
        steps[1].group = 2;
        steps[2].until = until(1, HOUR_NS);
        steps[3].until = until(0, 1);
        let rows = server.run(&server.setup(protocol), &steps);
        let log = server.stop();
        log.assert_agrees_with(&rows);
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        assert_eq!(ids, [1, 3, 5], "{protocol:?}");
        assert_eq!(log.requests.len(), 3);
    }
}
