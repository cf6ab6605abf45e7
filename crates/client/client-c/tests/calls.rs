//! Calls through the C interface, against the server on loopback.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod abi;
#[path = "../../client/tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use abi::{
    REQUEST, asking, bytes, connect, ending, field, get, next, next_of, read, read_all, submit,
    text, wait, write,
};
use common::{TestServer, start};
use commute_client::cm_event_kind::{
    CM_EVENT_CHECK_CHAIN, CM_EVENT_DONE, CM_EVENT_HEAD, CM_EVENT_READABLE, CM_EVENT_WRITABLE,
};
use commute_client::cm_status::{
    CM_AGAIN, CM_E_ARGUMENT, CM_E_CLOSED, CM_E_NO_CALL, CM_END, CM_OK,
};
use commute_client::*;
use server::Config;
use sha2::{Digest, Sha256};

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_read_as_it_comes() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let call = get(engine, &server.url("/bytes/3000000"), 77);
    let head = next(engine);
    assert_eq!(
        (head.kind, head.number, head.call, head.user),
        (CM_EVENT_HEAD, 200, call, 77)
    );
    let headers = text(engine, call, cm_text::CM_TEXT_HEADERS).unwrap();
    assert!(headers.contains("content-length: 3000000\r\n"), "{headers}");
    let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
    assert!(
        report.starts_with("protocol: h2\r\nwhy: ") && report.contains("\r\nhead-ns: "),
        "{report}"
    );
    assert_eq!(next(engine).kind, CM_EVENT_READABLE);
    let body = read_all(engine, call).unwrap();
    assert_eq!(body.len(), 3_000_000);
    assert_eq!(text(engine, call, cm_text::CM_TEXT_TRAILERS).unwrap(), "");
    assert_eq!(text(engine, call, cm_text::CM_TEXT_ERROR), Err(CM_END));
    assert_eq!(cm_release(engine, call), CM_OK);
    assert_eq!(read(engine, call, 1), Err(CM_E_NO_CALL));
    assert_eq!(cm_engine_close(engine), CM_OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_was_opened_before_takes_the_request() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let opening = connect(engine, &server.url("/"), 5).unwrap();
    let done = next(engine);
    assert_eq!(
        (done.kind, done.status, done.call, done.user),
        (CM_EVENT_DONE, CM_OK, opening, 5)
    );
    assert_eq!(read(engine, opening, 1), Err(CM_END));
    let headers = text(engine, opening, cm_text::CM_TEXT_HEADERS);
    assert_eq!(headers, Err(CM_END));
    assert_eq!(cm_release(engine, opening), CM_OK);
    let call = get(engine, &server.url("/bytes/10"), 0);
    next_of(engine, CM_EVENT_DONE);
    let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
    assert!(report.contains("\r\nreused: 1\r\n"), "{report}");
    assert_eq!(cm_engine_close(engine), CM_OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_kept_or_forgotten_when_connections_are_closed() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let report = || {
        let call = get(engine, &server.url("/health"), 0);
        assert_eq!(ending(engine, call), CM_OK);
        text(engine, call, cm_text::CM_TEXT_REPORT).unwrap()
    };
    report();
    for (forget, resumed) in [(0, 1), (0, 1), (1, 0)] {
        assert_eq!(cm_disconnect(engine, forget), CM_OK);
        let report = report();
        let expected = format!("\r\nreused: 0\r\nresumed: {resumed}\r\n");
        assert!(report.contains(&expected), "{forget} {report}");
    }
    assert_eq!(cm_disconnect(engine, 2), CM_E_ARGUMENT);
    cm_engine_close(engine);
    assert_eq!(cm_disconnect(engine, 0), CM_E_CLOSED);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_pinned_to_http_1_1_uses_nothing_else() {
    let server = start(Config::default()).await;
    let (roots, url) = (roots(&server), server.url("/health"));
    for (policy, protocol) in [
        (cm_policy::CM_POLICY_TCP, "h2"),
        (cm_policy::CM_POLICY_H1, "http/1.1"),
    ] {
        let engine = abi::open(&cm_config {
            policy: policy as u32,
            trust: cm_trust::CM_TRUST_ROOTS as u32,
            roots_pem: bytes(&roots),
            ..abi::CONFIG
        })
        .unwrap();
        let call = get(engine, &url, 0);
        assert_eq!(ending(engine, call), CM_OK);
        let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
        let expected = format!("protocol: {protocol}\r\n");
        assert!(report.starts_with(&expected), "{report}");
        cm_engine_close(engine);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_closed_and_others_are_kept() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let reused = |call| {
        assert_eq!(ending(engine, call), CM_OK);
        let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
        report.contains("\r\nreused: 1\r\n")
    };
    let health = server.url("/health");
    assert!(!reused(get(engine, &health, 0)));
    // Its body waits for the app, so its connection is not idle.
    let busy = get(engine, &server.url("/bytes/1000000"), 0);
    assert_eq!(next_of(engine, CM_EVENT_HEAD).call, busy);
    assert_eq!(cm_close_idle(engine), CM_OK);
    assert!(reused(get(engine, &health, 0)));
    cm_release(engine, busy);
    // The engine's thread learns of it before the next function, whose message comes later.
    loop {
        assert_eq!(cm_close_idle(engine), CM_OK);
        if !reused(get(engine, &health, 0)) {
            break;
        }
    }
    cm_engine_close(engine);
    assert_eq!(cm_close_idle(engine), CM_E_CLOSED);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_https_record_of_the_app_leads_to_http_3() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let url = server.url("/health");
    let report = |answer: &[u8]| {
        let (url, answer) = (bytes(&url), bytes(answer));
        // SAFETY: both point to what the header says.
        unsafe { cm_https_record(engine, url.ptr, url.len, answer.ptr, answer.len) }
    };
    // The app has asked.
    assert_eq!(report(b""), CM_OK);
    assert_eq!(report(b"no message"), CM_END);
    // A header, no question, and a record that has `h3`: of another name, and of the origin's.
    let answer = |label: &str| {
        let mut answer = b"\0\x01\x80\0\0\0\0\x01\0\0\0\0".to_vec();
        for label in [label, "_https", "localhost", ""] {
            answer.push(label.len() as u8);
            answer.extend(label.as_bytes());
        }
        answer.extend(b"\0\x41\0\x01\0\0\0\x3c\0\x0a\0\x01\0\0\x01\0\x03\x02h3");
        answer
    };
    assert_eq!(report(&answer("_1")), CM_END);
    assert_eq!(
        report(&answer(&format!("_{}", server.address.port()))),
        CM_OK
    );
    // TCP may win the race on a busy machine; QUIC goes on then.
    let by_h3 = || {
        let call = get(engine, &url, 0);
        assert_eq!(ending(engine, call), CM_OK);
        let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
        report.starts_with("protocol: h3\r\n")
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    while !by_h3() {
        assert!(Instant::now() < deadline, "HTTP/3 was never used");
    }
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_sent_early_where_the_app_allows_it() {
    let server = start(Config {
        early_data: true,
        ..Config::default()
    })
    .await;
    let (roots, url) = (roots(&server), server.url("/health"));
    let hints = [bytes(&url)];
    for (early_data, flag, early) in [
        (0, 0, 0),
        (1, 0, 1),
        (0, cm_flags::CM_EARLY_DATA as u32, 1),
        (1, cm_flags::CM_NO_EARLY_DATA as u32, 0),
    ] {
        let engine = abi::open(&cm_config {
            policy: cm_policy::CM_POLICY_H3 as u32,
            trust: cm_trust::CM_TRUST_ROOTS as u32,
            roots_pem: bytes(&roots),
            h3_hints: hints.as_ptr(),
            h3_hint_count: hints.len(),
            early_data,
            ..abi::CONFIG
        })
        .unwrap();
        let request = cm_request {
            method: bytes("GET"),
            url: bytes(&url),
            flags: flag,
            ..REQUEST
        };
        for early in [0, early] {
            let call = submit(engine, &request, 0).unwrap();
            assert_eq!(ending(engine, call), CM_OK);
            let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
            let expected = format!("\r\nearly-data: {early}\r\n");
            assert!(report.contains(&expected), "{early_data} {flag} {report}");
            // The server's tickets come after the handshake.
            std::thread::sleep(Duration::from_millis(100));
            assert_eq!(cm_disconnect(engine, 0), CM_OK);
        }
        cm_engine_close(engine);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_received_beyond_what_the_app_has_room_for() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let call = get(engine, &server.url("/bytes/100000000"), 0);
    next_of(engine, CM_EVENT_READABLE);
    // Without a reader there is nothing more to tell: an end would mean that 100 MB are in memory.
    let quiet = wait(engine, 1, Some(Duration::from_millis(300)));
    assert_eq!(quiet, Err(CM_AGAIN));
    assert!(!read(engine, call, MIB).unwrap().is_empty());
    assert_eq!(cm_release(engine, call), CM_OK);
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_waits_for_room() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let upload: Vec<u8> = (0..8 * MIB).map(|i| (i * 31) as u8).collect();
    for length in [-1, upload.len() as i64] {
        let url = server.url("/upload");
        let request = cm_request {
            method: bytes("PUT"),
            url: bytes(&url),
            streamed_bytes: length,
            flags: cm_flags::CM_STREAMED as u32,
            ..REQUEST
        };
        let call = submit(engine, &request, 0).unwrap();
        let (mut rest, mut waits) = (&upload[..], 0);
        while !rest.is_empty() {
            match write(engine, call, rest) {
                Ok(taken) => {
                    assert!((1..=64 << 10).contains(&taken), "{taken}");
                    rest = &rest[taken..];
                }
                Err(CM_AGAIN) => {
                    waits += 1;
                    assert_eq!(next(engine).kind, CM_EVENT_WRITABLE);
                }
                Err(status) => panic!("{status:?}"),
            }
        }
        assert!(waits > 0, "8 MiB were taken without a wait");
        assert_eq!(cm_finish(engine, call), CM_OK);
        assert_eq!(cm_finish(engine, call), CM_E_ARGUMENT, "it is finished");
        let answer = read_all(engine, call).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let sha256: String = Sha256::digest(&upload)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert!(answer.contains(&sha256), "{answer}");
        assert_eq!(write(engine, call, b"more"), Err(CM_END));
        assert_eq!(cm_release(engine, call), CM_OK);
        while wait(engine, 1, Some(Duration::ZERO)).is_ok() {}
    }
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_body_and_headers_arrive() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let (url, body) = (server.url("/echo"), r#"{"start_ts":7}"#);
    let headers = [
        field("content-type", "application/json"),
        field("x-commute-id", "9"),
    ];
    let request = cm_request {
        method: bytes("POST"),
        url: bytes(&url),
        headers: headers.as_ptr(),
        header_count: headers.len(),
        body: bytes(body),
        ..REQUEST
    };
    let call = submit(engine, &request, 0).unwrap();
    assert_eq!(read_all(engine, call).unwrap(), body.as_bytes());
    cm_engine_close(engine);
    let log = server.stop().await;
    assert_eq!(log[0].id, Some(9));
}

#[tokio::test(flavor = "multi_thread")]
async fn times_count_from_when_a_call_was_submitted() {
    let server = start(Config::default()).await;
    let engine = asking();
    let url = server.url("/health");
    let first = get(engine, &url, 0);
    let chain = next_of(engine, CM_EVENT_CHECK_CHAIN);
    // The engine's thread waits for the answer, and cannot send this one before.
    let waits = get(engine, &url, 0);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(cm_answer_chain(engine, chain.number, 1), CM_OK);
    let ended = [
        next_of(engine, CM_EVENT_DONE),
        next_of(engine, CM_EVENT_DONE),
    ];
    assert!(ended.iter().all(|done| done.status == CM_OK));
    for call in [first, waits] {
        let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
        let time = |name: &str| -> u64 {
            let line = report.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("no {name}: {report}"))
                .parse()
                .unwrap()
        };
        assert!(time("sent-ns: ") >= 200_000_000, "{report}");
        assert!(time("age-ns: ") >= time("head-ns: "), "{report}");
        // The report is as long a moment later, when its length has been asked for.
        let mut ages = report
            .lines()
            .filter_map(|line| line.strip_prefix("age-ns: "));
        assert_eq!(ages.next().map(str::len), Some(20), "{report}");
    }
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_copied_whole_or_not_at_all() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let network = cm_network {
        id: [1; 16],
        metered: 0,
        kind: cm_network_kind::CM_NETWORK_WIFI as u32,
    };
    // SAFETY: it points to one.
    assert_eq!(unsafe { cm_set_network(engine, &network) }, CM_OK);
    for _ in 0..3 {
        let call = get(engine, &server.url("/bytes/10"), 0);
        assert_eq!(ending(engine, call), CM_OK);
    }
    let metrics = |arms: cm_arms, cap: usize| {
        let (mut csv, mut len) = (vec![0; cap], 0);
        // SAFETY: both point to what the header says.
        let status =
            unsafe { cm_get_metrics(engine, arms as u32, csv.as_mut_ptr(), cap, &mut len) };
        csv.truncate(len);
        (status, String::from_utf8(csv).unwrap(), len)
    };
    // The last one is counted a moment after its body has ended.
    let deadline = Instant::now() + Duration::from_secs(10);
    let csv = loop {
        let (status, csv, _) = metrics(cm_arms::CM_ARMS_ROLLOUT, 4096);
        assert_eq!(status, CM_OK);
        if csv.lines().count() == 4 || Instant::now() > deadline {
            break csv;
        }
    };
    assert_eq!(csv.lines().count(), 4, "{csv}");
    assert!(csv.starts_with("network,arm,protocol,"), "{csv}");
    assert!(
        csv.contains("\nWi-Fi,HTTP/3 allowed,") && !csv.contains("localhost"),
        "{csv}"
    );
    assert!(
        metrics(cm_arms::CM_ARMS_PROTOCOLS, 4096)
            .1
            .contains(",HTTP/2,h2,")
    );
    let (status, nothing, len) = metrics(cm_arms::CM_ARMS_ROLLOUT, csv.len() - 1);
    assert_eq!((status, len), (cm_status::CM_E_ROOM, csv.len()));
    assert!(nothing.bytes().all(|byte| byte == 0));
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_learnt_outlives_the_engine() {
    let server = start(Config::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let roots = roots(&server);
    let engine = abi::open(&cm_config {
        trust: cm_trust::CM_TRUST_ROOTS as u32,
        roots_pem: bytes(&roots),
        memory_folder: bytes(folder.path().as_os_str().as_encoded_bytes()),
        ..abi::CONFIG
    })
    .unwrap();
    let call = get(engine, &server.url("/health"), 0);
    read_all(engine, call).unwrap();
    let file = folder.path().join("route.v1");
    // By itself it is written once, and not again for a while.
    let deadline = Instant::now() + Duration::from_secs(10);
    while std::fs::remove_file(&file).is_err() {
        assert!(Instant::now() < deadline, "nothing was written");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(cm_save(engine), CM_OK);
    std::fs::remove_file(&file).unwrap();
    cm_engine_close(engine);
    assert!(file.exists());
    assert_eq!(cm_save(engine), CM_E_CLOSED);
}

fn engine_for(server: &TestServer) -> cm_engine {
    abi::trusting(&roots(server))
}

fn roots(server: &TestServer) -> Vec<u8> {
    std::fs::read(server.folder.path().join("ca.pem")).unwrap()
}
