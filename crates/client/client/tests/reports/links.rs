//! Links that are slower than any fixed time-out expects.

use std::net::Ipv4Addr;
use std::time::Duration;

use client::Policy;
use http::Method;
use peers::{Credentials, Options, Protocol, Script, Server, Step};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::{ok, trusting, whole};

/// 32 kbit/s.
const BYTES_PER_S: u64 = 4_000;
/// A buffer that one body fills many times.
const SMALL_BUFFER: u32 = 16_384;
/// Loopback would fill a small buffer with a single segment.
const SEGMENT_BYTES: u32 = 1_400;

/// Forwards TCP to a port, at most `BYTES_PER_S` in each direction; returns its own port. With a buffer of its own, the
/// kernel closes the window when that is full.
async fn slow(to: u16, buffer: Option<u32>) -> u16 {
    let outside = TcpSocket::new_v4().unwrap();
    if let Some(bytes) = buffer {
        outside.set_recv_buffer_size(bytes).unwrap();
        outside.set_send_buffer_size(bytes).unwrap();
    }
    socket2::SockRef::from(&outside)
        .set_tcp_mss(SEGMENT_BYTES)
        .unwrap();
    outside.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let outside: TcpListener = outside.listen(16).unwrap();
    let port = outside.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (client, _) = outside.accept().await.unwrap();
            let server = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).await.unwrap();
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::spawn(throttle(from_client, to_server));
            tokio::spawn(throttle(from_server, to_client));
        }
    });
    port
}

async fn throttle(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut buffer = [0; 400];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let time = Duration::from_micros(length as u64 * 1_000_000 / BYTES_PER_S);
        tokio::time::sleep(time).await;
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_32_kbit_per_s_comes_whole_and_is_asked_for_once() {
    const BYTES: usize = 40_000;
    for_each_over_tcp(async |protocol, policy| {
        let credentials = Credentials::new();
        let server = Server::start(protocol, &credentials, Options::default(), |_, _| {
            let head = Step::head(200, &[("content-length", &BYTES.to_string())]);
            Script::new([head, Step::data(vec![b'x'; BYTES]), Step::End])
        });
        let server = server.await;
        let url = format!(
            "https://localhost:{}/",
            slow(server.port, Some(SMALL_BUFFER)).await
        );
        let engine = trusting(&credentials).policy(policy).build().unwrap();
        let (_, body) = whole(engine.get(&url)).await.unwrap();
        assert_eq!(body.len(), BYTES, "{protocol:?}");
        assert_eq!(server.requests("/").len(), 1, "{protocol:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_over_32_kbit_per_s_succeeds_and_is_sent_once() {
    an_upload_is_sent_once(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_to_a_server_that_reads_slowly_is_sent_once() {
    an_upload_is_sent_once(Some(SMALL_BUFFER)).await;
}

async fn an_upload_is_sent_once(buffer: Option<u32>) {
    const BYTES: usize = 40_000;
    for_each_over_tcp(async |protocol, policy| {
        let credentials = Credentials::new();
        let server = Server::start(protocol, &credentials, Options::default(), |_, _| ok("ok"));
        let server = server.await;
        let url = format!("https://localhost:{}/", slow(server.port, buffer).await);
        let engine = trusting(&credentials).policy(policy).build().unwrap();
        let put = engine.request(Method::PUT, &url).body(vec![b'x'; BYTES]);
        let (response, _) = whole(put).await.unwrap();
        assert_eq!(response.report().attempts, 1, "{protocol:?}");
        let arrived: Vec<_> = server
            .requests("/")
            .iter()
            .map(|request| request.body.len())
            .collect();
        assert_eq!(arrived, [BYTES], "{protocol:?}");
    })
    .await;
}

/// Runs a test over HTTP/1.1 and HTTP/2 at the same time.
async fn for_each_over_tcp(test: impl AsyncFn(Protocol, Policy)) {
    tokio::join!(
        test(Protocol::H1, Policy::H1),
        test(Protocol::H2, Policy::H2)
    );
}
