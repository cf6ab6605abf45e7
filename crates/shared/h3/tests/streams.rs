//! How streams end when one side cancels, where other adapters go wrong.
//!
//! One side is HTTP/3 over this crate, the other either the same or plain quinn, which shows the
//! codes on the wire.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, Bytes};
use common::{Options, Pair};
use h3::client::SendRequest;
use h3::error::{Code, StreamError};
use h3::quic;
use h3::server::RequestStream;
use h3_quic::{BidiStream, Connection, OpenStreams};
use http::{Request, Response};
use quinn::{ConnectionError, ReadError, ReadToEndError, VarInt};

/// A HEADERS frame (RFC 9114 section 7.2.2) of `POST https://localhost/`. Names and values are from
/// QPACK's static table (RFC 9204 appendix A): entries 20, 1, 23 and the name of entry 0.
const POST_HEADERS: &[u8] = b"\x01\x10\x00\x00\xd4\xc1\xd7\x50\x09localhost";

type Requests = SendRequest<OpenStreams, Bytes>;
type Served = RequestStream<BidiStream<Bytes>, Bytes>;
type H3Server = h3::server::Connection<Connection, Bytes>;

#[tokio::test]
async fn stopping_during_a_pending_read_neither_panics_nor_hangs() {
    let pair = Pair::new(&Options::default());
    let (mut requests, mut server) = h3_pair(&pair).await;
    let mut stream = requests.send_request(get()).await.unwrap();
    let mut served = accept(&mut server).await;
    served.send_response(Response::new(())).await.unwrap();
    served.send_data("first".into()).await.unwrap();
    stream.recv_response().await.unwrap();
    assert_eq!(stream.recv_data().await.unwrap().unwrap().chunk(), b"first");
    {
        // Pending, because the rest has not been sent; then the caller drops it.
        let mut read = pin!(stream.recv_data());
        assert!(poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx).is_pending())).await);
    }
    stream.stop_sending(Code::H3_REQUEST_CANCELLED);
    assert!(stream.recv_data().await.unwrap().is_none());
    let error = stop_error(&mut served).await;
    let cancelled = matches!(error, StreamError::RemoteTerminate { code, .. } if code == Code::H3_REQUEST_CANCELLED);
    assert!(cancelled, "{error:?}");
}

#[tokio::test]
async fn dropped_read_loses_no_data() {
    let pair = Pair::new(&Options::default());
    let (mut requests, mut server) = h3_pair(&pair).await;
    let mut stream = requests.send_request(get()).await.unwrap();
    let mut served = accept(&mut server).await;
    served.send_response(Response::new(())).await.unwrap();
    stream.recv_response().await.unwrap();
    for _ in 0..3 {
        let mut read = pin!(stream.recv_data());
        assert!(poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx).is_pending())).await);
    }
    served.send_data("late".into()).await.unwrap();
    served.finish().await.unwrap();
    assert_eq!(stream.recv_data().await.unwrap().unwrap().chunk(), b"late");
    assert!(stream.recv_data().await.unwrap().is_none());
}

