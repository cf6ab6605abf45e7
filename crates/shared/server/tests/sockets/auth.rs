//! Requests must prove who sends them, over every protocol; whatever was changed on the way is refused.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::client::{self, PROTOCOLS, request};
use crate::common::signing::{
    self, Grpc, chunk, diag, now_s, requests, sign_http, sign_http_at, signed_chunks,
};
use crate::common::{TestServer, start};
use bytes::Bytes;
use http::{HeaderMap, Request};
use messages::bench::Receipt;
use messages::{Codec, Format, Name};
use prost::Message as _;
use server::{AuthScheme, Config, Limits};
use sign::Key;
use tonic::Code;

const ECHO: &str = "/commute.v1.Bench/Echo";
const UPLOAD: &str = "/commute.v1.Bench/Upload";
const CHAT: &str = "/commute.v1.Bench/Chat";
const EXCHANGE: &str = "/commute.bench.v1.Exchange/Diag";
const SUBMIT: &str = "/commute.bench.v1.Submit/Diag";
const SUBMIT_STREAM: &str = "/commute.bench.v1.Submit/DiagStream";

async fn start_with(auth: AuthScheme) -> TestServer {
    let auth = Some(auth);
    start(Config {
        auth,
        ..Config::default()
    })
    .await
}

fn bearer(token: &str) -> HeaderMap {
    let value = format!("Bearer {token}").parse().unwrap();
    HeaderMap::from_iter([(http::header::AUTHORIZATION, value)])
}

/// Adds the right proof of either scheme to a request.
fn prove(server: &TestServer, scheme: AuthScheme, mut request: Request<Bytes>) -> Request<Bytes> {
    match scheme {
        AuthScheme::Hmac => sign_http(request, &signing::key(server)),
        AuthScheme::Jwt => {
            let headers = bearer(&signing::token(server));
            request.headers_mut().extend(headers);
            request
        }
    }
}

#[tokio::test]
async fn every_protocol_takes_both_schemes() {
    for scheme in [AuthScheme::Jwt, AuthScheme::Hmac] {
        let server = start_with(scheme).await;
        let tls = client::tls(&server);
        for protocol in PROTOCOLS {
            let connected = client::connect(protocol, server.address, &tls).await;
            let mut http = connected.unwrap();
            for request in requests() {
                let path = request.uri().path().to_owned();
                let answer = http.call(prove(&server, scheme, request)).await.unwrap();
                assert_eq!(answer.status(), 200, "{protocol} {path} {answer:?}");
                if path == "/submit/Diag" {
                    let receipt = format!("{{\"bytes\":{}}}", diag(Format::Protobuf).len());
                    assert_eq!(answer.body(), receipt.as_bytes());
                }
            }
        }
        let mut grpc = Grpc::connect(&server).await;
        let proof = |grpc: &Grpc, path, message: Option<&[u8]>| match scheme {
            AuthScheme::Jwt => (bearer(&signing::token(&server)), [0; 32]),
            AuthScheme::Hmac => grpc.signed(path, message, &signing::key(&server)),
        };
        let diag = diag(Format::Protobuf);
        for (path, message) in [
            (ECHO, Bytes::from_static(&[8, 5])),
            (ECHO, Bytes::new()),
            (EXCHANGE, diag.clone()),
            (SUBMIT, diag.clone()),
        ] {
            let (metadata, _) = proof(&grpc, path, Some(&message));
            grpc.unary(path, message, metadata).await.unwrap();
        }
        for path in [UPLOAD, SUBMIT_STREAM] {
            let parts = [diag.clone(), diag.clone(), Bytes::new()];
            let (metadata, head) = proof(&grpc, path, None);
            let chunks = match scheme {
                AuthScheme::Jwt => parts.iter().map(|part| chunk(part, &[])).collect(),
                AuthScheme::Hmac => signed_chunks(&parts, &signing::key(&server), head),
            };
            let receipt = grpc.stream(path, chunks, metadata).await.unwrap();
            // An upload's reply begins alike.
            let receipt = Receipt::decode(receipt).unwrap();
            assert_eq!(receipt.bytes, 2 * diag.len() as u64);
        }
        let log = server.stop().await;
        assert_eq!(log.requests().len(), PROTOCOLS.len() * 5 + 6);
        for logged in log.requests() {
            assert_eq!(logged.auth.as_deref(), Some(scheme.name()), "{logged:?}");
            let verify_ns = logged.verify_ns.unwrap();
            assert!(0 < verify_ns && verify_ns <= logged.end_ns - logged.start_ns);
            let decoded = logged.path.contains("xchange") || logged.path.contains("ubmit");
            assert_eq!(logged.decode_ns.is_some(), decoded, "{logged:?}");
            assert_eq!(logged.codec.is_some(), decoded);
            assert_eq!(logged.encode_ns.is_some(), logged.path.contains("xchange"));
        }
    }
}

