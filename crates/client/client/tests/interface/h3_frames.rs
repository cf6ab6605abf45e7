//! Servers over QUIC that write their frames by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::Path;
use crate::common::by_hand::self_signed;
use crate::quic::{quic, quic_with};
use client::{Engine, Error, Fault, Policy};
use http::Method;
use quinn::{Connection, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};

/// Frames (RFC 9114 section 7.2): `:status: 200`, `:status: 103`, the trailer `a: b`, data.
const HEAD: &[u8] = b"\x01\x03\x00\x00\xd9";
const INTERIM: &[u8] = b"\x01\x03\x00\x00\xd8";
const TRAILERS: &[u8] = b"\x01\x06\x00\x00\x21a\x01b";
const EMPTY: &[u8] = b"\x00\x00";
const HELLO: &[u8] = b"\x00\x05hello";
/// A control stream with empty SETTINGS, and with SETTINGS_MAX_FIELD_SECTION_SIZE of 400.
const SETTINGS: &[u8] = b"\x00\x04\x00";
const SHORT_HEADS: &[u8] = b"\x00\x04\x03\x06\x41\x90";
/// RFC 9114 section 8.1.
const VERSION_FALLBACK: u32 = 0x110;

/// Serves connections with this control stream; each request, read to its end, is passed to `answer` with its number.
fn serve<F>(
    endpoint: Endpoint,
    control: &'static [u8],
    answer: impl Fn(usize, Connection, SendStream, Control) -> F + Clone + Send + 'static,
) -> Arc<AtomicUsize>
where
    F: Future<Output = ()> + Send + 'static,
{
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Some(incoming) = endpoint.accept().await {
            let (answer, count) = (answer.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let quic = incoming.await.unwrap();
                let mut stream = quic.open_uni().await.unwrap();
                stream.write_all(control).await.unwrap();
                let stream: Control = Arc::new(tokio::sync::Mutex::new(stream));
                while let Ok((send, recv)) = quic.accept_bi().await {
                    let (answer, count) = (answer.clone(), Arc::clone(&count));
                    let (quic, stream) = (quic.clone(), Arc::clone(&stream));
                    tokio::spawn(async move {
                        if has_come(recv).await {
                            let number = count.fetch_add(1, Ordering::Relaxed);
                            answer(number, quic, send, stream).await;
                        }
                    });
                }
            });
        }
    });
    requests
}

type Control = Arc<tokio::sync::Mutex<SendStream>>;

async fn has_come(mut request: RecvStream) -> bool {
    let request = request.read_to_end(1 << 20).await;
    request.is_ok_and(|request| !request.is_empty())
}