#[tokio::test]
async fn slow_reader_with_large_window_gets_every_byte() {
    const BYTES: usize = 15 << 20;
    let pair = Pair::new(&Options {
        client_window: Some(16 << 20),
        ..Options::default()
    });
    let (mut requests, mut server) = h3_pair(&pair).await;
    let mut stream = requests.send_request(get()).await.unwrap();
    let mut served = accept(&mut server).await;
    served.send_response(Response::new(())).await.unwrap();
    // All of it fits the window, so that it is sent although nobody reads. The pattern's period
    // does not divide the chunk size, so that misplaced chunks are detected.
    let body: Bytes = (0..BYTES).map(|i| (i % 251) as u8).collect();
    let sending = tokio::spawn(async move {
        for chunk in body.chunks(64 << 10) {
            served
                .send_data(Bytes::copy_from_slice(chunk))
                .await
                .unwrap();
        }
        served.finish().await.unwrap();
        (served, body)
    });
    let (_served, body) = sending.await.unwrap();
    stream.recv_response().await.unwrap();
    let mut received = Vec::with_capacity(BYTES);
    while let Some(mut data) = stream.recv_data().await.unwrap() {
        received.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    assert!(received == body);
}

#[tokio::test]
async fn response_arrives_although_request_was_not_read() {
    let pair = Pair::new(&Options::default());
    let (mut requests, mut server) = h3_pair(&pair).await;
    let mut stream = requests.send_request(post()).await.unwrap();
    let mut served = accept(&mut server).await;
    let answering = tokio::spawn(async move {
        served
            .send_response(Response::builder().status(413).body(()).unwrap())
            .await
            .unwrap();
        served.send_data("too long".into()).await.unwrap();
        served.finish().await.unwrap();
        // `served` is dropped here, with the request unread.
    });
    // More than any window: this completes only because the server stops the request.
    for _ in 0..64 {
        stream
            .send_data(Bytes::from(vec![7; 1 << 20]))
            .await
            .unwrap();
    }
    stream.finish().await.unwrap();
    answering.await.unwrap();
    assert_eq!(stream.recv_response().await.unwrap().status(), 413);
    assert_eq!(
        stream.recv_data().await.unwrap().unwrap().chunk(),
        b"too long"
    );
    assert!(stream.recv_data().await.unwrap().is_none());
}

#[tokio::test]
async fn dropping_an_unread_request_sends_no_error() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let mut server = serve(server).await;
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(POST_HEADERS).await.unwrap();
    let mut served = accept(&mut server).await;
    served.send_response(Response::new(())).await.unwrap();
    served.finish().await.unwrap();
    drop(served);
    assert_eq!(send.stopped().await.unwrap(), Some(code(Code::H3_NO_ERROR)));
    assert!(!recv.read_to_end(1024).await.unwrap().is_empty());
}

#[tokio::test]
async fn request_whose_end_has_arrived_is_not_stopped() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let mut server = serve(server).await;
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(POST_HEADERS).await.unwrap();
    send.finish().unwrap();
    // Acknowledged, so the end has arrived at the server, where nobody reads it.
    assert_eq!(send.stopped().await.unwrap(), None);
    let mut served = accept(&mut server).await;
    served.send_response(Response::new(())).await.unwrap();
    served.finish().await.unwrap();
    drop(served);
    recv.read_to_end(1024).await.unwrap();
    assert_eq!(client.stats().frame_rx.stop_sending, 0);
}

#[tokio::test]
async fn dropped_request_is_reset_not_finished() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let (mut driver, mut requests) = h3::client::new(Connection::new(client)).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let mut stream = requests.send_request(post()).await.unwrap();
    stream.send_data("half of it".into()).await.unwrap();
    let (send, mut recv) = server.accept_bi().await.unwrap();
    drop(stream);
    let end = recv.read_to_end(1024).await;
    let reset = ReadToEndError::Read(ReadError::Reset(code(Code::H3_REQUEST_CANCELLED)));
    assert_eq!(end, Err(reset));
    // The response is stopped too.
    assert_eq!(
        send.stopped().await.unwrap(),
        Some(code(Code::H3_REQUEST_CANCELLED))
    );
}

#[tokio::test]
async fn dropped_response_is_reset_not_finished() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let mut server = serve(server).await;
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(POST_HEADERS).await.unwrap();
    send.finish().unwrap();
    let mut served = accept(&mut server).await;
    served.send_response(Response::new(())).await.unwrap();
    served.send_data("half of it".into()).await.unwrap();
    drop(served);
    let end = recv.read_to_end(1024).await;
    let reset = ReadToEndError::Read(ReadError::Reset(code(Code::H3_INTERNAL_ERROR)));
    assert_eq!(end, Err(reset));
}

