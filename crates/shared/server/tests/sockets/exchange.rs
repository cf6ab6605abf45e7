//! Exchanges of the codec bench's messages over every protocol.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::client::{self, PROTOCOLS, request};
use crate::common::{TestServer, start};
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Request, StatusCode};
use messages::{Codec, Compression, Compressor, Format, Kind, Message, Name, PassThrough};
use server::{Config, Limits};
use tonic::transport::Channel;

/// Returns every codec that the server distinguishes: it does not see compression levels.
fn codecs() -> impl Iterator<Item = Codec> {
    let compressions = [
        Compression::None,
        Compression::Gzip(6),
        Compression::Zstd(3),
    ];
    let with = move |format| {
        compressions.map(|compression| Codec {
            format,
            compression,
        })
    };
    Format::ALL.into_iter().flat_map(with)
}

/// Returns one message of every kind, except those too large to send this often.
fn messages() -> Vec<Message> {
    let names = ["small", "address-book", "newsfeed", "large", "big-7"].into_iter();
    let names = names.chain(["perl-3", "api-2kB"]);
    names.map(message).collect()
}

fn message(name: &str) -> Message {
    name.parse::<Name>().unwrap().message(1)
}

fn exchange(codec: Codec, kind: Kind, id: u32, body: impl Into<Bytes>) -> Request<Bytes> {
    let path = format!("/exchange/{}", kind.name());
    let mut request = request("POST", &path, id, body);
    let headers = request.headers_mut();
    let kind = codec.format.content_type();
    headers.insert("content-type", kind.parse().unwrap());
    if let Some(token) = codec.compression.content_encoding() {
        headers.insert("content-encoding", token.parse().unwrap());
        headers.insert("accept-encoding", token.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn every_codec_round_trips_over_every_protocol() {
    let server = start(Config::default()).await;
    let tls = client::tls(&server);
    let mut sent = Vec::new();
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        for codec in codecs() {
            let mut coder = codec.coder();
            for message in messages() {
                let id = sent.len() as u32 + 1;
                let body = coder.encode(&message);
                sent.push((codec, body.len() as u64));
                let request = exchange(codec, message.kind(), id, body);
                let answer = http.call(request).await.unwrap();
                assert_eq!(answer.status(), 200, "{protocol} {codec}");
                let headers = answer.headers();
                assert_eq!(headers["content-type"], codec.format.content_type());
                let encoding = headers.get("content-encoding").map(|v| v.to_str().unwrap());
                assert_eq!(encoding, codec.compression.content_encoding());
                assert_eq!(headers["content-length"], answer.body().len().to_string());
                let decoded = coder.decode(message.kind(), answer.body()).unwrap();
                assert_eq!(decoded, message, "{protocol} {codec}");
            }
        }
    }
    let log = server.stop().await;
    for (logged, id) in log.requests().iter().zip(1..) {
        let (codec, bytes) = &sent[id as usize - 1];
        assert_eq!(logged.id, Some(id));
        assert_eq!(logged.codec, Some(codec.to_string()));
        assert_eq!(logged.request_bytes, *bytes, "{logged:?}");
        let codec_ns = logged.decode_ns.unwrap() + logged.encode_ns.unwrap();
        assert!(0 < codec_ns && codec_ns <= logged.end_ns - logged.start_ns);
    }
    assert_eq!(log.requests().len(), sent.len());
}

#[tokio::test]
async fn grpc_exchanges_every_kind_and_logs_it_without_framing() {
    let server = start(Config::default()).await;
    let mut grpc = grpc(&server).await;
    let mut coder = Codec::plain(Format::Protobuf).coder();
    let messages = [messages(), vec![message("diag-1MB")]].concat();
    for message in &messages {
        let body = coder.encode(message);
        let answer = unary(&mut grpc, message.kind().name(), body).await.unwrap();
        assert_eq!(coder.decode(message.kind(), &answer).unwrap(), *message);
    }
    let unknown = unary(&mut grpc, "Nothing", Vec::new()).await.unwrap_err();
    assert_eq!(unknown.code(), tonic::Code::Unimplemented);
    assert!(unknown.message().contains("ApiPage"), "{unknown}");
    let broken = unary(&mut grpc, "ApiPage", vec![0xff]).await.unwrap_err();
    assert_eq!(broken.code(), tonic::Code::InvalidArgument);
    let log = server.stop().await;
    for (logged, message) in log.requests().iter().zip(&messages) {
        let bytes = coder.encode(message).len() as u64;
        assert_eq!((logged.protocol.as_str(), logged.status), ("grpc", 0));
        assert_eq!(
            (logged.request_bytes, logged.response_bytes),
            (bytes, bytes)
        );
        assert_eq!(logged.request_digest, logged.response_digest);
        assert_eq!(logged.codec.as_deref(), Some("protobuf"));
    }
    let refused = &log.requests()[messages.len()..];
    assert!(
        refused
            .iter()
            .all(|logged| logged.status > 0 && logged.codec.is_none())
    );
}

#[tokio::test]
async fn invalid_exchanges_are_rejected_with_a_hint() {
    let server = start(Config::default()).await;
    let tls = client::tls(&server);
    let json = Codec::plain(Format::Json);
    let valid = json.coder().encode(&message("api-2kB"));
    let gzip = |bytes: Vec<u8>| Compressor::new(Compression::Gzip(6)).compress(bytes);
    let zstd = |bytes: Vec<u8>| Compressor::new(Compression::Zstd(3)).compress(bytes);
    let labelled = |kind: &str, encoding: &str| {
        let mut request = exchange(json, Kind::ApiPage, 1, valid.clone());
        let headers = request.headers_mut();
        headers.insert("content-type", kind.parse().unwrap());
        if !encoding.is_empty() {
            headers.insert("content-encoding", encoding.parse().unwrap());
        }
        request
    };
    let of = |format, compression| Codec {
        format,
        compression,
    };
    let (gzipped, zstdded) = (
        of(Format::Json, Compression::Gzip(6)),
        of(Format::Protobuf, Compression::Zstd(3)),
    );
    let truncated = |codec: Codec| {
        let bytes = codec.coder().encode(&message("api-2kB"));
        exchange(codec, Kind::ApiPage, 1, bytes[..bytes.len() - 9].to_vec())
    };
    let mut untyped = request("POST", "/exchange/ApiPage", 1, valid.clone());
    untyped.headers_mut().remove("content-type");
    let bomb = vec![b' '; 5 << 20];
    // A frame header (RFC 8878 section 3.1.1.1) that asks for a window of 1 GiB, and an empty block.
    let window = b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00".to_vec();
    let deep = format!("{{\"x\":{}", "[".repeat(100_000));
    let cases = [
        (untyped, 415, "application/vnd.msgpack; form=array"),
        (labelled("text/html", ""), 415, "text/html"),
        (labelled("application/json", "br"), 415, "zstd"),
        (labelled("application/json", "gzip, gzip"), 415, "zstd"),
        (labelled("application/json", "gzip"), 400, "gzip"),
        (labelled("application/protobuf", ""), 400, "ApiPage"),
        (truncated(json), 400, "EOF"),
        (truncated(Codec::plain(Format::Protobuf)), 400, "ApiPage"),
        (truncated(Codec::plain(Format::Msgpack)), 400, "ApiPage"),
        (truncated(gzipped), 400, "gzip"),
        (truncated(zstdded), 400, "zstd"),
        (exchange(json, Kind::Big, 1, valid.clone()), 400, "Big"),
        (exchange(json, Kind::Big, 1, ""), 400, "Big"),
        (exchange(json, Kind::Big, 1, deep), 400, "Big"),
        (exchange(json, Kind::Big, 1, bomb.clone()), 413, "exceeds"),
        (
            exchange(gzipped, Kind::Big, 1, gzip(bomb.clone())),
            400,
            "4194304",
        ),
        (exchange(zstdded, Kind::Big, 1, zstd(bomb)), 400, "4194304"),
        (exchange(zstdded, Kind::Big, 1, window), 400, "zstd"),
        (request("POST", "/exchange/Nothing", 1, ""), 404, "ApiPage"),
        (request("GET", "/exchange/Big", 1, ""), 405, ""),
        (
            request("POST", "/commute.bench.v1.Exchange/Big", 1, ""),
            415,
            "/exchange/{kind}",
        ),
    ];
    for protocol in PROTOCOLS {
        for (request, status, hint) in &cases {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let answer = http.call(request.clone()).await.unwrap();
            let text = String::from_utf8_lossy(answer.body());
            let status = StatusCode::from_u16(*status).unwrap();
            assert_eq!(answer.status(), status, "{protocol} {request:?} {text}");
            assert!(text.contains(hint), "{protocol} {text:?}: {hint:?}");
        }
    }
    // The server still works.
    let mut http = client::connect("h2", server.address, &tls).await.unwrap();
    let answer = http.call(exchange(json, Kind::ApiPage, 1, valid)).await;
    assert_eq!(answer.unwrap().status(), 200);
    server.stop().await;
}

#[test]
fn every_message_of_the_bench_is_far_below_the_limit_of_elements() {
    let limit = Limits::default().exchange_elements / 2;
    let large = ["big-1000", "perl-100"].map(|name| name.parse::<Name>().unwrap());
    for name in Name::ALL.into_iter().chain(large) {
        for format in Format::ALL {
            let bytes = Codec::plain(format).coder().encode(&name.message(1));
            let checked = format.check_elements(&bytes, limit);
            assert!(checked.is_ok(), "{name} {format}: {checked:?}");
        }
    }
}

async fn grpc(server: &TestServer) -> tonic::client::Grpc<Channel> {
    let channel = client::grpc(server.address, &client::tls(server)).await;
    tonic::client::Grpc::new(channel.unwrap())
}

async fn unary(
    grpc: &mut tonic::client::Grpc<Channel>,
    method: &str,
    message: Vec<u8>,
) -> Result<Bytes, tonic::Status> {
    grpc.ready().await.unwrap();
    let path = PathAndQuery::try_from(format!("{}/{method}", messages::EXCHANGE)).unwrap();
    let request = tonic::Request::new(Bytes::from(message));
    let answer = grpc.unary(request, path, PassThrough).await?;
    Ok(answer.into_inner())
}
