//! Every stack against the real server: rows agree with the server's log.

use crate::common::test_server::{PROTOCOLS, TestServer, hello};
use crate::common::{call, concurrent, sequential};
use driver::protocol::{Action, Capability, Protocol, Reconnect, Setup};

/// The file of the game-api study.
const FILE_BYTES: u64 = 163_763;

#[test]
fn calls_and_files_over_one_connection() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let steps = sequential([
            call(),
            call(),
            Action::Get { bytes: FILE_BYTES },
            Action::Put { bytes: FILE_BYTES },
            Action::Get { bytes: 0 },
            Action::Put { bytes: 0 },
        ]);
        let rows = server.run(&server.setup(protocol), &steps);
        let log = server.stop();
        log.assert_agrees_with(&rows);
        assert_eq!(log.connections.len(), 1, "{protocol:?}");
        assert_eq!(
            rows[2].digest,
            Some(messages::digest_of(FILE_BYTES)),
            "{protocol:?}"
        );
        assert_eq!(rows[3].request_bytes, FILE_BYTES, "{protocol:?}");

        let first = &rows[0];
        assert_eq!((first.connection, first.reused), (1, false));
        let is_quic = protocol == Protocol::H3;
        assert!(
            first.dns_ns.is_some() && first.tls_ns.is_some(),
            "{first:?}"
        );
        assert_eq!(first.connect_ns.is_none(), is_quic, "{first:?}");
        for row in &rows {
            assert_eq!(row.reused, row.id > 1, "{row:?}");
            assert!(
                row.request_sent_ns.is_some() && row.first_byte_ns.is_some(),
                "{row:?}"
            );
            assert!(row.id == 1 || row.tls_ns.is_none(), "{row:?}");
        }
    }
}

#[test]
fn uploads_are_sent_before_the_response() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let rows = server.run(
            &server.setup(protocol),
            &sequential([Action::Put { bytes: 4 << 20 }]),
        );
        let sent_ns = rows[0].request_sent_ns.unwrap();
        assert!(sent_ns <= rows[0].first_byte_ns.unwrap(), "{protocol:?}");
        server.stop().assert_agrees_with(&rows);
    }
}

#[test]
fn concurrent_calls_share_a_connection_except_on_http_1() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let files = (0..6).map(|_| Action::Get { bytes: FILE_BYTES });
        let rows = server.run(&server.setup(protocol), &concurrent(files));
        let log = server.stop();
        log.assert_agrees_with(&rows);
        let connections = if protocol == Protocol::H1 { 6 } else { 1 };
        assert_eq!(log.connections.len(), connections, "{protocol:?}");
        assert_eq!(
            rows.iter().filter(|row| !row.reused).count(),
            connections,
            "{protocol:?}"
        );
        // They run together: each starts before any other has ended.
        let first_end_ns = rows.iter().map(|row| row.end_ns).min().unwrap();
        assert!(
            rows.iter().all(|row| row.start_ns < first_end_ns),
            "{protocol:?}"
        );
    }
}

#[test]
fn reconnect_discards_or_uses_tickets() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
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
        let rows = server.run(&server.setup(protocol), &steps);
        let log = server.stop();
        log.assert_agrees_with(&rows);
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
        let logged: Vec<_> = rows.iter().map(|row| log.connection_of(row)).collect();
        assert_eq!(logged, [1, 2, 2, 3], "{protocol:?}");
    }
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
        Action::Reconnect {
            mode: Reconnect::EarlyData,
        },
        Action::Get { bytes: FILE_BYTES },
    ]);
    let rows = server.run(&server.setup(Protocol::H3), &steps);
    server.stop().assert_agrees_with(&rows);
    let early: Vec<_> = rows.iter().map(|row| row.early_data).collect();
    assert_eq!(early, [false, true, false, true]);
    assert!(rows[1].request_sent_ns < rows[1].tls_ns, "{:?}", rows[1]);
}

#[test]
fn client_certificates_are_sent_on_request() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let rows = server.run(&server.mtls_setup(protocol), &sequential([call()]));
        let without_certificate = Setup {
            client_cert_file: None,
            client_key_file: None,
            ..server.mtls_setup(protocol)
        };
        let refused = server.run(&without_certificate, &sequential([call()]));
        assert!(refused[0].error.is_some(), "{protocol:?} {refused:?}");
        let log = server.stop();
        log.assert_agrees_with(&rows);
        assert!(log.connections[0].client_cert.is_some(), "{protocol:?}");
    }
}

#[test]
fn warm_up_leaves_the_measured_origin_cold() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        // The warm-up uses the same origin, so that a ticket kept from it would be used.
        let measured = server.setup(protocol);
        let setup = Setup {
            warmup_url: Some(measured.url.clone()),
            ..measured
        };
        let rows = server.run(&setup, &sequential([call()]));
        let log = server.stop();
        log.assert_agrees_with(&rows);
        assert_eq!(log.connections.len(), 2, "{protocol:?}");
        assert_eq!(
            (rows[0].connection, rows[0].reused, rows[0].resumed),
            (1, false, Some(false))
        );
    }
}

#[test]
fn every_message_of_a_stream_is_echoed() {
    let server = TestServer::start();
    let body = r#"{"start_ts":7,"padding":"xyz"}"#.to_owned();
    let steps = sequential([Action::Stream { body, messages: 20 }, call()]);
    let rows = server.run(&server.setup(Protocol::Grpc), &steps);
    server.stop().assert_agrees_with(&rows);
    assert_eq!(rows[0].request_bytes, rows[0].response_bytes);
    // Field 1: tag and 7; field 2: tag, length and three characters.
    assert_eq!(rows[0].response_bytes, 20 * 7);
}

#[test]
fn capabilities_are_those_tested_above() {
    for protocol in PROTOCOLS {
        let capabilities = hello(protocol).capabilities;
        let early_data = capabilities.contains(&Capability::EarlyData);
        assert_eq!(early_data, protocol == Protocol::H3);
        assert_eq!(
            capabilities.contains(&Capability::Stream),
            protocol == Protocol::Grpc
        );
        for capability in [
            Capability::Mtls,
            Capability::Resume,
            Capability::Parallel,
            Capability::Congestion,
        ] {
            assert!(
                capabilities.contains(&capability),
                "{protocol:?} {capability:?}"
            );
        }
    }
}
