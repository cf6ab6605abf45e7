//! Servers that hold back what HTTP/2 lets them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use tokio::sync::mpsc;

use super::*;

/// A request as its server sees it.
type Stream = (http::Request<RecvStream>, SendResponse<Bytes>);

const GET: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Runs `test` with a socket to a server over HTTP/2, and the streams that are opened there.
fn with_streams(test: impl AsyncFnOnce(Socket, mpsc::UnboundedReceiver<Stream>)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (config, engine) = by_hand::self_signed(&[b"h2"]);
        let listener = by_hand::Listener::new(config).await;
        let origin = format!("https://localhost:{}", listener.port());
        let (opened, streams) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let tls = listener.accept().await;
            let mut connection = h2::server::handshake(tls).await.unwrap();
            while let Some(Ok(stream)) = connection.accept().await {
                // The test may have ended.
                opened.send(stream).ok();
            }
        });
        let engine = Arc::new(engine.build().unwrap());
        test(open(&engine, &origin), streams).await;
    });
}

#[test]
fn a_close_is_noticed_while_the_server_reads_nothing() {
    with_streams(async |socket, mut streams| {
        let socket = Arc::new(socket);
        let written = Arc::new(AtomicUsize::new(0));
        let writing = thread::spawn({
            let (socket, written) = (Arc::clone(&socket), Arc::clone(&written));
            move || {
                socket
                    .write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n\r\n");
                while socket.pipe.write(&[0; 8_192]).is_ok() {
                    written.fetch_add(8_192, Ordering::Relaxed);
                }
            }
        });
        let (request, _response) = streams.recv().await.unwrap();
        let mut body = request.into_body();
        // Its window is never given back.
        let mut before = 0;
        while before == 0 || before != written.load(Ordering::Relaxed) {
            before = written.load(Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert!(before < 4_194_304, "the server read the body");
        socket.pipe.close();
        let ended = async {
            loop {
                match body.data().await {
                    Some(Ok(_)) => {}
                    end => return end,
                }
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
        let reset = ended.expect("the request goes on").unwrap().unwrap_err();
        assert_eq!(reset.reason(), Some(h2::Reason::CANCEL));
        writing.join().unwrap();
    });
}

#[test]
fn trailers_may_follow_a_body_of_any_length() {
    with_streams(async |socket, mut streams| {
        for body in ["", "first", "second"] {
            socket.write(GET);
            let (_, mut respond) = streams.recv().await.unwrap();
            let response = http::Response::builder().header("content-length", body.len());
            let mut sending = respond
                .send_response(response.body(()).unwrap(), false)
                .unwrap();
            sending.send_data(body.into(), false).unwrap();
            let trailers = http::HeaderMap::from_iter([(
                http::HeaderName::from_static("x-sum"),
                http::HeaderValue::from_static("1"),
            )]);
            sending.send_trailers(trailers).unwrap();
            let received = socket.response();
            let length = format!("content-length: {}\r\n", body.len());
            assert!(received.head.contains(&length), "{received:?}");
            assert_eq!(received.body, body);
            assert_eq!(received.trailers, "x-sum: 1\r\n");
        }
    });
}

#[test]
fn responses_without_a_body_end_at_once() {
    with_streams(async |socket, mut streams| {
        for (method, status) in [("HEAD", 200), ("HEAD", 304), ("GET", 304), ("GET", 204)] {
            socket.write(&format!("{method} / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            let (_, mut respond) = streams.recv().await.unwrap();
            let mut response = http::Response::builder().status(status);
            if status != 204 {
                response = response.header("content-length", 5);
            }
            respond
                .send_response(response.body(()).unwrap(), true)
                .unwrap();
            let head = socket.read_to("\r\n\r\n");
            assert!(head.contains(&status.to_string()), "{head}");
            let says_length = head.contains("content-length: 5\r\n");
            assert_eq!(says_length, status != 204, "{head}");
            if head.contains("transfer-encoding: chunked\r\n") {
                assert_eq!((method, status), ("GET", 304));
                assert_eq!(socket.read_to("\r\n\r\n"), "0\r\n\r\n");
            }
        }
    });
}

#[test]
fn a_body_that_breaks_off_has_no_end() {
    // With a length and without, by a reset that says that nothing is wrong and by one that does not.
    for (length, reason) in [
        (None, h2::Reason::NO_ERROR),
        (None, h2::Reason::CANCEL),
        (Some(9), h2::Reason::NO_ERROR),
        // All of the body, without the end of the stream.
        (Some(4), h2::Reason::NO_ERROR),
    ] {
        with_streams(async |socket, mut streams| {
            socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
            let (_, mut respond) = streams.recv().await.unwrap();
            let mut response = http::Response::builder();
            if let Some(length) = length {
                response = response.header("content-length", length);
            }
            let mut sending = respond
                .send_response(response.body(()).unwrap(), false)
                .unwrap();
            sending.send_data("half".into(), false).unwrap();
            let mut text = socket.read_to("half\r\n");
            sending.send_reset(reason);
            let (rest, end) = socket.read_to_end();
            text += &rest;
            assert!(!text.contains("\r\n0\r\n"), "{length:?} {reason}: {text}");
            match end {
                Stopped::Ended(end) => {
                    assert_eq!(end.kind, CloseKind::EndOfStream, "{}", end.message);
                }
                other => panic!("{length:?} {reason}: {other:?}"),
            }
        });
    }
}

#[test]
fn an_early_answer_ends_the_upload() {
    for head in [
        "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
        // One that could be held, and one that could not.
        "Content-Length: 100\r\n\r\na",
        "Content-Length: 4194304\r\n\r\na",
    ] {
        with_streams(async |socket, mut streams| {
            socket.write(&format!("POST / HTTP/1.1\r\nHost: localhost\r\n{head}"));
            let stream = tokio::time::timeout(PATIENCE, streams.recv());
            let (_request, mut respond) = stream.await.expect("it was not sent").unwrap();
            let response = http::Response::builder().status(413).body(()).unwrap();
            let mut sending = respond.send_response(response, false).unwrap();
            sending.send_data("no".into(), true).unwrap();
            // The app writes on until it cannot.
            let refused = async {
                loop {
                    match socket.pipe.write(b"1\r\nb\r\n") {
                        Ok(()) => tokio::time::sleep(Duration::from_millis(10)).await,
                        Err(refused) => return refused,
                    }
                }
            };
            let refused = tokio::time::timeout(PATIENCE, refused).await;
            assert_eq!(refused, Ok(Stopped::Refused), "{head}");
            let response = socket.response();
            assert!(response.head.starts_with("HTTP/1.1 413 "), "{response:?}");
            assert_eq!(response.body, "no");
            // What was not written cannot follow.
            let (_, end) = socket.read_to_end();
            assert!(matches!(end, Stopped::Ended(_)), "{end:?}");
        });
    }
}

#[test]
fn an_upload_that_is_complete_when_it_is_refused_leaves_the_socket_usable() {
    with_streams(async |socket, mut streams| {
        socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
        socket.write("1\r\na\r\n");
        let (_, mut respond) = streams.recv().await.unwrap();
        let response = http::Response::builder().status(413).body(()).unwrap();
        respond.send_response(response, true).unwrap();
        // The engine needs not have noticed yet; either way the next request is not mixed up with this one.
        socket.write("0\r\n\r\n");
        assert!(socket.response().head.starts_with("HTTP/1.1 413 "));
        socket.write(GET);
        let (request, mut respond) = streams.recv().await.unwrap();
        assert_eq!(request.method(), "GET");
        let response = http::Response::builder().body(()).unwrap();
        respond.send_response(response, true).unwrap();
        assert!(socket.response().head.starts_with("HTTP/1.1 200 "));
    });
}

#[test]
fn a_host_of_the_app_is_the_authority() {
    with_streams(async |socket, mut streams| {
        socket.write("GET / HTTP/1.1\r\nHost: other.example\r\n\r\n");
        let (request, mut respond) = streams.recv().await.unwrap();
        let authority = request.uri().authority().unwrap().as_str();
        assert_eq!(authority, "other.example");
        let response = http::Response::builder().body(()).unwrap();
        respond.send_response(response, true).unwrap();
        socket.response();
    });
}

#[test]
fn a_call_that_wants_no_second_request_sends_one() {
    with_streams(async |socket, mut streams| {
        lock(&socket.state).options.resends = false;
        socket.write(GET);
        let (_, mut respond) = streams.recv().await.unwrap();
        respond.send_reset(h2::Reason::REFUSED_STREAM);
        let (_, end) = socket.read_to_end();
        assert!(matches!(end, Stopped::Ended(_)), "{end:?}");
        assert!(streams.try_recv().is_err());
        // The app's own client must not send it either.
        assert!(lock(&socket.state).progress.report().is_some());
    });
}

#[test]
fn a_held_body_is_sent_again_when_its_stream_was_refused() {
    with_streams(async |socket, mut streams| {
        socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\na");
        let (_, mut respond) = streams.recv().await.unwrap();
        respond.send_reset(h2::Reason::REFUSED_STREAM);
        let again = tokio::time::timeout(PATIENCE, streams.recv()).await;
        let (request, mut respond) = again.expect("it was not sent again").unwrap();
        let body = request.into_body().data().await.unwrap().unwrap();
        assert_eq!(body, "a");
        let response = http::Response::builder().body(()).unwrap();
        respond.send_response(response, true).unwrap();
        assert!(socket.response().head.starts_with("HTTP/1.1 200 "));
    });
}

#[test]
fn a_stream_that_ends_after_its_response_is_not_cancelled() {
    with_streams(async |socket, mut streams| {
        socket.write("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let (_, mut respond) = streams.recv().await.unwrap();
        let response = http::Response::builder().body(()).unwrap();
        let mut sending = respond.send_response(response, false).unwrap();
        // The app has the response before the server ends the stream.
        socket.read_to("\r\n\r\n");
        let reset = std::future::poll_fn(|context| sending.poll_reset(context));
        let reset = tokio::time::timeout(Duration::from_millis(200), reset).await;
        assert!(reset.is_err(), "{reset:?}");
        sending.send_data(Bytes::new(), true).unwrap();
    });
}
