//! Answers that say no, and answers that are none.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use common::bench::{ALL, Bench, program};
use common::{Driver, call, in_order, setup, soon};
use driver::RunAnswer;
use driver::protocol::{Action, ErrorKind, Protocol};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn a_status_that_says_no_is_an_error_with_the_whole_answer() {
    for protocol in ALL {
        let bench = Bench::start();
        // More than the server has.
        let steps = in_order([Action::Get { bytes: u64::MAX }, call()]);
        let rows = bench.run(&bench.setup(protocol), &steps);
        let log = bench.stop();
        let error = rows[0].error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Status, "{protocol:?} {error:?}");
        let hit = log.requests.iter().find(|hit| hit.id == Some(1)).unwrap();
        assert_eq!(rows[0].status, Some(hit.status), "{protocol:?}");
        assert_eq!(
            rows[0].digest.as_ref(),
            Some(&hit.response_digest),
            "{protocol:?}"
        );
        // The connection has taken no harm.
        assert_eq!(
            (rows[1].connection, rows[1].reused),
            (1, true),
            "{protocol:?}"
        );
        assert_eq!(rows[1].error, None, "{protocol:?}");
    }
}

#[test]
fn what_is_no_http_is_a_protocol_error() {
    for (protocol, alpn) in [
        (Protocol::H1, "http/1.1"),
        (Protocol::H2, "h2"),
        (Protocol::Grpc, "h2"),
    ] {
        let (ca, url, _runtime) = babbler(alpn);
        let mut driver = Driver::start(&[program(protocol)], &[]);
        driver.host.hello(soon()).unwrap();
        let setup = setup(&url, ca.path().to_str().unwrap(), protocol);
        driver.host.setup(&setup, soon()).unwrap();
        let answer = driver.host.run(&in_order([call()]), soon()).unwrap();
        let RunAnswer::Rows(rows) = answer else {
            panic!()
        };
        let error = rows[0].error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Protocol, "{protocol:?} {error:?}");
        driver.close();
    }
}

#[test]
fn a_server_that_speaks_another_protocol_is_not_spoken_to() {
    let (ca, url, _runtime) = babbler("ftp");
    for protocol in [Protocol::H1, Protocol::H2, Protocol::Grpc] {
        let mut driver = Driver::start(&[program(protocol)], &[]);
        driver.host.hello(soon()).unwrap();
        let setup = setup(&url, ca.path().to_str().unwrap(), protocol);
        driver.host.setup(&setup, soon()).unwrap();
        let answer = driver.host.run(&in_order([call()]), soon()).unwrap();
        let RunAnswer::Rows(rows) = answer else {
            panic!()
        };
        assert_eq!(
            rows[0].error.as_ref().unwrap().kind,
            ErrorKind::Tls,
            "{rows:?}"
        );
        driver.close();
    }
}

/// A TLS server that reads a little and says something that means nothing.
fn babbler(alpn: &str) -> (tempfile::NamedTempFile, String, tokio::runtime::Runtime) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let ca = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca.path(), certified.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let url = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    runtime.spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(tcp).await else {
                continue;
            };
            let Ok(1..) = stream.read(&mut [0; 1024]).await else {
                continue;
            };
            stream
                .write_all(b"\x00\x00\x04\x04\x00 a tale told by an idiot\r\n\r\n")
                .await
                .ok();
            stream.flush().await.ok();
            // Held open, lest its end be what the client sees.
            tokio::spawn(async move { while let Ok(1..) = stream.read(&mut [0; 1024]).await {} });
        }
    });
    (ca, url, runtime)
}
