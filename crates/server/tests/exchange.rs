//! Messages of the codec bench, there and back over every protocol.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use bytes::Bytes;
use common::client::{self, PROTOCOLS, request};
use common::{Running, start};
use http::uri::PathAndQuery;
use http::{Request, StatusCode};
use server::Config;
use tonic::transport::Channel;
use wire::{Codec, Compression, Compressor, Form, Kind, Message, Name, PassThrough};

/// All that the server can tell apart: it sees no level.
fn codecs() -> impl Iterator<Item = Codec> {
    let compressions = [
        Compression::None,
        Compression::Gzip(6),
        Compression::Zstd(3),
    ];
    let with = move |form| compressions.map(|compression| Codec { form, compression });
    Form::ALL.into_iter().flat_map(with)
}

/// One of every kind, but for those too large to send so often.
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
    let kind = codec.form.media_type();
    headers.insert("content-type", kind.parse().unwrap());
    if let Some(token) = codec.compression.token() {
        headers.insert("content-encoding", token.parse().unwrap());
        headers.insert("accept-encoding", token.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn every_codec_comes_back_equal_over_every_protocol() {
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
                assert_eq!(headers["content-type"], codec.form.media_type());
                let encoding = headers.get("content-encoding").map(|v| v.to_str().unwrap());
                assert_eq!(encoding, codec.compression.token());
                assert_eq!(headers["content-length"], answer.body().len().to_string());
                let back = coder.decode(message.kind(), answer.body()).unwrap();
                assert_eq!(back, message, "{protocol} {codec}");
            }
        }
    }
    let log = server.stop().await;
    for (hit, id) in log.requests().iter().zip(1..) {
        let (codec, bytes) = &sent[id as usize - 1];
        assert_eq!(hit.id, Some(id));
        assert_eq!(hit.codec, Some(codec.to_string()));
        assert_eq!(hit.request_bytes, *bytes, "{hit:?}");
        let worked_ns = hit.decode_ns.unwrap() + hit.encode_ns.unwrap();
        assert!(0 < worked_ns && worked_ns <= hit.end_ns - hit.start_ns);
    }
    assert_eq!(log.requests().len(), sent.len());
}

#[tokio::test]
async fn grpc_exchanges_every_kind_and_logs_the_messages_without_framing() {
    let server = start(Config::default()).await;
    let mut grpc = grpc(&server).await;
    let mut coder = Codec::plain(Form::Protobuf).coder();
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
    for (hit, message) in log.requests().iter().zip(&messages) {
        let bytes = coder.encode(message).len() as u64;
        assert_eq!((hit.protocol.as_str(), hit.status), ("grpc", 0));
        assert_eq!((hit.request_bytes, hit.response_bytes), (bytes, bytes));
        assert_eq!(hit.request_digest, hit.response_digest);
        assert_eq!(hit.codec.as_deref(), Some("protobuf"));
    }
    let refused = &log.requests()[messages.len()..];
    assert!(
        refused
            .iter()
            .all(|hit| hit.status > 0 && hit.codec.is_none())
    );
}

