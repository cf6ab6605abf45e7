//! Error responses, and responses that violate the protocol.

use std::sync::Arc;

use crate::common::test_server::{PROTOCOLS, TestServer, driver_for};
use crate::common::{Driver, call, deadline, sequential, setup};
use driver::RunAnswer;
use driver::protocol::{Action, ErrorKind, Protocol};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[test]
fn error_status_is_an_error_with_a_complete_row() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        // More than the server serves.
        let steps = sequential([Action::Get { bytes: u64::MAX }, call()]);
        let rows = server.run(&server.setup(protocol), &steps);
        let log = server.stop();
        let error = rows[0].error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Status, "{protocol:?} {error:?}");
        let request = log.request(1);
        assert_eq!(rows[0].status, Some(request.status), "{protocol:?}");
        assert_eq!(
            rows[0].digest.as_ref(),
            Some(&request.response_digest),
            "{protocol:?}"
        );
        // The connection is still usable.
        assert_eq!(
            (rows[1].connection, rows[1].reused),
            (1, true),
            "{protocol:?}"
        );
        assert_eq!(rows[1].error, None, "{protocol:?}");
    }
}

#[test]
fn response_that_is_not_http_is_a_protocol_error() {
    for (protocol, alpn) in [
        (Protocol::H1, "http/1.1"),
        (Protocol::H2, "h2"),
        (Protocol::Grpc, "h2"),
    ] {
        let (ca, url, _runtime) = invalid_server(alpn);
        let mut driver = Driver::start(&driver_for(protocol));
        driver.host.hello(deadline()).unwrap();
        let setup = setup(&url, ca.path().to_str().unwrap(), protocol);
        driver.host.setup(&setup, deadline()).unwrap();
        let answer = driver.host.run(&sequential([call()]), deadline()).unwrap();
        let RunAnswer::Rows(rows) = answer else {
            panic!()
        };
        let error = rows[0].error.as_ref().unwrap();
        assert_eq!(error.kind, ErrorKind::Protocol, "{protocol:?} {error:?}");
        driver.close();
    }
}

#[test]
fn server_without_the_protocol_is_a_tls_error() {
    let (ca, url, _runtime) = invalid_server("ftp");
    for protocol in [Protocol::H1, Protocol::H2, Protocol::Grpc] {
        let mut driver = Driver::start(&driver_for(protocol));
        driver.host.hello(deadline()).unwrap();
        let setup = setup(&url, ca.path().to_str().unwrap(), protocol);
        driver.host.setup(&setup, deadline()).unwrap();
        let answer = driver.host.run(&sequential([call()]), deadline()).unwrap();
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

/// Starts a TLS server that negotiates `alpn` and answers the first bytes with invalid ones.
fn invalid_server(alpn: &str) -> (tempfile::NamedTempFile, String, tokio::runtime::Runtime) {
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
                .write_all(b"\x00\x00\x04\x04\x00 neither HTTP/1.1 nor HTTP/2\r\n\r\n")
                .await
                .ok();
            stream.flush().await.ok();
            // Kept open, so that the client sees the bytes and not the end of the connection.
            tokio::spawn(async move { while let Ok(1..) = stream.read(&mut [0; 1024]).await {} });
        }
    });
    (ca, url, runtime)
}