#[tokio::test]
async fn write_fails_after_client_stops_response() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let mut server = serve(server).await;
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(POST_HEADERS).await.unwrap();
    let mut served = accept(&mut server).await;
    served.send_response(Response::new(())).await.unwrap();
    recv.stop(code(Code::H3_REQUEST_CANCELLED)).unwrap();
    let error = stop_error(&mut served).await;
    assert!(
        matches!(error, StreamError::RemoteTerminate { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn request_info_is_taken_once_and_removed_with_its_stream() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let (connection, accepted) = Connection::with_accepted_requests(server);
    let mut server: H3Server = h3::server::builder().build(connection).await.unwrap();
    for taken in [true, false] {
        let (mut send, mut recv) = client.open_bi().await.unwrap();
        send.write_all(POST_HEADERS).await.unwrap();
        send.finish().unwrap();
        let mut served = accept(&mut server).await;
        let id = served.id();
        let info = taken.then(|| accepted.take(id).unwrap());
        served.send_response(Response::new(())).await.unwrap();
        served.finish().await.unwrap();
        drop(served);
        assert!(accepted.take(id).is_none());
        recv.read_to_end(1024).await.unwrap();
        if let Some(info) = info {
            assert!(!info.early_data);
            assert!(info.delivery.wait().await);
        }
    }
}

#[tokio::test]
async fn a_request_that_waits_gets_the_stream_that_came_into_reserve() {
    let pair = Pair::new(&Options {
        request_streams: Some(1),
        ..Options::default()
    });
    let (client, server) = pair.connect().await;
    let connection = Connection::new(client.clone());
    let reserve = connection.reserve();
    let mut opener = quic::Connection::<Bytes>::opener(&connection);
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(b"whole").await.unwrap();
    send.finish().unwrap();

    // This one is first in the queue for the next stream.
    let growing = tokio::spawn(async move { reserve.grow().await });
    tokio::task::yield_now().await;
    let waiting = tokio::spawn(async move {
        poll_fn(|cx| quic::OpenStreams::<Bytes>::poll_open_bidi(&mut opener, cx))
            .await
            .is_ok()
    });
    tokio::task::yield_now().await;
    let (mut answer, mut request) = server.accept_bi().await.unwrap();
    request.read_to_end(8).await.unwrap();
    answer.finish().unwrap();
    recv.read_to_end(8).await.unwrap();

    growing.await.unwrap().unwrap();
    let opened = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    assert!(opened.is_ok_and(Result::unwrap), "it waits for ever");
}

#[tokio::test]
async fn a_malformed_request_is_stopped_and_the_connection_goes_on() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let mut server = serve(server).await;
    let serving = tokio::spawn(async move {
        loop {
            let resolver = server.accept().await.unwrap().unwrap();
            if let Ok((_, mut served)) = resolver.resolve_request().await {
                served.send_response(Response::new(())).await.unwrap();
                served.finish().await.unwrap();
                return server;
            }
        }
    });
    // Two methods.
    let twice = b"\x01\x11\x00\x00\xd4\xd4\xc1\xd7\x50\x09localhost";
    let (mut send, _recv) = client.open_bi().await.unwrap();
    send.write_all(twice).await.unwrap();
    assert_eq!(
        send.stopped().await.unwrap(),
        Some(code(Code::H3_MESSAGE_ERROR))
    );
    let (mut send, mut recv) = client.open_bi().await.unwrap();
    send.write_all(POST_HEADERS).await.unwrap();
    send.finish().unwrap();
    assert!(!recv.read_to_end(1024).await.unwrap().is_empty());
    drop(serving.await.unwrap());
}

#[tokio::test]
async fn what_endangers_all_requests_ends_the_connection() {
    let frame_of_a_mebibyte = b"\x21\x80\x10\x00\x00";
    for (frames, closed) in [
        (
            &b"\x00\x05hello"[..],
            (Code::H3_FRAME_UNEXPECTED, "a frame is not allowed here"),
        ),
        (
            frame_of_a_mebibyte,
            (Code::H3_EXCESSIVE_LOAD, "frame too long"),
        ),
    ] {
        let pair = Pair::new(&Options::default());
        let (client, server) = pair.connect().await;
        let mut server = serve(server).await;
        let (mut send, _recv) = client.open_bi().await.unwrap();
        send.write_all(frames).await.unwrap();
        let serving = tokio::spawn(async move {
            let resolver = server.accept().await.unwrap().unwrap();
            drop(resolver.resolve_request().await);
            server
        });
        let reason = tokio::time::timeout(Duration::from_secs(20), client.closed()).await;
        let Ok(ConnectionError::ApplicationClosed(close)) = reason else {
            panic!("{reason:?}");
        };
        let expected = (code(closed.0), closed.1.as_bytes());
        assert_eq!((close.error_code, &close.reason[..]), expected);
        drop(serving.await.unwrap());
    }
}

#[tokio::test]
async fn a_second_control_stream_ends_the_connection() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let mut server = serve(server).await;
    let serving = tokio::spawn(async move { server.accept().await.is_err() });
    let mut streams = Vec::new();
    // The type of a control stream, and empty settings.
    for _ in 0..2 {
        let mut control = client.open_uni().await.unwrap();
        control.write_all(b"\x00\x04\x00").await.unwrap();
        streams.push(control);
    }
    let reason = tokio::time::timeout(Duration::from_secs(20), client.closed()).await;
    let Ok(ConnectionError::ApplicationClosed(close)) = reason else {
        panic!("{reason:?}");
    };
    assert_eq!(close.error_code, code(Code::H3_STREAM_CREATION_ERROR));
    assert!(serving.await.unwrap());
}

