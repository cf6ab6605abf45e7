//! Servers that send less or more of a range than they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::by_hand::{Listener, self_signed};
use client::{Error, Fault, Phase};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

const LENGTH: usize = 1_000_000;
/// What comes of the whole body before it breaks off.
const FIRST: usize = 300_000;

/// Serves a body that breaks off. `part` gets the number of bytes requested and how often that was before, and returns
/// how many bytes of the rest to send. Returns the URL, an engine's builder, and the number of ranges requested.
async fn server(part: fn(usize, usize) -> usize) -> (String, client::Builder, Arc<AtomicUsize>) {
    server_with("", part).await
}

/// Serves a body that breaks off, as [`server`] does, with more fields in the heads of parts.
async fn server_with(
    fields: &'static str,
    part: fn(usize, usize) -> usize,
) -> (String, client::Builder, Arc<AtomicUsize>) {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let (url, ranges) = (listener.url(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&ranges);
    tokio::spawn(async move {
        loop {
            let stream = BufReader::new(listener.accept().await);
            tokio::spawn(answer(stream, fields, part, Arc::clone(&count)));
        }
    });
    (url, engine, ranges)
}

async fn answer(
    mut stream: BufReader<TlsStream<TcpStream>>,
    fields: &'static str,
    part: fn(usize, usize) -> usize,
    count: Arc<AtomicUsize>,
) {
    let body = body();
    loop {
        let mut from = None;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            if let Some(range) = line.strip_prefix("range: bytes=") {
                from = Some(range.split('-').next().unwrap().parse::<usize>().unwrap());
            }
            if line == "\r\n" {
                break;
            }
        }
        let validator = "etag: \"1\"\r\naccept-ranges: bytes\r\n";
        let Some(from) = from else {
            let head = format!("HTTP/1.1 200 OK\r\n{validator}content-length: {LENGTH}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&body[..FIRST]).await.unwrap();
            stream.flush().await.unwrap();
            return;
        };
        let sent = part(LENGTH - from, count.fetch_add(1, Ordering::Relaxed));
        let last = LENGTH - 1;
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\n{validator}{fields}content-range: bytes {from}-{last}/{LENGTH}\r\n\
             transfer-encoding: chunked\r\n\r\n"
        );
        let mut answer = head.into_bytes();
        if sent > 0 {
            answer.extend(format!("{sent:x}\r\n").into_bytes());
            answer.extend(body.iter().cycle().skip(from).take(sent));
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        // Of a body that is too long the client does not read the end.
        if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

fn body() -> Vec<u8> {
    (0..LENGTH).map(|i| (i % 251) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_too_short_is_no_end() {
    let (url, engine, ranges) = server(|asked, _| asked.min(200_000)).await;
    let engine = engine.build().unwrap();
    let whole = engine.get(&url).send().await.unwrap().bytes(LENGTH).await;
    assert!(whole.unwrap() == body());
    assert_eq!(ranges.load(Ordering::Relaxed), 4, "of 700 kB, 200 each");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_too_long_is_cut_off() {
    let (url, engine, _) = server(|asked, _| asked + 400_000).await;
    let engine = engine.build().unwrap();
    let whole = engine
        .get(&url)
        .send()
        .await
        .unwrap()
        .bytes(2 * LENGTH)
        .await;
    assert!(whole.unwrap() == body());
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_without_a_byte_end_in_an_error() {
    let (url, engine, ranges) = server(|_, _| 0).await;
    let engine = engine.build().unwrap();
    let error = engine.get(&url).send().await.unwrap().bytes(LENGTH).await;
    let fault = Fault::Protocol;
    let expected = Error::Failed {
        fault,
        may_have_acted: true,
    };
    assert_eq!(error, Err(expected));
    assert_eq!(ranges.load(Ordering::Relaxed), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_little_of_each_part_is_not_asked_for_ever() {
    let (url, engine, ranges) = server(|_, _| 10).await;
    let engine = engine.build().unwrap();
    let error = engine.get(&url).send().await.unwrap().bytes(LENGTH).await;
    assert!(matches!(error, Err(Error::Failed { .. })), "{error:?}");
    assert_eq!(ranges.load(Ordering::Relaxed), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_has_the_length_that_the_server_promised() {
    let folder = tempfile::tempdir().unwrap();
    for part in [
        (|asked, _| asked.min(200_000)) as fn(usize, usize) -> usize,
        |asked, _| asked + 400_000,
    ] {
        let (url, engine, _) = server(part).await;
        let to = folder.path().join("file");
        let engine = engine.build().unwrap();
        let done = engine.get(&url).download(&to).await.unwrap();
        assert_eq!(done.bytes, LENGTH as u64);
        assert!(std::fs::read(&to).unwrap() == body());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_request_that_must_not_be_repeated_no_rest_is_asked_for() {
    let (url, engine, ranges) = server(|asked, _| asked).await;
    let engine = engine.build().unwrap();
    let get = || engine.get(&url);
    for once in [get().idempotent(false), get().resends(false)] {
        let error = once.send().await.unwrap().bytes(LENGTH).await;
        assert!(matches!(error, Err(Error::Failed { .. })), "{error:?}");
        assert_eq!(ranges.load(Ordering::Relaxed), 0);
    }
}

/// Breaks off the first response to a request for ten bytes, and answers later ones so. Returns the URL, and the number
/// of requests.
async fn breaks_off_and_answers(then: &'static str) -> (String, client::Builder, Arc<AtomicUsize>) {
    let (config, engine) = self_signed(&[b"http/1.1"]);
    let listener = Listener::new(config).await;
    let (url, requests) = (listener.url(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            let mut stream = listener.accept().await;
            assert!(stream.read(&mut [0; 4_096]).await.unwrap() > 0);
            let is_first = count.fetch_add(1, Ordering::Relaxed) == 0;
            let half = "HTTP/1.1 200 OK\r\netag: \"1\"\r\naccept-ranges: bytes\r\ncontent-length: 10\r\n\r\n01234";
            let answer = if is_first { half } else { then };
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            if !is_first {
                held.push(stream);
            }
        }
    });
    (url, engine, requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rest_that_does_not_come_is_waited_for_once() {
    let (url, engine, requests) = breaks_off_and_answers("").await;
    let engine = engine.build().unwrap();
    let idle = Duration::from_millis(500);
    let mut response = engine.get(&url).idle_limit(idle).send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "01234");
    let error = response.chunk().await.unwrap_err();
    assert_eq!(error, Error::TimedOut(Phase::Idle));
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_request_limits_the_rest_as_well() {
    let (url, engine, requests) = breaks_off_and_answers("").await;
    let engine = engine.build().unwrap();
    let get = engine.get(&url).time_limit(Duration::from_secs(1));
    let error = get.send().await.unwrap().bytes(10).await;
    assert_eq!(error, Err(Error::TimedOut(Phase::Whole)));
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_a_file_that_has_changed_is_asked_for_once() {
    let changed =
        "HTTP/1.1 200 OK\r\netag: \"2\"\r\naccept-ranges: bytes\r\ncontent-length: 3\r\n\r\nnew";
    let (url, engine, requests) = breaks_off_and_answers(changed).await;
    let engine = engine.build().unwrap();
    let error = engine.get(&url).send().await.unwrap().bytes(10).await;
    assert!(matches!(error, Err(Error::Failed { .. })), "{error:?}");
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_that_is_not_to_be_sent_again_asks_for_the_rest_once() {
    let (url, engine, ranges) = server(|_, _| 10).await;
    let folder = tempfile::tempdir().unwrap();
    let meta = format!("{}\n{LENGTH}\n\"1\"\n", crate::common::url_digest(&url));
    std::fs::write(folder.path().join("file.part"), &body()[..FIRST]).unwrap();
    std::fs::write(folder.path().join("file.meta"), meta).unwrap();
    let engine = engine.build().unwrap();
    let get = engine.get(&url).resends(false);
    let error = get.download(folder.path().join("file")).await;
    assert!(matches!(error, Err(Error::Failed { .. })), "{error:?}");
    assert_eq!(ranges.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_malformed_or_contradicts_itself_is_not_taken() {
    for fields in [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "etag: \"2\"\r\n",
        "content-encoding: gzip\r\n",
    ] {
        let (url, engine, ranges) = server_with(fields, |asked, _| asked).await;
        let engine = engine.build().unwrap();
        let error = engine.get(&url).send().await.unwrap().bytes(LENGTH).await;
        assert!(matches!(error, Err(Error::Failed { .. })), "{error:?}");
        assert_eq!(ranges.load(Ordering::Relaxed), 1, "{fields}");
    }
}
