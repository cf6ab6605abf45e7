//! Every protocol end to end: the same requests, content and log.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::num::NonZeroU16;

use crate::common::client::{self, PROTOCOLS, request};
use bytes::Bytes;
use futures_util::StreamExt;
use http::StatusCode;
use messages::v1::bench_client::BenchClient;
use messages::v1::{Chunk, DownloadRequest, EchoRequest};
use server::Config;
use server_log::{RequestEvent, Transport};

const MESSAGE: &[u8] = br#"{"start_ts":1763757325123}"#;
const IMAGE: u64 = 163_763;

#[tokio::test]
async fn http_routes_answer_the_same_over_every_protocol() {
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    let mut image = vec![0; IMAGE as usize];
    messages::fill(0, &mut image);
    let image = Bytes::from(image);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();

        let echo = http
            .call(request("POST", "/echo", 1, MESSAGE))
            .await
            .unwrap();
        assert_eq!(
            (echo.status(), &echo.body()[..]),
            (StatusCode::OK, MESSAGE),
            "{protocol}"
        );

        let path = format!("/bytes/{IMAGE}");
        let file = http.call(request("GET", &path, 2, "")).await.unwrap();
        assert_eq!(file.body(), &image, "{protocol}");
        assert_eq!(file.headers()["content-length"], "163763", "{protocol}");
        assert!(!file.headers().contains_key("date") && !file.headers().contains_key("alt-svc"));

        let put = http
            .call(request("PUT", "/upload", 3, image.clone()))
            .await
            .unwrap();
        let expected = format!(
            r#"{{"bytes":{IMAGE},"sha256":"{}"}}"#,
            messages::digest_of(IMAGE)
        );
        assert_eq!(put.body(), &expected, "{protocol}");

        let mut part = request("GET", &path, 4, "");
        part.headers_mut()
            .insert("range", "bytes=1000-1999".parse().unwrap());
        let part = http.call(part).await.unwrap();
        assert_eq!(part.status(), StatusCode::PARTIAL_CONTENT, "{protocol}");
        assert_eq!(
            part.headers()["content-range"],
            "bytes 1000-1999/163763",
            "{protocol}"
        );
        assert_eq!(part.body(), &image.slice(1000..2000), "{protocol}");

        let health = http.call(request("GET", "/health", 5, "")).await.unwrap();
        assert_eq!(health.body(), "ok\n", "{protocol}");
    }
    let log = server.stop().await;
    assert_eq!(log.connections().len(), PROTOCOLS.len());
    for (protocol, connection) in PROTOCOLS.iter().zip(log.connections()) {
        assert_eq!(connection.alpn, *protocol);
        let transport = if *protocol == "h3" {
            Transport::Quic
        } else {
            Transport::Tcp
        };
        assert_eq!(connection.transport, transport);
        let requests: Vec<&RequestEvent> = log
            .requests()
            .into_iter()
            .filter(|request| request.connection == connection.connection)
            .collect();
        let ids: Vec<_> = requests.iter().map(|request| request.id.unwrap()).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5], "{protocol}");
        for request in &requests {
            assert_eq!(request.protocol, *protocol);
            assert!(!request.broken && !request.early_data, "{request:?}");
            let times = [
                Some(connection.at_ns),
                Some(request.start_ns),
                request.received_ns,
                request.responded_ns,
                Some(request.end_ns),
            ];
            assert!(times.is_sorted() && !times.contains(&None), "{request:?}");
            // An empty body has been read when the head has.
            assert_eq!(
                request.received_ns == Some(request.start_ns),
                request.request_bytes == 0
            );
        }
        assert_eq!(
            (requests[0].request_bytes, requests[0].response_bytes),
            (26, 26)
        );
        assert_eq!(requests[0].request_digest, requests[0].response_digest);
        assert_eq!(requests[1].path, format!("/bytes/{IMAGE}"));
        assert_eq!(requests[1].response_bytes, IMAGE);
        assert_eq!(requests[1].response_digest, messages::digest_of(IMAGE));
        assert_eq!(requests[2].request_digest, messages::digest_of(IMAGE));
        assert_eq!(
            (requests[3].status, requests[3].response_bytes),
            (206, 1000)
        );
    }
}

