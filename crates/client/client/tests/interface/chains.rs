//! Chains of certificates: which are accepted, over both transports. A refusal is the certificate's fault, so that nothing
//! is sent over the other one.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::common::by_hand::Listener;
use crate::quic::quic;
use client::{Engine, Error, Fault, Policy, Trust};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// A chain that a server shows, with its key.
struct Chain {
    what: &'static str,
    /// The name that is asked for.
    host: &'static str,
    accepted: bool,
    certificates: Vec<CertificateDer<'static>>,
    key: KeyPair,
}

/// Parameters of a certificate for these names.
fn leaf(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

/// Parameters of an authority.
fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn past(mut params: CertificateParams) -> CertificateParams {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 1, 1);
    params
}

fn constrained(permitted: &[&str], excluded: &[&str]) -> CertificateParams {
    let names = |names: &[&str]| {
        let name = |name: &&str| GeneralSubtree::DnsName((*name).to_owned());
        names.iter().map(name).collect()
    };
    let mut params = authority("constrained");
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: names(permitted),
        excluded_subtrees: names(excluded),
    });
    params
}

/// Returns each chain, and the only authority that is trusted, in PEM.
fn chains() -> (Vec<Chain>, String) {
    let key = || KeyPair::generate().unwrap();
    let root_key = key();
    let root = authority("root").self_signed(&root_key).unwrap();
    let trusted = Issuer::new(authority("root"), &root_key);
    let chain = |what, host, accepted, params: CertificateParams| {
        let key = key();
        let certificate = params.signed_by(&key, &trusted).unwrap();
        let certificates = vec![certificate.der().clone()];
        Chain {
            what,
            host,
            accepted,
            certificates,
            key,
        }
    };
    // A chain with an intermediate authority.
    let through = |what, accepted, intermediate: CertificateParams, is_sent: bool| {
        let (own, middle_key) = (key(), key());
        let middle = intermediate.signed_by(&middle_key, &trusted).unwrap();
        let issuer = Issuer::new(intermediate, &middle_key);
        let own_certificate = leaf(&["localhost"]).signed_by(&own, &issuer).unwrap();
        let mut certificates = vec![own_certificate.der().clone()];
        if is_sent {
            certificates.push(middle.der().clone());
        }
        Chain {
            what,
            host: "localhost",
            accepted,
            certificates,
            key: own,
        }
    };
    let mut future = leaf(&["localhost"]);
    future.not_before = date_time_ymd(2090, 1, 1);
    future.not_after = date_time_ymd(2091, 1, 1);
    let mut of_clients = leaf(&["localhost"]);
    of_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let mut only_common = leaf(&[]);
    only_common
        .distinguished_name
        .push(DnType::CommonName, "localhost");
    let mut of_an_address = leaf(&["127.0.0.1"]);
    of_an_address
        .distinguished_name
        .push(DnType::CommonName, "localhost");
    let mut no_authority = authority("leaf");
    no_authority.is_ca = IsCa::NoCa;
    let mut all = vec![
        chain("valid", "localhost", true, leaf(&["localhost"])),
        chain("of a wildcard", "b.a.test", true, leaf(&["*.a.test"])),
        chain("of another name", "localhost", false, leaf(&["a.test"])),
        chain("of a wildcard above", "a.test", false, leaf(&["*.a.test"])),
        chain(
            "of a wildcard below",
            "c.b.a.test",
            false,
            leaf(&["*.a.test"]),
        ),
        chain("of a common name", "localhost", false, only_common),
        chain("of an address", "localhost", false, of_an_address),
        chain("expired", "localhost", false, past(leaf(&["localhost"]))),
        chain("not yet valid", "localhost", false, future),
        chain("for clients", "localhost", false, of_clients),
        through("with an intermediate", true, authority("middle"), true),
        through(
            "without its intermediate",
            false,
            authority("middle"),
            false,
        ),
        through(
            "with an expired one",
            false,
            past(authority("middle")),
            true,
        ),
        through("with a leaf as authority", false, no_authority, true),
        through("permitted", true, constrained(&["localhost"], &[]), true),
        through("not permitted", false, constrained(&["a.test"], &[]), true),
        through("excluded", false, constrained(&[], &["localhost"]), true),
    ];
    for (what, name) in [("of another authority", "other"), ("of its name", "root")] {
        let (own, other_key) = (key(), key());
        let issuer = Issuer::new(authority(name), &other_key);
        let certificate = leaf(&["localhost"]).signed_by(&own, &issuer).unwrap();
        all.push(Chain {
            what,
            host: "localhost",
            accepted: false,
            certificates: vec![certificate.der().clone()],
            key: own,
        });
    }
    let own = key();
    let certificate = leaf(&["localhost"]).self_signed(&own).unwrap();
    all.push(Chain {
        what: "self-signed",
        host: "localhost",
        accepted: false,
        certificates: vec![certificate.der().clone()],
        key: own,
    });
    (all, root.pem())
}

fn server(chain: &Chain, alpn: &[u8]) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivatePkcs8KeyDer::from(chain.key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.certificates.clone(), key.into())
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn chains_are_judged_alike_over_both_transports() {
    let (chains, root) = chains();
    let mut wrong = Vec::new();
    for chain in &chains {
        let listener = Listener::new(server(chain, b"http/1.1")).await;
        let tcp = listener.url().replace("localhost", chain.host);
        let (endpoint, over_quic) = quic(server(chain, b"h3"));
        let over_quic = over_quic.replace("localhost", chain.host);
        let serving = tokio::spawn(async move {
            let mut kept = Vec::new();
            let over_tcp = async {
                loop {
                    kept.push(listener.accept_whole().await);
                }
            };
            tokio::join!(over_tcp, async {
                while let Some(incoming) = endpoint.accept().await {
                    // Kept until the client closes it.
                    tokio::spawn(async move {
                        if let Ok(quic) = incoming.await {
                            quic.closed().await;
                        }
                    });
                }
            })
        });
        for (policy, url) in [(Policy::H1, &tcp), (Policy::H3, &over_quic)] {
            let engine = Engine::builder()
                .trust(Trust::Roots(root.clone().into_bytes()))
                .resolve(chain.host, vec![Ipv4Addr::LOCALHOST.into()])
                .policy(policy)
                .build()
                .unwrap();
            let outcome = engine.connect(url).await.map(drop);
            let is_right = match &outcome {
                Ok(()) => chain.accepted,
                Err(Error::Failed { fault, .. }) => !chain.accepted && *fault == Fault::Certificate,
                Err(_) => false,
            };
            if !is_right {
                wrong.push(format!("{}, {policy:?}: {outcome:?}", chain.what));
            }
        }
        serving.abort();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
