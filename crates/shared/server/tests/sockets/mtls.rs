//! The port that demands a client certificate.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::sync::Arc;

use crate::common::client::{self, PROTOCOLS, request};
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use server::Config;

#[tokio::test]
async fn client_certificate_is_accepted_and_its_name_logged() {
    let server = crate::common::start(Config::default()).await;
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
async fn missing_and_foreign_certificates_are_rejected() {
    let server = crate::common::start(Config::default()).await;
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "commute client");
    let foreign = params.self_signed(&key).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let foreign = client::builder(&server)
        .with_client_auth_cert(vec![foreign.der().clone()], key)
        .unwrap();
    for (certificate, tls) in [("no", client::tls(&server)), ("a foreign", foreign)] {
        for protocol in PROTOCOLS {
            // In TLS 1.3 the client connects before the server checks; the first request fails.
            let outcome = async {
                let mut http = client::connect(protocol, server.mtls_address, &tls).await?;
                http.call(request("GET", "/health", 1, "")).await
            };
            let outcome = outcome.await;
            assert!(
                outcome.is_err(),
                "{certificate} certificate over {protocol}"
            );
        }
    }
    let log = server.stop().await;
    assert_eq!(log.0, [], "no connection and no request");
}

#[tokio::test]
async fn port_without_mtls_requests_no_certificate() {
    let server = crate::common::start(Config::default()).await;
    let resolver = Arc::new(PanicOnRequest);
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

/// Panics when the server requests a certificate.
#[derive(Debug)]
struct PanicOnRequest;

impl rustls::client::ResolvesClientCert for PanicOnRequest {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        panic!("the server requested a certificate");
    }

    fn has_certs(&self) -> bool {
        true
    }
}
