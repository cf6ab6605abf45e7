//! Answers to requests of a study's own, over every protocol.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::client::{self, PROTOCOLS, request};
use crate::common::signing::Grpc;
use crate::common::start;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use server::{Answers, Config};
use tonic::Code;

const LIST: &str = r#"[
    {"method": "POST", "path": "/v1/orders?page=2", "content_type": "application/json",
     "content_encoding": "gzip", "body": "page", "logged_fields": ["accept"]},
    {"method": "DELETE", "path": "/v1/orders?page=2"},
    {"method": "POST", "path": "/own.v1.Orders/List", "grpc": true, "body": "page"}
]"#;

const METHOD: &str = "/own.v1.Orders/List";

#[tokio::test]
async fn requests_are_answered_by_method_and_path() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("page"), "[1, 2]").unwrap();
    let list = folder.path().join("answers.json");
    std::fs::write(&list, LIST).unwrap();
    let server = start(Config {
        answers: Answers::read(&list).unwrap(),
        ..Config::default()
    })
    .await;
    let tls = client::tls(&server);
    for protocol in PROTOCOLS {
        let connected = client::connect(protocol, server.address, &tls).await;
        let mut http = connected.unwrap();
        let mut own = request("POST", "/v1/orders?page=2", 1, vec![7; 100_000]);
        own.headers_mut().insert(ACCEPT, "a/b".parse().unwrap());
        let answer = http.call(own).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &answer.body()[..]),
            (200, &b"[1, 2]"[..])
        );
        assert_eq!(
            answer.headers()[CONTENT_TYPE],
            "application/json",
            "{protocol}"
        );
        assert_eq!(answer.headers()[CONTENT_ENCODING], "gzip", "{protocol}");
        for (method, path, status) in [
            ("DELETE", "/v1/orders?page=2", 200),
            ("GET", "/v1/orders?page=2", 404),
            ("POST", "/v1/orders", 404),
            ("POST", METHOD, 415),
            ("GET", "/health", 200),
        ] {
            let answer = http.call(request(method, path, 2, "")).await.unwrap();
            assert_eq!(answer.status(), status, "{protocol} {method} {path}");
        }
    }
    let mut grpc = Grpc::connect(&server).await;
    let message = Bytes::from_static(b"any bytes");
    let answer = grpc.unary(METHOD, message, HeaderMap::new()).await;
    assert_eq!(answer.unwrap(), "[1, 2]");
    let unknown = grpc.unary("/own.v1.Orders/Get", Bytes::new(), HeaderMap::new());
    assert_eq!(unknown.await.unwrap_err().code(), Code::Unimplemented);
    let log = server.stop().await;
    let own: Vec<_> = log
        .requests()
        .into_iter()
        .filter(|r| r.id == Some(1))
        .collect();
    assert_eq!(own.len(), PROTOCOLS.len());
    let digest = messages::fields_digest([("accept", &b"a/b"[..])]);
    for logged in own {
        assert_eq!(logged.request_bytes, 100_000);
        assert_eq!(logged.response_bytes, 6);
        assert_eq!(logged.fields_digest.as_ref(), Some(&digest));
    }
    let of_grpc = log
        .requests()
        .into_iter()
        .find(|r| r.path == METHOD && r.protocol == "grpc");
    let of_grpc = of_grpc.unwrap();
    assert_eq!((of_grpc.request_bytes, of_grpc.response_bytes), (9, 6));
}
