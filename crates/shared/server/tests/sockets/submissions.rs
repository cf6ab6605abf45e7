//! Submissions and their limits, and the port without TLS.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::client::{self, request};
use crate::common::signing::{self, Grpc, chunk, diag, requests, sign_http, typed};
use crate::common::start;
use bytes::Bytes;
use http::HeaderMap;
use messages::Format;
use server::{AuthScheme, Config, Limits};
use tonic::Code;

const SUBMIT: &str = "/commute.bench.v1.Submit/Diag";
const SUBMIT_STREAM: &str = "/commute.bench.v1.Submit/DiagStream";

#[tokio::test]
async fn submissions_have_the_limits_of_exchanges_and_one_in_all() {
    let diag = diag(Format::Protobuf);
    let limits = Limits {
        submit_bytes: 2 * diag.len() as u64,
        ..Limits::default()
    };
    let config = Config {
        limits,
        ..Config::default()
    };
    let server = start(config).await;
    let tls = client::tls(&server);
    let with_body = |body: Bytes| {
        let mut request = typed("/submit/Diag", 1, Format::Protobuf);
        *request.body_mut() = body;
        request
    };
    let other = typed("/submit/Big", 1, Format::Json);
    for (request, status) in [
        (with_body(vec![0xff].into()), 400),
        (with_body(vec![0; (4 << 20) + 1].into()), 413),
        (request("POST", "/submit/Diag", 1, "{}"), 415),
        (other, 404),
        (request("POST", SUBMIT, 1, ""), 415),
    ] {
        let connected = client::connect("h2", server.address, &tls).await;
        let answer = connected.unwrap().call(request).await.unwrap();
        assert_eq!(answer.status(), status, "{answer:?}");
    }
    let mut grpc = Grpc::connect(&server).await;
    let broken = Bytes::from_static(&[0xff]);
    let refused = grpc.unary(SUBMIT, broken.clone(), HeaderMap::new()).await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    for (parts, code) in [
        (vec![broken], Code::InvalidArgument),
        (vec![diag.clone(); 3], Code::ResourceExhausted),
        (vec![diag.clone(); 2], Code::Ok),
        (vec![], Code::Ok),
    ] {
        let parts = parts.iter().map(|part| chunk(part, &[])).collect();
        let answer = grpc.stream(SUBMIT_STREAM, parts, HeaderMap::new()).await;
        assert_eq!(answer.err().map_or(Code::Ok, |status| status.code()), code);
    }
    server.stop().await;
}

#[tokio::test]
async fn plaintext_port_serves_h1_and_h2_with_prior_knowledge() {
    let server = start(Config {
        auth: Some(AuthScheme::Hmac),
        ..Config::default()
    })
    .await;
    let key = signing::key(&server);
    for protocol in ["http/1.1", "h2"] {
        let connected = client::connect_plaintext(protocol, server.plaintext_address).await;
        let mut http = connected.unwrap();
        for request in requests() {
            let answer = http.call(sign_http(request, &key)).await.unwrap();
            assert_eq!(answer.status(), 200, "{protocol}");
        }
    }
    let log = server.stop().await;
    for (connection, protocol) in log.connections().iter().zip(["http/1.1", "h2"]) {
        let names = [
            &connection.alpn,
            &connection.tls_version,
            &connection.cipher,
        ];
        assert_eq!(names, ["", "", ""]);
        assert_eq!(connection.chain_bytes, 0);
        let number = connection.connection;
        let mut requests = log.requests().into_iter();
        let logged = requests.find(|logged| logged.connection == number);
        assert_eq!(logged.unwrap().protocol, protocol);
    }
    assert_eq!(log.connections().len(), 2);
    assert_eq!(log.closed().len(), 2);
}
