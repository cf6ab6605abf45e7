//! Servers that hold back what HTTP/2 lets them.

#[allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#[path = "../../../../client/tests/common/by_hand.rs"]
mod by_hand;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use h2::RecvStream;
use h2::server::SendResponse;
use tokio::sync::mpsc;

use super::*;

/// A request as its server sees it.
type Stream = (http::Request<RecvStream>, SendResponse<Bytes>);

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
                socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4194304\r\n\r\n");
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
fn a_complete_response_holds_up_no_request_until_its_stream_ends() {
    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    with_streams(async |socket, mut streams| {
        let mut left_open = Vec::new();
        for body in ["first", "second", "third"] {
            socket.write(GET);
            let stream = tokio::time::timeout(Duration::from_secs(5), streams.recv());
            let (_, mut respond) = stream.await.expect("it was not sent").unwrap();
            let response = http::Response::builder().header("content-length", body.len());
            let response = response.body(()).unwrap();
            let mut sending = respond.send_response(response, false).unwrap();
            sending.send_data(body.into(), false).unwrap();
            assert!(socket.read_to(body).starts_with("HTTP/1.1 200"));
            left_open.push(sending);
        }
        // Nor are they cancelled.
        for mut sending in left_open {
            sending.send_data(Bytes::new(), true).unwrap();
        }
    });
}
