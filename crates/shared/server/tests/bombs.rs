//! Small messages that decode to far more: refused before they take memory.
//!
//! The only test of its binary, because it reads the peak of the whole process.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{client, polite_client_is_answered};
use messages::{Compression, Compressor};
use server::Config;

/// Decoded, each bomb would take 300 MB and more; server, client and the bombs themselves take
/// less than 60 MB.
const MEMORY_LIMIT_BYTES: u64 = 150 << 20;
/// Requests in parallel.
const CLIENTS: usize = 16;

/// Returns `Large` in each format, with as many empty elements as fit the limit of 4 MiB when
/// decompressed.
fn bombs() -> [(&'static str, Vec<u8>); 4] {
    let json = [&b"{\"things\":["[..], &b"{},".repeat(1_390_000), b"{}]}"].concat();
    let map = [
        &b"\x81\xa6things\xdd\x00\x3f\x00\x00"[..],
        &[0x80].repeat(0x3f_0000),
    ]
    .concat();
    let array = [
        &b"\x92\xc0\xdd\x00\x3f\x00\x00"[..],
        &[0x90].repeat(0x3f_0000),
    ]
    .concat();
    [
        ("application/protobuf", [0x12, 0x00].repeat(2 << 20)),
        ("application/json", json),
        ("application/vnd.msgpack", map),
        ("application/vnd.msgpack; form=array", array),
    ]
}

#[tokio::test]
async fn bombs_of_empty_elements_are_refused_with_little_memory() {
    let server = common::start(Config::default()).await;
    let tls = client::tls(&server);
    for (kind, bomb) in bombs() {
        for (encoding, compression) in [
            ("zstd", Compression::Zstd(3)),
            ("gzip", Compression::Gzip(6)),
        ] {
            let body = Compressor::new(compression).compress(bomb.clone());
            assert!(body.len() < 20_000, "{kind} {encoding}: {}", body.len());
            let requests = (0..CLIENTS).map(|_| {
                let mut request = client::request("POST", "/exchange/Large", 1, body.clone());
                let headers = request.headers_mut();
                headers.insert("content-type", kind.parse().unwrap());
                headers.insert("content-encoding", encoding.parse().unwrap());
                let (address, tls) = (server.address, tls.clone());
                tokio::spawn(async move {
                    let mut http = client::connect("http/1.1", address, &tls).await.unwrap();
                    http.call(request).await.unwrap()
                })
            });
            for answer in futures_util::future::join_all(requests).await {
                let answer = answer.unwrap();
                let text = String::from_utf8_lossy(answer.body());
                assert_eq!(answer.status(), 400, "{kind} {encoding}: {text}");
                assert!(text.contains("messages, lists and strings"), "{text}");
            }
            polite_client_is_answered(&server).await;
        }
    }
    let peak = peak_memory_bytes();
    assert!(peak < MEMORY_LIMIT_BYTES, "{} MiB", peak >> 20);
    server.stop().await;
}

/// Returns the largest resident memory of this process so far.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: u64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib << 10
}