/// Answers all requests with these bytes, then the stream's end.
fn answering(response: Vec<u8>) -> (Engine, String, Arc<AtomicUsize>) {
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    let requests = serve(endpoint, SETTINGS, move |_, _, mut send, _| {
        let response = response.clone();
        async move {
            send.write_all(&response).await.unwrap();
            send.finish().ok();
        }
    });
    (engine.policy(Policy::H3).build().unwrap(), url, requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_data_frames_are_legal_everywhere() {
    for frames in [
        &[HEAD, EMPTY, HELLO, EMPTY, EMPTY, HELLO, EMPTY, TRAILERS][..],
        &[INTERIM, HEAD, EMPTY, HELLO, HELLO, EMPTY],
        &[HEAD, HELLO, EMPTY, HELLO],
    ] {
        let (engine, url, _) = answering(frames.concat());
        let requests = (0..6).map(|_| async {
            let response = engine.get(&url).send().await.unwrap();
            let connection = response.report().connection;
            (connection, response.bytes(100).await.unwrap())
        });
        let answers = futures_util::future::join_all(requests).await;
        for (connection, body) in &answers {
            assert_eq!(body, "hellohello");
            assert_eq!(*connection, answers[0].0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_responses_are_not_asked_for_again() {
    for frames in [
        &[][..],
        &[INTERIM],
        &[TRAILERS],
        &[EMPTY, HEAD],
        &[HELLO],
        &[HEAD, HELLO, HEAD],
        &[HEAD, TRAILERS, HELLO],
        &[HEAD, SETTINGS],
        // A frame that is cut short, and one of a gigabyte.
        &[HEAD, b"\x00\x05hell"],
        &[b"\x01\x80\x00\xff\xff"],
        &[b"\x01\xc0\x00\x00\x00\x40\x00\x00\x00"],
        // Two statuses, one behind a field, a path, the dynamic table.
        &[b"\x01\x04\x00\x00\xd9\xd9"],
        &[b"\x01\x07\x00\x00\x21a\x01b\xd9"],
        &[b"\x01\x04\x00\x00\xd9\xc1"],
        &[b"\x01\x03\x02\x00\x80"],
        // An upper-case name.
        &[b"\x01\x07\x00\x00\xd9\x21A\x01b"],
    ] {
        let (engine, url, requests) = answering(frames.concat());
        let error = match engine.get(&url).send().await {
            Ok(response) => response.bytes(100).await.unwrap_err(),
            Err(error) => error,
        };
        let expected = Error::Failed {
            fault: Fault::Malformed,
            may_have_acted: true,
        };
        assert_eq!(error, expected, "{frames:?}");
        assert_eq!(requests.load(Ordering::Relaxed), 1, "{frames:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goaway_excludes_is_sent_again() {
    // A GET at once, a POST when the connection ends.
    for method in [Method::GET, Method::POST] {
        let (config, engine) = self_signed(&[b"h3"]);
        let (endpoint, url) = quic(config);
        let closes = method == Method::POST;
        let requests = serve(
            endpoint,
            SETTINGS,
            move |number, quic, mut send, control| async move {
                if number > 0 {
                    send.write_all(HEAD).await.unwrap();
                    return send.finish().unwrap();
                }
                // GOAWAY with the first stream's id: nothing was processed. The stream is not reset.
                let mut control = control.lock().await;
                control.write_all(b"\x07\x01\x00").await.unwrap();
                if closes {
                    // The client has the frame by then.
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    quic.close(VarInt::from_u32(0x100), b"");
                }
                quic.closed().await;
            },
        );
        let engine = engine.policy(Policy::H3).build().unwrap();
        let request = engine.request(method, &url).body("once");
        let response = tokio::time::timeout(Duration::from_secs(20), request.send());
        let response = response.await.unwrap().unwrap();
        assert_eq!(response.report().attempts, 2);
        assert_eq!(requests.load(Ordering::Relaxed), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_gets_no_stream_goes_on_another_connection() {
    let (config, engine) = self_signed(&[b"h3"]);
    let mut transport = TransportConfig::default();
    transport.max_concurrent_bidi_streams(VarInt::from_u32(1));
    let (endpoint, url) = quic_with(config, transport);
    let (release, held) = tokio::sync::watch::channel(false);
    serve(endpoint, SETTINGS, move |number, _, mut send, _| {
        let mut held = held.clone();
        async move {
            if number == 0 {
                held.wait_for(|released| *released).await.unwrap();
            }
            send.write_all(HEAD).await.unwrap();
            send.finish().unwrap();
        }
    });
    let engine = engine.policy(Policy::H3).build().unwrap();
    engine.connect(&url).await.unwrap();
    let first = tokio::spawn(engine.get(&url).send());
    tokio::time::sleep(Duration::from_millis(100)).await;
    let second = engine.get(&url).send().await.unwrap();
    release.send_replace(true);
    let first = first.await.unwrap().unwrap();
    assert_ne!(first.report().connection, second.report().connection);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_beyond_the_servers_limit_is_not_sent() {
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    let requests = serve(endpoint, SHORT_HEADS, |_, _, mut send, _| async move {
        send.write_all(HEAD).await.unwrap();
        send.finish().unwrap();
    });
    let engine = engine.policy(Policy::H3).build().unwrap();
    // The server's limit is known by then.
    engine.get(&url).send().await.unwrap();
    let long = engine.get(&url).header("x", &"y".repeat(1_000));
    let expected = Error::Failed {
        fault: Fault::HeadTooLarge,
        may_have_acted: false,
    };
    assert_eq!(long.send().await.unwrap_err(), expected);
    engine.get(&url).send().await.unwrap();
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn version_fallback_ends_a_request_that_must_go_over_http_3() {
    for ends_connection in [false, true] {
        let (config, engine) = self_signed(&[b"h3"]);
        let (endpoint, url) = quic(config);
        let requests = serve(endpoint, SETTINGS, move |_, quic, mut send, _| async move {
            let code = VarInt::from_u32(VERSION_FALLBACK);
            if ends_connection {
                quic.close(code, b"");
            } else {
                send.reset(code).unwrap();
            }
        });
        let engine = engine.policy(Policy::H3).build().unwrap();
        let expected = Error::Failed {
            fault: Fault::Http11Required,
            may_have_acted: false,
        };
        let error = engine.get(&url).send().await.unwrap_err();
        assert_eq!(error, expected, "ends the connection: {ends_connection}");
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_body_that_has_come_whole_no_rest_is_asked_for() {
    // `:status: 200`, `accept-ranges: bytes`, `content-length: 5`, `etag: "1"`, with names of the static table.
    const RESUMABLE: &[u8] = b"\x01\x0c\x00\x00\xd9\xe0\x54\x015\x57\x03\"1\"";
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    let requests = serve(endpoint, SETTINGS, |_, _, mut send, _| async move {
        send.write_all(&[RESUMABLE, HELLO].concat()).await.unwrap();
        // All of it has come before the reset.
        tokio::time::sleep(Duration::from_millis(100)).await;
        send.reset(VarInt::from_u32(0x10c)).unwrap();
    });
    let engine = engine.policy(Policy::H3).build().unwrap();
    let response = engine.get(&url).send().await.unwrap();
    let error = response.bytes(100).await;
    assert!(matches!(error, Err(Error::Failed { .. })), "{error:?}");
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_is_sent_three_times_on_connections_that_end_in_good_order() {
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    let requests = serve(endpoint, SETTINGS, |_, quic, send, _| async move {
        quic.close(VarInt::from_u32(0x100), b"");
        // Dropped before, it would end the response.
        drop(send);
    });
    let engine = engine.policy(Policy::H3).build().unwrap();
    // The server may have acted on it.
    let put = engine.request(Method::PUT, &url).body("x").send().await;
    assert!(
        matches!(
            put,
            Err(Error::Failed {
                may_have_acted: true,
                ..
            })
        ),
        "{put:?}"
    );
    assert_eq!(requests.load(Ordering::Relaxed), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_that_goaway_excludes_is_not_sent_again_when_its_path_dies() {
    let (config, engine) = self_signed(&[b"h3"]);
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(VarInt::from_u32(1_000).into()));
    let (endpoint, url) = quic_with(config, transport);
    let path = Arc::new(Path::to(endpoint.local_addr().unwrap()).await);
    let dying = Arc::clone(&path);
    // As servers on h3 0.0.8 do with the last request that they process.
    let requests = serve(
        endpoint,
        SETTINGS,
        move |number, quic, mut send, control| {
            let dying = Arc::clone(&dying);
            async move {
                if number > 0 {
                    send.write_all(HEAD).await.unwrap();
                    return send.finish().unwrap();
                }
                control
                    .lock()
                    .await
                    .write_all(b"\x07\x01\x00")
                    .await
                    .unwrap();
                // The client has the frame by then.
                tokio::time::sleep(Duration::from_millis(200)).await;
                dying.die();
                quic.closed().await;
            }
        },
    );
    let engine = engine.policy(Policy::H3).hint_h3_on(&url, path.port);
    let engine = engine.build().unwrap();
    let post = engine.request(Method::POST, &url).body("once").send();
    let post = tokio::time::timeout(Duration::from_secs(40), post)
        .await
        .unwrap();
    assert!(
        matches!(
            post,
            Err(Error::Failed {
                may_have_acted: true,
                ..
            })
        ),
        "{post:?}"
    );
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_breaks_the_protocol_is_told_from_one_that_is_gone() {
    /// DATA on the control stream (RFC 9114 section 7.2.1).
    const CONTROL: &[u8] = b"\x00\x04\x00\x00\x01x";
    let (config, engine) = self_signed(&[b"h3"]);
    let (endpoint, url) = quic(config);
    serve(endpoint, CONTROL, |_, quic, _send, _| async move {
        quic.closed().await;
    });
    let engine = engine.policy(Policy::H3).build().unwrap();
    let error = engine.get(&url).send().await.unwrap_err();
    // Which of them depends on whether the request or the connection learns of it first.
    let (protocol, malformed) = (Fault::Protocol, Fault::Malformed);
    assert!(
        matches!(error, Error::Failed { fault, .. } if fault == protocol || fault == malformed),
        "{error:?}"
    );
}
