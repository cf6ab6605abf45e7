//! The port that demands a client certificate.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use std::sync::Arc;

use common::client::{self, PROTOCOLS, request};
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use server::Config;

#[tokio::test]
async fn the_right_certificate_is_let_in_and_named_in_the_log() {
    let server = common::start(Config::default()).await;
    let tls = client::mutual_tls(&server);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.mtls_address, &tls)
            .await
            .unwrap();
        let response = http.call(request("GET", "/health", 1, "")).await.unwrap();
        assert_eq!(response.status(), 200, "{protocol}");
    }
    let log = server.stop().await;
    let names: Vec<_> = log
        .connections()
        .iter()
        .map(|c| c.client_cert.clone())
        .collect();
    assert_eq!(
        names,
        vec![Some("commute client".to_owned()); PROTOCOLS.len()]
    );
}

#[tokio::test]
async fn no_certificate_and_a_strangers_are_kept_out() {
    let server = common::start(Config::default()).await;
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "commute client");
    let stranger = params.self_signed(&key).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let stranger = client::builder(&server)
        .with_client_auth_cert(vec![stranger.der().clone()], key)
        .unwrap();
    for (who, tls) in [("nobody", client::tls(&server)), ("stranger", stranger)] {
        for protocol in PROTOCOLS {
            // TLS 1.3 lets the client believe it is connected; the first call tells it.
            let outcome = async {
                let mut http = client::connect(protocol, server.mtls_address, &tls).await?;
                http.call(request("GET", "/health", 1, "")).await
            };
            assert!(outcome.await.is_err(), "{who} got in over {protocol}");
        }
    }
    let log = server.stop().await;
    assert_eq!(log.0, [], "nothing was connected and nothing asked");
}

#[tokio::test]
async fn the_ordinary_port_does_not_ask() {
    let server = common::start(Config::default()).await;
    let resolver = Arc::new(NeverAsked);
    let tls = client::builder(&server).with_client_cert_resolver(resolver);
    for protocol in PROTOCOLS {
        let mut http = client::connect(protocol, server.address, &tls)
            .await
            .unwrap();
        http.call(request("GET", "/health", 1, "")).await.unwrap();
    }
    let log = server.stop().await;
    assert!(
        log.connections()
            .iter()
            .all(|connection| connection.client_cert.is_none())
    );
}

/// Fails the test when the server asks for a certificate.
#[derive(Debug)]
struct NeverAsked;

impl rustls::client::ResolvesClientCert for NeverAsked {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        panic!("the server asked for a certificate");
    }

    fn has_certs(&self) -> bool {
        true
    }
}
