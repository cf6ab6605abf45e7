//! Full and resumed handshakes and early data: the log has what happened, not what was requested.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::client::{self, Http, request};
use crate::common::{Log, TestServer};
use bytes::Bytes;
use rustls::ClientConfig;
use server::{Chain, Config, KeyKind, Server};

#[tokio::test]
async fn second_connection_resumes_over_either_transport() {
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    for protocol in client::PROTOCOLS {
        // An empty ticket cache for each protocol.
        let mut tls = tls.clone();
        tls.resumption = rustls::client::Resumption::default();
        for id in 1..=2 {
            call(
                &mut client::connect(protocol, server.address, &tls)
                    .await
                    .unwrap(),
                id,
            )
            .await;
        }
    }
    let chain_bytes = server.settings.chain_bytes;
    let log = server.stop().await;
    let logged: Vec<_> = log
        .connections()
        .iter()
        .map(|c| (c.alpn.clone(), c.resumed, c.chain_bytes))
        .collect();
    let expected = client::PROTOCOLS.map(|protocol| {
        [
            (protocol.to_owned(), false, chain_bytes),
            (protocol.to_owned(), true, 0),
        ]
    });
    assert_eq!(logged, expected.concat());
    for connection in log.connections() {
        assert_eq!(connection.tls_version, "TLSv1_3");
        assert!(
            connection.cipher.starts_with("TLS13_AES_"),
            "{}",
            connection.cipher
        );
        assert_eq!(connection.group, "X25519");
        assert!(!connection.hello_retry);
        assert!(
            connection
                .congestion
                .as_deref()
                .is_some_and(|name| !name.is_empty())
        );
        assert!(connection.peer_port > 0);
        assert_eq!(connection.ip_version, 4);
    }
}

#[tokio::test]
async fn nothing_resumes_when_resumption_is_off() {
    let config = Config {
        resumption: false,
        early_data: true,
        ..Config::default()
    };
    let server = crate::common::start(config).await;
    let tls = early(client::tls(&server));
    for protocol in client::PROTOCOLS {
        for id in 1..=2 {
            call(
                &mut client::connect(protocol, server.address, &tls)
                    .await
                    .unwrap(),
                id,
            )
            .await;
        }
    }
    let connecting = client::quic(server.address, &tls).unwrap();
    assert!(
        connecting.into_0rtt().is_err(),
        "the server issued a ticket"
    );
    let log = server.stop().await;
    assert!(
        log.connections()
            .iter()
            .all(|connection| !connection.resumed)
    );
}

