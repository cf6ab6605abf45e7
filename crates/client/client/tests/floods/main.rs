//! Servers that send without end: each request ends in time, takes little memory and disturbs no other.
//!
//! The only test of its binary, because it measures the heap of the whole process. The bytes are written by hand, because
//! no server library sends them.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

#[path = "../common/mod.rs"]
mod common;
mod tables;

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::{Engine, Policy};
use common::by_hand::{Listener, self_signed};
use quinn::crypto::rustls::QuicServerConfig;
use tables::{Flood, flood, h2, h2_frame, over_http_1, over_http_2, over_http_3};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// A request has this long. On a busy machine its end comes later, since the engine reads up to a window of a stream at
/// once: 350,000 of the smallest frames.
const TIME_LIMIT: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);
/// More than any limit of the client's, and few enough for a second.
const FLOOD_BYTES: usize = 16 << 20;
/// What a server over QUIC keeps of what it has sent.
const SEND_WINDOW_BYTES: u64 = 256 << 10;
const MAX_BODY_BYTES: usize = 1 << 20;

static HELD_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: it only counts what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD_BYTES.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK_BYTES.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Writes a flood until the client ends it. Reads what the client sends meanwhile.
async fn pour(stream: impl AsyncRead + AsyncWrite + Send + 'static, flood: &Flood) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let reading = tokio::spawn(async move {
        let mut part = [0; 4_096];
        while reader.read(&mut part).await.is_ok_and(|bytes| bytes > 0) {}
    });
    pour_into(&mut writer, flood).await;
    // Afterwards it is silent until the client gives up.
    reading.await.unwrap();
}

async fn pour_into(writer: &mut (impl AsyncWrite + Unpin), flood: &Flood) {
    let rounds = (16_000 / flood.round.len()).max(1);
    let part = flood.round.repeat(rounds);
    writer.write_all(&flood.opening).await.ok();
    for _ in 0..FLOOD_BYTES / part.len() {
        if writer.write_all(&part).await.is_err() {
            return;
        }
    }
    writer.flush().await.ok();
}

async fn serve_http_1(listener: Listener, flood: Arc<Flood>) {
    loop {
        let mut stream = listener.accept_whole().await;
        let flood = Arc::clone(&flood);
        tokio::spawn(async move {
            if stream
                .read(&mut [0; 4_096])
                .await
                .is_ok_and(|bytes| bytes > 0)
            {
                pour(stream, &flood).await;
            }
        });
    }
}

async fn serve_http_2(listener: Listener, flood: Arc<Flood>) {
    loop {
        let mut stream = listener.accept_whole().await;
        let flood = Arc::clone(&flood);
        tokio::spawn(async move {
            let settings = [
                h2_frame(h2::SETTINGS, 0, 0, b""),
                h2_frame(h2::SETTINGS, 1, 0, b""),
            ];
            stream.write_all(&settings.concat()).await.ok();
            stream.flush().await.ok();
            // The preface, then frames up to the request.
            stream.read_exact(&mut [0; 24]).await.ok();
            let mut head = [0; 9];
            while stream.read_exact(&mut head).await.is_ok() {
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                let mut payload = vec![0; length as usize];
                stream.read_exact(&mut payload).await.ok();
                if head[3] == h2::HEADERS {
                    return pour(stream, &flood).await;
                }
            }
        });
    }
}

async fn serve_http_3(endpoint: quinn::Endpoint, flood: Arc<Flood>, of_control: bool) {
    while let Some(incoming) = endpoint.accept().await {
        let flood = Arc::clone(&flood);
        tokio::spawn(async move {
            let quic = incoming.await.unwrap();
            let mut control = quic.open_uni().await.unwrap();
            control.write_all(b"\0\x04\0").await.ok();
            while let Ok((mut send, mut recv)) = quic.accept_bi().await {
                recv.read_to_end(1 << 16).await.ok();
                match of_control {
                    true => pour_into(&mut control, &flood).await,
                    false => pour_into(&mut send, &flood).await,
                }
                // Not finished: the response has no end.
                quic.closed().await;
            }
        });
    }
}

/// Two servers: one that floods, another that answers.
struct Urls<'a> {
    flooding: &'a str,
    polite: &'a str,
}