#[tokio::test]
async fn without_proof_only_health_is_answered() {
    for scheme in [AuthScheme::Jwt, AuthScheme::Hmac] {
        let server = start_with(scheme).await;
        let tls = client::tls(&server);
        let nowhere = request("GET", "/nowhere", 9, "");
        for protocol in PROTOCOLS {
            for request in requests().into_iter().chain([nowhere.clone()]) {
                let connected = client::connect(protocol, server.address, &tls).await;
                let answer = connected.unwrap().call(request).await.unwrap();
                assert_eq!(answer.status(), 401, "{protocol} {answer:?}");
                assert!(answer.headers().contains_key("www-authenticate"));
                assert!(answer.body().ends_with(b"\n") && answer.body().len() > 20);
            }
        }
        crate::common::polite_client_is_answered(&server).await;
        let mut grpc = Grpc::connect(&server).await;
        let refused = grpc.unary(ECHO, vec![8, 5], HeaderMap::new()).await;
        assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
        for path in [UPLOAD, SUBMIT_STREAM, CHAT] {
            let chunks = vec![chunk(&diag(Format::Protobuf), &[])];
            let refused = grpc.stream(path, chunks, HeaderMap::new()).await;
            assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated, "{path}");
        }
        let log = server.stop().await;
        assert!(log.requests().iter().all(|logged| logged.auth.is_none()));
        let grpc = log.requests().into_iter().filter(|l| l.protocol == "grpc");
        assert!(grpc.map(|logged| logged.status).eq([16; 4]));
    }
}

#[tokio::test]
async fn forged_tokens_are_refused_with_the_reason() {
    let server = start_with(AuthScheme::Jwt).await;
    let other = start_with(AuthScheme::Jwt).await;
    let token = signing::token(&server);
    // One letter of the claims.
    let mut tampered = token.clone().into_bytes();
    let at = token.find('.').unwrap() + 3;
    tampered[at] ^= 1;
    let tampered = String::from_utf8(tampered).unwrap();
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        for (token, reason) in [
            (tampered.as_str(), "signature does not match"),
            (&signing::token(&other), "signature does not match"),
            ("x.y", "malformed"),
        ] {
            let mut request = request("GET", "/bytes/10", 1, "");
            request.headers_mut().extend(bearer(token));
            let answer = http.call(request).await.unwrap();
            let text = String::from_utf8_lossy(answer.body());
            assert_eq!(answer.status(), 401, "{protocol} {text}");
            assert!(text.contains(reason), "{text}");
        }
    }
    let mut grpc = Grpc::connect(&server).await;
    let refused = grpc.unary(ECHO, vec![8, 5], bearer(&tampered)).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(refused.message().contains("does not match"), "{refused}");
    other.stop().await;
    server.stop().await;
}

/// Changes what is sent after it was signed.
type Change = fn(&mut Request<Bytes>);