#[tokio::test]
async fn a_response_that_is_too_long_is_stopped_and_the_connection_goes_on() {
    let pair = Pair::new(&Options::default());
    let (client, server) = pair.connect().await;
    let (mut driver, mut requests) = h3::client::new(Connection::new(client)).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    let mut stream = requests.send_request(get()).await.unwrap();
    let (mut send, _recv) = server.accept_bi().await.unwrap();
    send.write_all(b"\x01\x80\x10\x00\x00").await.unwrap();
    assert!(stream.recv_response().await.is_err());
    assert_eq!(
        send.stopped().await.unwrap(),
        Some(code(Code::H3_EXCESSIVE_LOAD))
    );
    let mut next = requests.send_request(get()).await.unwrap();
    let (mut send, _recv) = server.accept_bi().await.unwrap();
    send.write_all(b"\x01\x03\x00\x00\xd9").await.unwrap();
    assert_eq!(next.recv_response().await.unwrap().status(), 200);
}

/// Connects both sides over this crate.
async fn h3_pair(pair: &Pair) -> (Requests, H3Server) {
    let (client, server) = pair.connect().await;
    let (mut driver, requests) = h3::client::new(Connection::new(client)).await.unwrap();
    tokio::spawn(async move { driver.wait_idle().await });
    (requests, serve(server).await)
}

async fn serve(server: quinn::Connection) -> H3Server {
    h3::server::builder()
        .build(Connection::new(server))
        .await
        .unwrap()
}

async fn accept(server: &mut H3Server) -> Served {
    let resolver = server.accept().await.unwrap().unwrap();
    resolver.resolve_request().await.unwrap().1
}

/// Sends until the client's STOP_SENDING fails a write, and returns the error. 4 MiB are more than
/// the client's window, so it must have arrived by then.
async fn stop_error(served: &mut Served) -> StreamError {
    for _ in 0..64 {
        if let Err(error) = served.send_data(Bytes::from(vec![0; 64 << 10])).await {
            return error;
        }
    }
    panic!("no STOP_SENDING arrived");
}

fn get() -> Request<()> {
    Request::get("https://localhost/").body(()).unwrap()
}

fn post() -> Request<()> {
    Request::post("https://localhost/").body(()).unwrap()
}

fn code(code: Code) -> VarInt {
    VarInt::from_u64(code.value()).unwrap()
}
