//! How calls through the C interface end, and the questions to the app meanwhile.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod abi;
#[path = "../../client/tests/common/mod.rs"]
mod common;

use abi::{
    REQUEST, bytes, connect, done, ending, field, get, next, next_of, read, read_all, submit, text,
    wait, write,
};
use common::by_hand::{Listener, server_config};
use common::{TestServer, start};
use commute_client::cm_event_kind::{CM_EVENT_CHECK_CHAIN, CM_EVENT_DONE, CM_EVENT_READABLE};
use commute_client::cm_status::{
    CM_AGAIN, CM_E_ARGUMENT, CM_E_CANCELLED, CM_E_CERTIFICATE, CM_E_CHAIN_WAITS, CM_E_CLOSED,
    CM_E_CONNECT, CM_E_NAME, CM_E_NO_CALL, CM_E_PLAIN, CM_E_RESET, CM_E_TIMEOUT, CM_END, CM_OK,
};
use commute_client::*;
use server::{Config, Fault};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_connected_says_why() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    // Nobody listens on a port that was just given back.
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    for (url, status) in [
        (format!("https://localhost:{port}/"), CM_E_CONNECT),
        ("https://nowhere.invalid/".to_owned(), CM_E_NAME),
        ("http://localhost/".to_owned(), CM_E_ARGUMENT),
    ] {
        let call = connect(engine, &url, 0).unwrap();
        let done = next(engine);
        assert_eq!((done.kind, done.status), (CM_EVENT_DONE, status), "{url}");
        assert!(
            !text(engine, call, cm_text::CM_TEXT_ERROR)
                .unwrap()
                .is_empty()
        );
        assert_eq!(cm_release(engine, call), CM_OK);
    }
    assert_eq!(connect(0, "https://localhost/", 0), Err(CM_E_CLOSED));
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streamed_body_is_as_long_as_was_said() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let url = server.url("/upload");
    let request = cm_request {
        method: bytes("PUT"),
        url: bytes(&url),
        streamed_bytes: 10,
        flags: cm_flags::CM_STREAMED as u32,
        ..REQUEST
    };
    for wrong in [&b"short"[..], b"too long for 10"] {
        let call = submit(engine, &request, 0).unwrap();
        assert_eq!(write(engine, call, wrong), Ok(wrong.len()));
        cm_finish(engine, call);
        let done = next_of(engine, CM_EVENT_DONE);
        assert_eq!((done.call, done.status), (call, CM_E_ARGUMENT));
        let why = text(engine, call, cm_text::CM_TEXT_ERROR).unwrap();
        assert!(why.contains("than the length that was given"), "{why}");
    }
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_have_acted_on_a_body_that_turns_out_too_long() {
    let (config, certificate) = server_config(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    let engine = abi::trusting(certificate.pem().as_bytes());
    let request = cm_request {
        method: bytes("POST"),
        url: bytes(&url),
        streamed_bytes: 5,
        flags: cm_flags::CM_STREAMED as u32,
        ..REQUEST
    };
    let call = submit(engine, &request, 0).unwrap();
    assert_eq!(write(engine, call, b"whole"), Ok(5));
    let mut stream = listener.accept().await;
    let mut received = Vec::new();
    while !received.ends_with(b"whole") {
        assert!(stream.read_buf(&mut received).await.unwrap() > 0);
    }
    assert_eq!(write(engine, call, b"!"), Ok(1));
    assert_eq!(done(engine, call), (CM_E_ARGUMENT, 1));
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_end_with_what_went_wrong() {
    let faults = [(1, Fault::Stall)].into();
    let server = start(Config {
        faults,
        ..Config::default()
    })
    .await;
    let other = start(Config::default()).await;
    let engine = engine_for(&server);
    let headers = [field("x-commute-id", "1")];
    let stalled = server.url("/bytes/10");
    let request = cm_request {
        method: bytes("GET"),
        url: bytes(&stalled),
        headers: headers.as_ptr(),
        header_count: 1,
        limit_ms: 200,
        ..REQUEST
    };
    let late = submit(engine, &request, 0).unwrap();
    assert_eq!(ending(engine, late), CM_E_TIMEOUT);
    let cancelled = get(engine, &server.url("/bytes/100000000"), 0);
    next_of(engine, CM_EVENT_READABLE);
    assert_eq!(cm_cancel(engine, cancelled), CM_OK);
    assert_eq!(ending(engine, cancelled), CM_E_CANCELLED);
    assert_eq!(read(engine, cancelled, 1), Err(CM_E_CANCELLED));
    let untrusted = get(engine, &other.url("/health"), 0);
    assert_eq!(ending(engine, untrusted), CM_E_CERTIFICATE);
    let unknown = get(engine, "https://name.invalid/", 0);
    assert_eq!(ending(engine, unknown), CM_E_NAME);
    let no_url = get(engine, "https:/", 0);
    assert_eq!(ending(engine, no_url), CM_E_ARGUMENT);
    let off = cm_switches {
        generation: 1,
        engine: 0,
        h3_percent: 100,
        explore: 1,
    };
    // SAFETY: it points to one.
    assert_eq!(unsafe { cm_set_switches(engine, &off) }, CM_OK);
    let plain = get(engine, &server.url("/health"), 0);
    assert_eq!(ending(engine, plain), CM_E_PLAIN);
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_says_whether_the_server_may_have_acted() {
    let server = start(Config {
        faults: [(1, Fault::Stall)].into(),
        ..Config::default()
    })
    .await;
    let engine = engine_for(&server);
    let url = server.url("/bytes/10");
    let late = post(engine, &url, 1, 1_000);
    assert_eq!(done(engine, late), (CM_E_TIMEOUT, 1), "it was sent");
    // The kernel takes the connection, and nobody answers on it.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let nowhere = format!("https://localhost:{}/", silent.local_addr().unwrap().port());
    let late = post(engine, &nowhere, 1, 200);
    assert_eq!(done(engine, late), (CM_E_TIMEOUT, 0), "no connection");
    let opening = connect(engine, &nowhere, 0).unwrap();
    cm_cancel(engine, opening);
    assert_eq!(done(engine, opening), (CM_E_CANCELLED, 0), "no request");
    let stalled = post(engine, &url, 1, 0);
    while text(engine, stalled, cm_text::CM_TEXT_REPORT) == Err(CM_AGAIN) {
        std::thread::yield_now();
    }
    cm_cancel(engine, stalled);
    assert_eq!(done(engine, stalled), (CM_E_CANCELLED, 1), "it was sent");
    cm_engine_close(engine);
    let asking = abi::asking();
    get(asking, &url, 0);
    let chain = next_of(asking, CM_EVENT_CHECK_CHAIN);
    let waits = post(asking, &url, 1, 0);
    // The engine's thread waits for the answer, and has not seen the request.
    cm_cancel(asking, waits);
    assert_eq!(cm_answer_chain(asking, chain.number, 0), CM_OK);
    assert_eq!(done(asking, waits), (CM_E_CANCELLED, 0), "it only waited");
    cm_engine_close(asking);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_others_do_without_turns_itself_off() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    let url = server.url("/health");
    for _ in 0..50 {
        let call = get(engine, &url, 0);
        assert_eq!(ending(engine, call), CM_OK);
    }
    assert_eq!(cm_worked_without(engine), CM_OK);
    let once = get(engine, &url, 0);
    assert_eq!(ending(engine, once), CM_OK, "one request in fifty may");
    assert_eq!(cm_worked_without(engine), CM_OK);
    let off = get(engine, &url, 0);
    assert_eq!(ending(engine, off), CM_E_PLAIN);
    cm_engine_close(engine);
    assert_eq!(cm_worked_without(engine), CM_E_CLOSED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_sent_once_if_the_app_says_so() {
    let (config, certificate) = server_config(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    tokio::spawn(async move {
        loop {
            // Each request gets no response.
            let mut stream = listener.accept().await;
            assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
        }
    });
    let engine = abi::trusting(certificate.pem().as_bytes());
    for (flags, expected) in [(cm_flags::CM_NO_RESENDS as u32, 1), (0, 3)] {
        let request = cm_request {
            method: bytes("GET"),
            url: bytes(&url),
            flags,
            ..REQUEST
        };
        let call = submit(engine, &request, 0).unwrap();
        assert_eq!(done(engine, call), (CM_E_RESET, 1));
        let report = text(engine, call, cm_text::CM_TEXT_REPORT).unwrap();
        let expected = format!("\r\nattempts: {expected}\r\n");
        assert!(report.contains(&expected), "{report}");
    }
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_without_a_network_is_offline() {
    let server = start(Config::default()).await;
    let engine = engine_for(&server);
    // SAFETY: null, which is none.
    assert_eq!(unsafe { cm_set_network(engine, std::ptr::null()) }, CM_OK);
    let call = get(engine, &server.url("/health"), 0);
    assert_eq!(ending(engine, call), cm_status::CM_E_OFFLINE);
    let network = cm_network {
        id: [1; 16],
        metered: 1,
        kind: cm_network_kind::CM_NETWORK_OTHER as u32,
    };
    // SAFETY: it points to one.
    assert_eq!(unsafe { cm_set_network(engine, &network) }, CM_OK);
    let call = get(engine, &server.url("/health"), 0);
    assert_eq!(read_all(engine, call).unwrap(), b"ok\n");
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_app_decides_about_chains() {
    let server = start(Config::default()).await;
    let addresses = [field("localhost", "127.0.0.1")];
    for (answer, expected) in [
        (Some(1), CM_OK),
        (Some(0), CM_E_CERTIFICATE),
        (None, CM_E_CERTIFICATE),
    ] {
        let engine = abi::open(&cm_config {
            trust: cm_trust::CM_TRUST_APP as u32,
            addresses: addresses.as_ptr(),
            address_count: addresses.len(),
            check_chain_ms: if answer.is_some() { 0 } else { 100 },
            ..abi::CONFIG
        })
        .unwrap();
        let call = get(engine, &server.url("/health"), 0);
        let asked = next(engine);
        assert_eq!((asked.kind, asked.call), (CM_EVENT_CHECK_CHAIN, 0));
        if let Some(accepted) = answer {
            assert_eq!(abi::chain(engine, asked.number, 0).unwrap(), b"localhost");
            for part in [1, 2] {
                let der = abi::chain(engine, asked.number, part).unwrap();
                assert_eq!(der[0], 0x30, "a SEQUENCE (X.690)");
            }
            assert_eq!(abi::chain(engine, asked.number, 3), Err(CM_END));
            assert_eq!(cm_answer_chain(engine, asked.number, 2), CM_E_ARGUMENT);
            assert_eq!(cm_answer_chain(engine, asked.number + 1, 1), CM_E_NO_CALL);
            assert_eq!(cm_answer_chain(engine, asked.number, accepted), CM_OK);
        }
        assert_eq!(ending(engine, call), expected, "{answer:?}");
        assert_eq!(
            cm_answer_chain(engine, asked.number, 1),
            CM_E_NO_CALL,
            "it no longer waits"
        );
        cm_engine_close(engine);
    }
}

/// Without care these would wait for the thread that waits for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_has_a_chain_to_answer_does_not_wait_for_the_engine() {
    let server = start(Config::default()).await;
    let addresses = [field("localhost", "127.0.0.1")];
    let engine = abi::open(&cm_config {
        trust: cm_trust::CM_TRUST_APP as u32,
        addresses: addresses.as_ptr(),
        address_count: addresses.len(),
        check_chain_ms: 600_000,
        ..abi::CONFIG
    })
    .unwrap();
    let call = get(engine, &server.url("/health"), 0);
    let chain = next_of(engine, CM_EVENT_CHECK_CHAIN);
    assert_eq!(cm_disconnect(engine, 0), CM_E_CHAIN_WAITS);
    assert_eq!(cm_save(engine), CM_E_CHAIN_WAITS);
    std::thread::scope(|scope| {
        // Another thread has nothing to answer, and waits until this one does.
        let saved = scope.spawn(|| cm_save(engine));
        assert_eq!(cm_answer_chain(engine, chain.number, 1), CM_OK);
        assert_eq!(saved.join().unwrap(), CM_OK);
    });
    assert_eq!(ending(engine, call), CM_OK);
    assert_eq!(cm_disconnect(engine, 0), CM_OK);
    cm_engine_close(engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_may_be_closed_while_a_chain_waits() {
    let server = start(Config::default()).await;
    let engine = abi::open(&cm_config {
        trust: cm_trust::CM_TRUST_APP as u32,
        check_chain_ms: 600_000,
        ..abi::CONFIG
    })
    .unwrap();
    get(engine, &server.url("/health"), 0);
    assert_eq!(next(engine).kind, CM_EVENT_CHECK_CHAIN);
    // Without care it would wait for ten minutes.
    assert_eq!(cm_engine_close(engine), CM_OK);
    assert_eq!(wait(engine, 1, None), Err(CM_E_CLOSED));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_phase_of_a_call_has_its_limit() {
    let (config, certificate) = server_config(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let url = listener.url();
    tokio::spawn(async move {
        for begins in [false, true] {
            let mut stream = listener.accept().await;
            assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
            if begins {
                let begin = b"HTTP/1.1 200 OK\r\ncontent-length: 30\r\n\r\n.";
                stream.write_all(begin).await.unwrap();
                stream.flush().await.unwrap();
            }
            // Until the client goes.
            stream.read_to_end(&mut Vec::new()).await.ok();
        }
    });
    // The kernel takes the connection, and nobody answers on it.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let nowhere = format!("https://localhost:{}/", silent.local_addr().unwrap().port());
    let engine = abi::trusting(certificate.pem().as_bytes());
    let of = |url| cm_request {
        method: bytes("POST"),
        url: bytes(url),
        limit_ms: 60_000,
        ..REQUEST
    };
    let connect = cm_request {
        connect_ms: 200,
        ..of(&nowhere)
    };
    let first_byte = cm_request {
        connect_ms: 60_000,
        first_byte_ms: 200,
        ..of(&url)
    };
    let idle = cm_request {
        first_byte_ms: 60_000,
        idle_ms: 200,
        ..of(&url)
    };
    for (request, what, may_have_acted) in [
        (connect, "no connection", 0),
        (first_byte, "no response", 1),
        (idle, "no more of the response", 1),
    ] {
        let call = submit(engine, &request, 0).unwrap();
        assert_eq!(done(engine, call), (CM_E_TIMEOUT, may_have_acted), "{what}");
        let why = text(engine, call, cm_text::CM_TEXT_ERROR).unwrap();
        assert_eq!(why, format!("{what} within the time limit"));
    }
    cm_engine_close(engine);
}

/// Sends a POST with the number by which the server knows its fault.
fn post(engine: cm_engine, url: &str, id: u32, limit_ms: u32) -> cm_call {
    let id = id.to_string();
    let headers = [cm_field {
        name: bytes("x-commute-id"),
        value: bytes(&id),
    }];
    let request = cm_request {
        method: bytes("POST"),
        url: bytes(url),
        headers: headers.as_ptr(),
        header_count: headers.len(),
        limit_ms,
        ..REQUEST
    };
    submit(engine, &request, 0).unwrap()
}

fn engine_for(server: &TestServer) -> cm_engine {
    abi::trusting(&roots(server))
}

fn roots(server: &TestServer) -> Vec<u8> {
    std::fs::read(server.folder.path().join("ca.pem")).unwrap()
}