#[tokio::test]
async fn requests_that_were_changed_after_signing_are_refused() {
    const BODY: &str = r#"{"start_ts":5}"#;
    let server = start_with(AuthScheme::Hmac).await;
    let key = signing::key(&server);
    let other = Key::new(server::KEY_ID, &[9; 32]).unwrap();
    let unknown = Key::new("commute-2", &[9; 32]).unwrap();
    let tls = client::tls(&server);
    let cases: [(Change, &str); 10] = [
        (|r| *r.body_mut() = BODY.replace('5', "6").into(), "body"),
        (|r| *r.body_mut() = Bytes::new(), "body"),
        (
            |r| *r.uri_mut() = with_path(r, "/exchange/Diag"),
            "does not match",
        ),
        (
            |r| *r.uri_mut() = with_path(r, "/echo?x=2"),
            "does not match",
        ),
        (|r| *r.method_mut() = http::Method::PUT, "does not match"),
        (
            |r| edit(r, "signature-input", "created=1", "created=2"),
            "in the future",
        ),
        (
            |r| edit(r, "signature-input", "\"content-digest\"", ""),
            "must cover",
        ),
        (
            |r| edit(r, "signature", "=:", ""),
            "`signature` is missing or malformed",
        ),
        (
            |r| drop(r.headers_mut().remove("signature-input")),
            "`signature-input`",
        ),
        (
            |r| {
                let second = "commute=:AA==:".parse().unwrap();
                r.headers_mut().append("signature", second);
            },
            "`signature`",
        ),
    ];
    for protocol in PROTOCOLS {
        let genuine =
            |created_s, key| sign_http_at(request("POST", "/echo?x=1", 1, BODY), key, created_s);
        let mut all: Vec<_> = cases
            .iter()
            .map(|(change, reason)| {
                let mut request = genuine(now_s(), &key);
                change(&mut request);
                (request, *reason)
            })
            .collect();
        all.push((genuine(now_s(), &other), "does not match"));
        all.push((genuine(now_s(), &unknown), "no key has this id"));
        all.push((genuine(now_s() - 3600, &key), "too old"));
        all.push((genuine(now_s() + 3600, &key), "in the future"));
        let mut download = sign_http(request("GET", "/bytes/10", 1, ""), &key);
        *download.body_mut() = "x".into();
        all.push((download, "body"));
        for (request, reason) in all {
            let connected = client::connect(protocol, server.address, &tls).await;
            let answer = connected.unwrap().call(request).await.unwrap();
            let text = String::from_utf8_lossy(answer.body());
            assert_eq!(answer.status(), 401, "{protocol} {reason}: {text}");
            assert!(text.contains(reason), "{protocol} {reason}: {text}");
        }
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let once = genuine(now_s(), &key);
        assert_eq!(http.call(once.clone()).await.unwrap().status(), 200);
        let again = http.call(once).await.unwrap();
        assert_eq!(again.status(), 401);
        assert!(String::from_utf8_lossy(again.body()).contains("received before"));
    }
    let log = server.stop().await;
    let verified = log.requests().iter().filter(|l| l.auth.is_some()).count();
    assert_eq!(verified, PROTOCOLS.len());
}

fn with_path(request: &Request<Bytes>, path: &str) -> http::Uri {
    let authority = request.uri().authority().unwrap();
    format!("https://{authority}{path}").parse().unwrap()
}

fn edit(request: &mut Request<Bytes>, field: &'static str, from: &str, to: &str) {
    let value = request.headers()[field].to_str().unwrap();
    assert!(value.contains(from), "{value}");
    let value = value.replacen(from, to, 1).parse().unwrap();
    request.headers_mut().insert(field, value);
}

#[tokio::test]
async fn grpc_calls_that_were_changed_after_signing_are_refused() {
    let server = start_with(AuthScheme::Hmac).await;
    let key = signing::key(&server);
    let mut grpc = Grpc::connect(&server).await;
    let (metadata, _) = grpc.signed(ECHO, Some(&[8, 5]), &key);
    let changed = grpc.unary(ECHO, vec![8, 6], metadata).await.unwrap_err();
    let (metadata, _) = grpc.signed(ECHO, Some(&[8, 5]), &key);
    let moved = grpc
        .unary(EXCHANGE, vec![8, 5], metadata)
        .await
        .unwrap_err();
    let (metadata, _) = grpc.signed(ECHO, Some(&[8, 5]), &key);
    grpc.unary(ECHO, vec![8, 5], metadata.clone())
        .await
        .unwrap();
    let again = grpc.unary(ECHO, vec![8, 5], metadata).await.unwrap_err();
    for (refused, reason) in [
        (changed, "body"),
        (moved, "does not match"),
        (again, "received before"),
    ] {
        assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
        assert!(refused.message().contains(reason), "{refused}");
    }
    server.stop().await;
}