#[tokio::test]
async fn grpc_content_is_logged_without_framing() {
    let server = crate::common::start(Config::default()).await;
    let channel = client::grpc(server.address, &client::tls(&server))
        .await
        .unwrap();
    let mut bench = BenchClient::new(channel);
    let message = EchoRequest {
        start_ts: 1_763_757_325_123,
        padding: String::new(),
    };

    let mut call = tonic::Request::new(message.clone());
    call.metadata_mut()
        .insert("x-commute-id", "7".parse().unwrap());
    let reply = bench.echo(call).await.unwrap().into_inner();
    assert_eq!(
        (reply.start_ts, reply.padding),
        (message.start_ts, String::new())
    );

    let chunks = bench
        .download(DownloadRequest { bytes: IMAGE })
        .await
        .unwrap()
        .into_inner();
    let file: Vec<u8> = chunks
        .flat_map(|c| futures_util::stream::iter(c.unwrap().data))
        .collect()
        .await;
    let mut expected = vec![0; IMAGE as usize];
    messages::fill(0, &mut expected);
    assert!(file == expected);

    let chunks: Vec<Chunk> = expected
        .chunks(10_000)
        .map(|chunk| Chunk {
            data: Bytes::copy_from_slice(chunk),
            ..Chunk::default()
        })
        .collect();
    let reply = bench
        .upload(futures_util::stream::iter(chunks))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (reply.bytes, reply.sha256),
        (IMAGE, messages::digest_of(IMAGE))
    );

    let messages = futures_util::stream::iter(vec![message; 5]);
    let replies = bench.chat(messages).await.unwrap().into_inner();
    assert_eq!(
        replies
            .map(|reply| reply.unwrap().start_ts)
            .collect::<Vec<_>>()
            .await
            .len(),
        5
    );

    let too_large = bench
        .download(DownloadRequest { bytes: u64::MAX })
        .await
        .unwrap_err();
    assert_eq!(too_large.code(), tonic::Code::OutOfRange);

    drop(bench);
    let log = server.stop().await;
    let requests = log.requests();
    assert!(
        requests
            .iter()
            .all(|request| request.protocol == "grpc" && !request.broken)
    );
    let of = |method: &str| {
        let path = format!("/commute.v1.Bench/{method}");
        *requests
            .iter()
            .find(|request| request.path == path)
            .unwrap()
    };
    assert_eq!((of("Echo").id, of("Echo").status), (Some(7), 0));
    assert_eq!(
        (of("Echo").request_bytes, of("Echo").response_bytes),
        (7, 7)
    );
    assert_eq!(of("Download").response_digest, messages::digest_of(IMAGE));
    assert_eq!(of("Download").response_bytes, IMAGE);
    assert_eq!(of("Upload").request_digest, messages::digest_of(IMAGE));
    assert_eq!(
        (of("Chat").request_bytes, of("Chat").response_bytes),
        (35, 35)
    );
    assert_eq!(
        requests.last().unwrap().status,
        tonic::Code::OutOfRange as u16
    );
}

#[tokio::test]
async fn alt_svc_is_sent_over_tcp_only() {
    for elsewhere in [None, NonZeroU16::new(9)] {
        let server = crate::common::start(Config {
            alt_svc: true,
            alt_svc_port: elsewhere,
            ..Config::default()
        })
        .await;
        let tls = client::tls(&server);
        let port = elsewhere.map_or(server.address.port(), NonZeroU16::get);
        let expected = format!("h3=\":{port}\"; ma=86400");
        for protocol in PROTOCOLS {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let response = http.call(request("GET", "/health", 1, "")).await.unwrap();
            let alt_svc = response
                .headers()
                .get("alt-svc")
                .map(|value| value.to_str().unwrap());
            assert_eq!(
                alt_svc,
                (protocol != "h3").then_some(&*expected),
                "{protocol}"
            );
        }
        server.stop().await;
    }
}