#[tokio::test]
async fn early_data_is_accepted_and_logged() {
    let server = crate::common::start(Config {
        early_data: true,
        ..Config::default()
    })
    .await;
    let tls = early(client::tls(&server));
    call(
        &mut client::connect("h3", server.address, &tls).await.unwrap(),
        1,
    )
    .await;
    let (connection, accepted) = client::quic(server.address, &tls)
        .unwrap()
        .into_0rtt()
        .ok()
        .unwrap();
    let mut http = Http::H3(client::h3(connection).await.unwrap());
    call(&mut http, 2).await;
    assert!(accepted.await);
    // The same connection, after its handshake.
    call(&mut http, 3).await;
    let log = server.stop().await;
    assert_eq!(early_by_id(&log), [(1, false), (2, true), (3, false)]);
    assert_eq!(
        log.connections()
            .iter()
            .map(|c| c.resumed)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn session_resumes_without_early_data_when_it_is_off() {
    let server = crate::common::start(Config {
        early_data: false,
        ..Config::default()
    })
    .await;
    let tls = early(client::tls(&server));
    call(
        &mut client::connect("h3", server.address, &tls).await.unwrap(),
        1,
    )
    .await;
    let connecting = client::quic(server.address, &tls).unwrap();
    // The ticket does not allow early data, so the client does not try.
    let connecting = connecting.into_0rtt().err().unwrap();
    let mut http = Http::H3(client::h3(connecting.await.unwrap()).await.unwrap());
    call(&mut http, 2).await;
    let log = server.stop().await;
    assert_eq!(early_by_id(&log), [(1, false), (2, false)]);
    assert_eq!(
        log.connections()
            .iter()
            .map(|c| c.resumed)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn tickets_of_one_server_are_rejected_by_another() {
    let first = crate::common::start(Config {
        early_data: true,
        ..Config::default()
    })
    .await;
    let second = crate::common::start(Config {
        early_data: true,
        ..Config::default()
    })
    .await;
    // A client that trusts both and takes them for the same server.
    let tls = early(trusting(&[&first, &second]));
    call(
        &mut client::connect("h3", first.address, &tls).await.unwrap(),
        1,
    )
    .await;
    let (connection, accepted) = client::quic(second.address, &tls)
        .unwrap()
        .into_0rtt()
        .ok()
        .unwrap();
    assert!(!accepted.await);
    // Early data is discarded, but the connection works.
    let mut http = Http::H3(client::h3(connection).await.unwrap());
    call(&mut http, 2).await;
    first.stop().await;
    let log = second.stop().await;
    assert_eq!(early_by_id(&log), [(2, false)]);
    assert!(!log.connections()[0].resumed);
}

#[tokio::test]
async fn hello_retry_is_logged() {
    let server = crate::common::start(Config::default()).await;
    for protocol in client::PROTOCOLS {
        let mut provider = rustls::crypto::ring::default_provider();
        // First a group that the server does not support, with a key share, then supported ones.
        // A new configuration each time, because rustls remembers which group a server chose.
        provider.kx_groups.insert(0, &UnsupportedGroup);
        let tls = client::builder_with(&server, provider).with_no_client_auth();
        call(
            &mut client::connect(protocol, server.address, &tls)
                .await
                .unwrap(),
            1,
        )
        .await;
    }
    let log = server.stop().await;
    assert!(
        log.connections()
            .iter()
            .all(|c| c.hello_retry && !c.resumed),
        "{log:?}"
    );
}

#[tokio::test]
async fn tls_1_2_works_and_is_logged() {
    let server = crate::common::start(Config::default()).await;
    let tls = client::tls(&server);
    let mut old = client::versions(&server, &[&rustls::version::TLS12]).with_no_client_auth();
    old.resumption = tls.resumption;
    for id in 1..=2 {
        call(
            &mut client::connect("h2", server.address, &old).await.unwrap(),
            id,
        )
        .await;
    }
    let log = server.stop().await;
    assert!(
        log.connections().iter().all(|c| c.tls_version == "TLSv1_2"),
        "{log:?}"
    );
    assert_eq!(
        log.connections()
            .iter()
            .map(|c| c.resumed)
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[tokio::test]
async fn rsa_keys_work_over_every_protocol_and_port() {
    let server = crate::common::start(Config {
        key: KeyKind::Rsa2048,
        ..Config::default()
    })
    .await;
    let tls = client::mutual_tls(&server);
    for protocol in client::PROTOCOLS {
        call(
            &mut client::connect(protocol, server.address, &tls)
                .await
                .unwrap(),
            1,
        )
        .await;
        call(
            &mut client::connect(protocol, server.mtls_address, &tls)
                .await
                .unwrap(),
            2,
        )
        .await;
    }
    assert_eq!(server.settings.key, KeyKind::Rsa2048);
    assert_eq!(server.stop().await.connections().len(), 6);
}

#[tokio::test]
async fn chain_has_its_length_with_every_key_and_is_accepted() {
    for chain in [Chain::Typical, Chain::Long] {
        for key in [KeyKind::P256, KeyKind::Rsa2048] {
            let config = Config {
                key,
                chain,
                ..Config::default()
            };
            let server = crate::common::start(config).await;
            crate::common::polite_client_is_answered(&server).await;
            let log = server.stop().await;
            // Resumed sessions send no chain.
            for connection in log.connections().iter().filter(|c| !c.resumed) {
                // Twice two signatures of ECDSA, which vary by three bytes.
                let off = connection.chain_bytes.abs_diff(chain.bytes() as u64);
                assert!(off <= 12, "{chain:?} {key:?}: {}", connection.chain_bytes);
            }
        }
    }
}

#[tokio::test]
async fn start_on_a_taken_port_leaves_the_credentials_alone() {
    let server = crate::common::start(Config::default()).await;
    let before = std::fs::read(server.file("ca.pem")).unwrap();
    let second = Server::bind(Config {
        listen: vec![server.address],
        credentials_dir: server.file("ca.pem").parent().map(Into::into),
        ..Config::default()
    });
    let error = second.await.err().unwrap();
    assert!(matches!(error, server::ServerError::Bind { .. }), "{error}");
    assert_eq!(std::fs::read(server.file("ca.pem")).unwrap(), before);
    crate::common::polite_client_is_answered(&server).await;
    server.stop().await;
}

async fn call(http: &mut Http, id: u32) {
    let echo = Bytes::from_static(br#"{"start_ts":1}"#);
    let response = http
        .call(request("POST", "/echo", id, echo.clone()))
        .await
        .unwrap();
    assert_eq!(*response.body(), echo);
}

fn early(mut tls: ClientConfig) -> ClientConfig {
    tls.enable_early_data = true;
    tls
}

fn early_by_id(log: &Log) -> Vec<(u32, bool)> {
    log.requests()
        .iter()
        .map(|request| (request.id.unwrap(), request.early_data))
        .collect()
}

fn trusting(servers: &[&TestServer]) -> ClientConfig {
    client::builder_trusting(
        servers,
        rustls::crypto::ring::default_provider(),
        rustls::ALL_VERSIONS,
    )
    .with_no_client_auth()
}

/// A key exchange group that only this client offers.
#[derive(Debug)]
struct UnsupportedGroup;

impl rustls::crypto::SupportedKxGroup for UnsupportedGroup {
    fn start(&self) -> Result<Box<dyn rustls::crypto::ActiveKeyExchange>, rustls::Error> {
        Ok(Box::new(UnsupportedGroup))
    }

    fn name(&self) -> rustls::NamedGroup {
        // Private use, RFC 8446 section 4.2.7.
        rustls::NamedGroup::Unknown(0xfe00)
    }
}

impl rustls::crypto::ActiveKeyExchange for UnsupportedGroup {
    fn complete(self: Box<Self>, _: &[u8]) -> Result<rustls::crypto::SharedSecret, rustls::Error> {
        Err(rustls::Error::General("unsupported group".into()))
    }

    fn pub_key(&self) -> &[u8] {
        &[7; 32]
    }

    fn group(&self) -> rustls::NamedGroup {
        rustls::NamedGroup::Unknown(0xfe00)
    }
}