#[tokio::test]
async fn what_cannot_be_exchanged_is_refused_with_the_way_out() {
    let server = start(Config::default()).await;
    let tls = client::tls(&server);
    let json = Codec::plain(Form::Json);
    let whole = json.coder().encode(&message("api-2kB"));
    let gzip = |bytes: Vec<u8>| Compressor::new(Compression::Gzip(6)).compress(bytes);
    let zstd = |bytes: Vec<u8>| Compressor::new(Compression::Zstd(3)).compress(bytes);
    let named = |kind: &str, encoding: &str| {
        let mut request = exchange(json, Kind::ApiPage, 1, whole.clone());
        let headers = request.headers_mut();
        headers.insert("content-type", kind.parse().unwrap());
        if !encoding.is_empty() {
            headers.insert("content-encoding", encoding.parse().unwrap());
        }
        request
    };
    let of = |form, compression| Codec { form, compression };
    let (gzipped, zstdded) = (
        of(Form::Json, Compression::Gzip(6)),
        of(Form::Protobuf, Compression::Zstd(3)),
    );
    let truncated = |codec: Codec| {
        let bytes = codec.coder().encode(&message("api-2kB"));
        exchange(codec, Kind::ApiPage, 1, bytes[..bytes.len() - 9].to_vec())
    };
    let mut bare = request("POST", "/exchange/ApiPage", 1, whole.clone());
    bare.headers_mut().remove("content-type");
    let bomb = vec![b' '; 5 << 20];
    let deep = format!("{{\"x\":{}", "[".repeat(100_000));
    let cases = [
        (bare, 415, "application/vnd.msgpack; form=array"),
        (named("text/html", ""), 415, "no form has"),
        (named("application/json", "br"), 415, "gzip and zstd"),
        (
            named("application/json", "gzip, gzip"),
            415,
            "gzip and zstd",
        ),
        (named("application/json", "gzip"), 400, "not gzip"),
        (
            named("application/protobuf", ""),
            400,
            "no ApiPage in protobuf",
        ),
        (truncated(json), 400, "EOF"),
        (truncated(Codec::plain(Form::Protobuf)), 400, "no ApiPage"),
        (truncated(Codec::plain(Form::Msgpack)), 400, "no ApiPage"),
        (truncated(gzipped), 400, "not gzip"),
        (truncated(zstdded), 400, "not zstd"),
        (
            exchange(json, Kind::Big, 1, whole.clone()),
            400,
            "no Big in json",
        ),
        (exchange(json, Kind::Big, 1, ""), 400, "no Big in json"),
        (exchange(json, Kind::Big, 1, deep), 400, "no Big in json"),
        (exchange(json, Kind::Big, 1, bomb.clone()), 413, "longer"),
        (
            exchange(gzipped, Kind::Big, 1, gzip(bomb.clone())),
            400,
            "unfolds",
        ),
        (exchange(zstdded, Kind::Big, 1, zstd(bomb)), 400, "unfolds"),
        (request("POST", "/exchange/Nothing", 1, ""), 404, "ApiPage"),
        (request("GET", "/exchange/Big", 1, ""), 405, ""),
        (
            request("POST", "/commute.bench.v1.Exchange/Big", 1, ""),
            415,
            "/exchange/{kind}",
        ),
    ];
    for protocol in PROTOCOLS {
        for (request, status, words) in &cases {
            let mut http = client::connect(protocol, server.address, &tls)
                .await
                .unwrap();
            let answer = http.call(request.clone()).await.unwrap();
            let text = String::from_utf8_lossy(answer.body());
            let status = StatusCode::from_u16(*status).unwrap();
            assert_eq!(answer.status(), status, "{protocol} {request:?} {text}");
            assert!(text.contains(words), "{protocol} {text:?}: {words:?}");
        }
    }
    // What was refused has left it whole.
    let mut http = client::connect("h2", server.address, &tls).await.unwrap();
    let answer = http.call(exchange(json, Kind::ApiPage, 1, whole)).await;
    assert_eq!(answer.unwrap().status(), 200);
    server.stop().await;
}

async fn grpc(server: &Running) -> tonic::client::Grpc<Channel> {
    let channel = client::grpc(server.address, &client::tls(server)).await;
    tonic::client::Grpc::new(channel.unwrap())
}

async fn unary(
    grpc: &mut tonic::client::Grpc<Channel>,
    method: &str,
    message: Vec<u8>,
) -> Result<Bytes, tonic::Status> {
    grpc.ready().await.unwrap();
    let path = PathAndQuery::try_from(format!("{}/{method}", wire::EXCHANGE)).unwrap();
    let request = tonic::Request::new(Bytes::from(message));
    let answer = grpc.unary(request, path, PassThrough).await?;
    Ok(answer.into_inner())
}
