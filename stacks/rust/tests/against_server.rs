//! Every stack against the real server: what a row claims, the server saw.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::bench::{ALL, Bench, hello};
use common::{call, in_order, side_by_side};
use driver::protocol::{Action, Capability, Protocol, Reconnect, Setup};

/// The file of the published study (reference: game-api).
const FILE_BYTES: u64 = 163_763;

#[test]
fn calls_and_files_over_one_connection() {
    for protocol in ALL {
        let bench = Bench::start();
        let steps = in_order([
            call(),
            call(),
            Action::Get { bytes: FILE_BYTES },
            Action::Put { bytes: FILE_BYTES },
            Action::Get { bytes: 0 },
            Action::Put { bytes: 0 },
        ]);
        let rows = bench.run(&bench.setup(protocol), &steps);
        let log = bench.stop();
        log.agrees_with(&rows);
        assert_eq!(log.connections.len(), 1, "{protocol:?}");
        assert_eq!(
            rows[2].digest,
            Some(wire::digest_of(FILE_BYTES)),
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
fn an_upload_is_sent_before_it_is_answered() {
    for protocol in ALL {
        let bench = Bench::start();
        let rows = bench.run(
            &bench.setup(protocol),
            &in_order([Action::Put { bytes: 4 << 20 }]),
        );
        let sent_ns = rows[0].request_sent_ns.unwrap();
        assert!(sent_ns <= rows[0].first_byte_ns.unwrap(), "{protocol:?}");
        bench.stop().agrees_with(&rows);
    }
}

#[test]
fn side_by_side_calls_share_a_connection_except_on_http_1() {
    for protocol in ALL {
        let bench = Bench::start();
        let files = (0..6).map(|_| Action::Get { bytes: FILE_BYTES });
        let rows = bench.run(&bench.setup(protocol), &side_by_side(files));
        let log = bench.stop();
        log.agrees_with(&rows);
        let connections = if protocol == Protocol::H1 { 6 } else { 1 };
        assert_eq!(log.connections.len(), connections, "{protocol:?}");
        assert_eq!(
            rows.iter().filter(|row| !row.reused).count(),
            connections,
            "{protocol:?}"
        );
        // Begun together: each starts before any other has ended.
        let first_end_ns = rows.iter().map(|row| row.end_ns).min().unwrap();
        assert!(
            rows.iter().all(|row| row.start_ns < first_end_ns),
            "{protocol:?}"
        );
    }
}

#[test]
fn a_reconnect_forgets_or_resumes_as_told() {
    for protocol in ALL {
        let bench = Bench::start();
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
        let rows = bench.run(&bench.setup(protocol), &steps);
        let log = bench.stop();
        log.agrees_with(&rows);
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
        let server_saw: Vec<_> = rows.iter().map(|row| log.connection_of(row)).collect();
        assert_eq!(server_saw, [1, 2, 2, 3], "{protocol:?}");
    }
}

#[test]
fn early_data_goes_with_the_handshake_and_is_told_apart_from_what_follows() {
    let bench = Bench::start();
    let steps = in_order([
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
    let rows = bench.run(&bench.setup(Protocol::H3), &steps);
    bench.stop().agrees_with(&rows);
    let early: Vec<_> = rows.iter().map(|row| row.early_data).collect();
    assert_eq!(early, [false, true, false, true]);
    assert!(rows[1].request_sent_ns < rows[1].tls_ns, "{:?}", rows[1]);
}

#[test]
fn client_certificates_are_shown_where_they_are_demanded() {
    for protocol in ALL {
        let bench = Bench::start();
        let rows = bench.run(&bench.mtls_setup(protocol), &in_order([call()]));
        let bare = Setup {
            client_cert_file: None,
            client_key_file: None,
            ..bench.mtls_setup(protocol)
        };
        let refused = bench.run(&bare, &in_order([call()]));
        assert!(refused[0].error.is_some(), "{protocol:?} {refused:?}");
        let log = bench.stop();
        log.agrees_with(&rows);
        assert!(log.connections[0].client_cert.is_some(), "{protocol:?}");
    }
}

#[test]
fn a_warm_up_leaves_the_measured_origin_cold() {
    for protocol in ALL {
        let bench = Bench::start();
        // The same origin, so that a ticket kept from the warm-up would be used.
        let measured = bench.setup(protocol);
        let setup = Setup {
            warmup_url: Some(measured.url.clone()),
            ..measured
        };
        let rows = bench.run(&setup, &in_order([call()]));
        let log = bench.stop();
        log.agrees_with(&rows);
        assert_eq!(log.connections.len(), 2, "{protocol:?}");
        assert_eq!(
            (rows[0].connection, rows[0].reused, rows[0].resumed),
            (1, false, false)
        );
    }
}

#[test]
fn a_stream_of_messages_is_answered_one_by_one() {
    let bench = Bench::start();
    let body = r#"{"start_ts":7,"padding":"xyz"}"#.to_owned();
    let steps = in_order([Action::Stream { body, messages: 20 }, call()]);
    let rows = bench.run(&bench.setup(Protocol::Grpc), &steps);
    bench.stop().agrees_with(&rows);
    assert_eq!(rows[0].request_bytes, rows[0].response_bytes);
    // Field 1: tag and 7; field 2: tag, length and three characters.
    assert_eq!(rows[0].response_bytes, 20 * 7);
}

#[test]
fn abilities_are_what_the_tests_above_have_shown() {
    for protocol in ALL {
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