/// Sends a request to a flooding server, and reads what comes. Returns what is wrong.
async fn ask(
    name: &str,
    memory_bytes: usize,
    engine: &Engine,
    urls: Urls<'_>,
    policy: Policy,
) -> Option<String> {
    let before = HELD_BYTES.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    let request = engine
        .get(urls.flooding)
        .policy(policy)
        .time_limit(TIME_LIMIT);
    let flooded = async {
        match request.send().await {
            Ok(response) => response.bytes(MAX_BODY_BYTES).await.map(drop),
            Err(error) => Err(error),
        }
    };
    let other = async {
        let response = engine
            .get(urls.polite)
            .policy(Policy::H1)
            .send()
            .await
            .unwrap();
        response.bytes(MAX_BODY_BYTES).await.unwrap()
    };
    let (flooded, other) = tokio::join!(timeout(PATIENCE, flooded), timeout(PATIENCE, other));
    let taken = PEAK_BYTES.load(Ordering::Relaxed).saturating_sub(before);
    println!("{name}: {flooded:?}, {} kB", taken >> 10);
    match flooded {
        Err(_) => Some(format!("{name}: the request does not end")),
        _ if other.is_err() => Some(format!("{name}: another request does not end")),
        _ if taken > memory_bytes => Some(format!("{name}: {} kB of memory", taken >> 10)),
        Ok(_) => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn floods_end_in_time_and_take_little_memory() {
    let (config, builder) = self_signed(&[b"http/1.1"]);
    let polite = Listener::new(config.clone()).await;
    let polite_url = polite.url();
    let answer = flood("", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "");
    tokio::spawn(async move {
        loop {
            let mut stream = polite.accept_whole().await;
            if stream
                .read(&mut [0; 4_096])
                .await
                .is_ok_and(|bytes| bytes > 0)
            {
                stream.write_all(&answer.opening).await.ok();
                stream.shutdown().await.ok();
            }
        }
    });
    let engine = builder.build().unwrap();
    let with_alpn = |alpn: &[u8]| {
        let mut config = config.clone();
        config.alpn_protocols = vec![alpn.to_vec()];
        config
    };
    let mut wrong = Vec::new();
    let mut floods: Vec<(String, Flood, Policy, bool)> = Vec::new();
    let of = |protocol: &str, flood: &Flood| format!("{protocol}, {}", flood.name);
    for flood in over_http_1() {
        floods.push((of("HTTP/1.1", &flood), flood, Policy::H1, false));
    }
    for flood in over_http_2() {
        floods.push((of("HTTP/2", &flood), flood, Policy::H2, false));
    }
    let [of_stream, of_control] = over_http_3();
    for flood in of_stream {
        floods.push((of("HTTP/3", &flood), flood, Policy::H3, false));
    }
    for flood in of_control {
        let name = of("HTTP/3, control stream", &flood);
        floods.push((name, flood, Policy::H3, true));
    }
    for (name, flood, policy, of_control) in floods {
        let (memory_bytes, flood) = (flood.memory_bytes, Arc::new(flood));
        let (url, server) = match policy {
            Policy::H3 => {
                let endpoint = endpoint(with_alpn(b"h3"));
                let port = endpoint.local_addr().unwrap().port();
                let serving = serve_http_3(endpoint, flood, of_control);
                (format!("https://localhost:{port}/"), tokio::spawn(serving))
            }
            Policy::H2 => {
                let listener = Listener::new(with_alpn(b"h2")).await;
                (listener.url(), tokio::spawn(serve_http_2(listener, flood)))
            }
            _ => {
                let listener = Listener::new(with_alpn(b"http/1.1")).await;
                (listener.url(), tokio::spawn(serve_http_1(listener, flood)))
            }
        };
        let urls = Urls {
            flooding: &url,
            polite: &polite_url,
        };
        wrong.extend(ask(&name, memory_bytes, &engine, urls, policy).await);
        server.abort();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn endpoint(config: rustls::ServerConfig) -> quinn::Endpoint {
    let crypto = QuicServerConfig::try_from(config).unwrap();
    let mut transport = quinn::TransportConfig::default();
    transport.send_window(SEND_WINDOW_BYTES);
    let mut quic = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    quic.transport_config(Arc::new(transport));
    quinn::Endpoint::server(quic, (Ipv4Addr::LOCALHOST, 0).into()).unwrap()
}