/// gRPC readers stop at trailers, and read no further than the length in a message's head.
#[tokio::test]
async fn neither_trailers_nor_framing_hide_a_changed_message() {
    use http_body_util::{BodyExt as _, StreamBody};
    use hyper_util::rt::{TokioExecutor, TokioIo};

    let server = start_with(AuthScheme::Hmac).await;
    let key = signing::key(&server);
    // Two messages whose bytes after the first head are those that are signed, and one more.
    let signed: &[u8] = &[8, 5, 0, 0, 0, 0, 0];
    let cases: [(&[u8], &[u8]); 2] = [
        (&[8, 5], &[0, 0, 0, 0, 2, 8, 6]),
        (signed, &[0, 0, 0, 0, 2, 8, 5, 0, 0, 0, 0, 0]),
    ];
    for (signed, sent) in cases {
        let stream = tokio::net::TcpStream::connect(server.plaintext_address).await;
        let stream = TokioIo::new(stream.unwrap());
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
        let (mut requests, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let trailers = HeaderMap::from_iter([("x".parse().unwrap(), "y".parse().unwrap())]);
        let frames = [
            Ok::<_, std::convert::Infallible>(http_body::Frame::data(Bytes::copy_from_slice(sent))),
            Ok(http_body::Frame::trailers(trailers)),
        ];
        let body = StreamBody::new(futures_util::stream::iter(frames));
        let digest = sign::content_digest(signed);
        let head = sign::Request {
            method: "POST",
            authority: signing::AUTHORITY,
            path: ECHO,
            query: None,
            body: sign::Body::Digest(&digest),
        };
        let fields = signing::sign(&head, &key, now_s());
        let request = Request::post(format!("http://localhost{ECHO}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("content-digest", &digest)
            .header("signature-input", fields.signature_input)
            .header("signature", fields.signature)
            .body(body)
            .unwrap();
        let answer = requests.send_request(request).await.unwrap();
        let status = answer.headers().get("grpc-status").cloned();
        let body = answer.into_body().collect().await.unwrap();
        let status = status.or_else(|| body.trailers()?.get("grpc-status").cloned());
        assert_eq!(status.unwrap(), "16", "{sent:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn chunks_cannot_be_changed_moved_dropped_or_cut_off() {
    let server = start_with(AuthScheme::Hmac).await;
    let key = signing::key(&server);
    let mut grpc = Grpc::connect(&server).await;
    let name: Name = "diag-100kB".parse().unwrap();
    let encode = |seed| -> Bytes {
        let mut coder = Codec::plain(Format::Protobuf).coder();
        coder.encode(&name.message(seed)).into()
    };
    let parts = [encode(1), encode(2), encode(3)];
    type Change = fn(&mut Vec<Bytes>);
    let changes: [(Change, &str); 6] = [
        (|chunks| chunks.swap(0, 1), "chunk 0"),
        (|chunks| chunks.swap(1, 2), "chunk 1"),
        (|chunks| drop(chunks.remove(1)), "chunk 1"),
        (|chunks| drop(chunks.pop()), "chunk 1"),
        (Vec::clear, "chunk 0"),
        (|chunks| chunks.push(chunks[2].clone()), "chunk 2"),
    ];
    for path in [UPLOAD, SUBMIT_STREAM] {
        for (change, reason) in changes {
            let (metadata, head) = grpc.signed(path, None, &key);
            let mut chunks = signed_chunks(&parts, &key, head);
            change(&mut chunks);
            let refused = grpc.stream(path, chunks, metadata).await.unwrap_err();
            assert_eq!(refused.code(), Code::Unauthenticated, "{refused}");
            assert!(refused.message().contains(reason), "{reason}: {refused}");
        }
        // A digest is no code: that of a stream would be known only at its end.
        let (metadata, _) = grpc.signed(path, Some(&parts[0]), &key);
        let chunks = vec![chunk(&parts[0], &[])];
        let refused = grpc.stream(path, chunks, metadata).await.unwrap_err();
        assert!(refused.message().contains("must cover"), "{refused}");
    }
    let log = server.stop().await;
    assert!(log.requests().iter().all(|logged| logged.auth.is_none()));
}

#[tokio::test]
async fn nonces_that_cannot_be_remembered_are_refused() {
    let limits = Limits {
        nonces: 2,
        ..Limits::default()
    };
    let auth = Some(AuthScheme::Hmac);
    let config = Config {
        limits,
        auth,
        ..Config::default()
    };
    let server = start(config).await;
    let key = signing::key(&server);
    let tls = client::tls(&server);
    let mut texts = Vec::new();
    // On a connection each: the nonces are those of the server.
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        let signed = sign_http(request("GET", "/bytes/1", 1, ""), &key);
        let answer = http.call(signed).await.unwrap();
        texts.push((answer.status().as_u16(), answer.into_body()));
    }
    assert_eq!([texts[0].0, texts[1].0, texts[2].0], [200, 200, 401]);
    let text = String::from_utf8_lossy(&texts[2].1);
    assert!(text.contains("too many requests at a time"), "{text}");
    server.stop().await;
}
