//! Servers that write HTTP/1.1 by hand.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// Answers one request with these bytes once its head has come. If `cut`, closes TCP without TLS's close_notify.
fn with_answer(request: &str, answer: &'static [u8], cut: bool, test: impl AsyncFnOnce(Socket)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (config, engine) = by_hand::self_signed(&[b"http/1.1"]);
        let listener = by_hand::Listener::new(config).await;
        let origin = format!("https://localhost:{}", listener.port());
        tokio::spawn(async move {
            let mut tls = listener.accept().await;
            let mut seen = Vec::new();
            while !seen.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                tls.read_buf(&mut seen).await.unwrap();
            }
            tls.write_all(answer).await.unwrap();
            tls.flush().await.unwrap();
            if cut {
                // TCP ends in order, TLS does not.
                tls.get_mut().0.shutdown().await.unwrap();
            }
            std::future::pending::<()>().await;
        });
        let engine = Arc::new(engine.build().unwrap());
        let socket = open(&engine, &origin);
        socket.write(request);
        test(socket).await;
    });
}

#[test]
fn a_body_that_breaks_off_has_no_end() {
    let answers: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhalf",
    ];
    for answer in answers {
        let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
        with_answer(post, answer, true, async |socket| {
            let (text, end) = socket.read_to_end();
            assert!(!text.contains("\r\n0\r\n"), "{text}");
            match end {
                Stopped::Ended(end) => {
                    assert_eq!(end.kind, CloseKind::EndOfStream, "{}", end.message);
                }
                other => panic!("{other:?}"),
            }
        });
    }
}

#[test]
fn an_early_answer_ends_the_upload() {
    let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n\r\na";
    let answer = b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 2\r\n\r\nno";
    with_answer(post, answer, false, async |socket| {
        let refused = async {
            loop {
                match socket.pipe.write(b"b") {
                    Ok(()) => tokio::time::sleep(Duration::from_millis(10)).await,
                    Err(refused) => return refused,
                }
            }
        };
        let refused = tokio::time::timeout(PATIENCE, refused).await;
        assert_eq!(refused, Ok(Stopped::Refused));
        let response = socket.response();
        assert!(response.head.starts_with("HTTP/1.1 413 "), "{response:?}");
        assert_eq!(response.body, "no");
    });
}

#[test]
fn a_head_that_only_okhttp_may_read_is_told_apart() {
    let get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = b"ICY 200 OK\r\ncontent-length: 2\r\n\r\nok";
    with_answer(get, answer, false, async |socket| {
        let (_, end) = socket.read_to_end();
        match end {
            Stopped::Ended(end) => {
                assert_eq!(end.kind, CloseKind::MalformedHead, "{}", end.message);
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_server_that_closes_without_an_answer_sent_no_malformed_head() {
    let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    with_answer(post, b"", true, async |socket| {
        let (_, end) = socket.read_to_end();
        match end {
            Stopped::Ended(end) => assert_eq!(end.kind, CloseKind::Broken, "{}", end.message),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn only_a_body_that_the_server_did_not_chunk_is_chunked_here() {
    let get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answers: [(&[u8], bool); 3] = [
        (b"HTTP/1.1 200 OK\r\n\r\nok", true),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", false),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            false,
        ),
    ];
    for (answer, chunked_here) in answers {
        with_answer(get, answer, false, async |socket| {
            let head = socket.read_to("\r\n\r\n");
            let facts = lock(&socket.state).facts.clone().unwrap();
            assert_eq!(facts.chunked_here, chunked_here, "{head}");
        });
    }
}

#[test]
fn a_socket_is_idle_after_a_response_unless_the_server_closes_its_connection() {
    let get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answers: [(&[u8], bool); 2] = [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true),
        (
            b"HTTP/1.1 200 OK\r\nconnection: x, Close\r\ncontent-length: 2\r\n\r\nok",
            false,
        ),
    ];
    for (answer, idle) in answers {
        with_answer(get, answer, false, async |socket| {
            let response = socket.response();
            assert_eq!(lock(&socket.state).idle, idle, "{response:?}");
        });
    }
}

/// The last piece fills the writer's buffer, as a full TLS record does.
#[test]
fn a_socket_is_idle_after_a_long_response() {
    const RECORD: usize = 16 << 10;
    let get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {:05}\r\n", 4 * RECORD);
    let padding = "x".repeat(RECORD - head.len() - "a: \r\n\r\n".len());
    let answer = format!("{head}a: {padding}\r\n\r\n{}", "b".repeat(4 * RECORD));
    with_answer(get, answer.into_bytes().leak(), false, async |socket| {
        let response = socket.response();
        assert_eq!(response.body.len(), 4 * RECORD);
        assert!(lock(&socket.state).idle);
    });
}
