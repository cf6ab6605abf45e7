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
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints, PublicKeyData, SanType, SignatureAlgorithm,
    SigningKey, date_time_ymd,
};
use rsa::pkcs1::EncodeRsaPublicKey as _;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};

/// What precedes a digest by SHA-256 in a signature (RFC 8017 section 9.2, note 1).
const SHA_256: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05,
    0x00, 0x04, 0x20,
];

/// A key of RSA. rcgen takes only those that ring signs with: of 2048 bits or more.
struct RsaKey {
    private: rsa::RsaPrivateKey,
    public: Vec<u8>,
}

impl RsaKey {
    fn generate(bits: usize) -> RsaKey {
        let private = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, bits).unwrap();
        let public = private.to_public_key().to_pkcs1_der().unwrap();
        RsaKey {
            public: public.as_bytes().to_vec(),
            private,
        }
    }
}

impl PublicKeyData for RsaKey {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

impl SigningKey for RsaKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let digest = [&SHA_256[..], &Sha256::digest(message)[..]].concat();
        let padding = rsa::Pkcs1v15Sign::new_unprefixed();
        Ok(self.private.sign(padding, &digest).unwrap())
    }
}

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
    // Over an authority whose key is of RSA.
    let through_rsa = |what, accepted, bits| {
        let (own, middle_key) = (key(), RsaKey::generate(bits));
        let middle = authority("middle").signed_by(&middle_key, &trusted);
        let issuer = Issuer::new(authority("middle"), middle_key);
        let own_certificate = leaf(&["localhost"]).signed_by(&own, &issuer).unwrap();
        Chain {
            what,
            host: "localhost",
            accepted,
            certificates: vec![own_certificate.der().clone(), middle.unwrap().der().clone()],
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
    let mut address_as_name = leaf(&[]);
    let address = SanType::DnsName("127.0.0.1".try_into().unwrap());
    address_as_name.subject_alt_names.push(address);
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
        chain(
            "of a wildcard in a label",
            "bc.a.test",
            false,
            leaf(&["b*.a.test"]),
        ),
        chain(
            "of a wildcard of all names",
            "a.test",
            false,
            leaf(&["*.test"]),
        ),
        chain(
            "of a name with a zero byte",
            "localhost",
            false,
            leaf(&["localhost\0.a.test"]),
        ),
        chain("of a common name", "localhost", false, only_common),
        chain("of an address", "localhost", false, of_an_address.clone()),
        chain("of this address", "127.0.0.1", true, of_an_address),
        chain(
            "of this address as a name",
            "127.0.0.1",
            false,
            address_as_name,
        ),
        chain(
            "of the address's name",
            "127.0.0.1",
            false,
            leaf(&["localhost"]),
        ),
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
        through_rsa("with RSA of 2048 bits", true, 2_048),
        through_rsa("with RSA of 1024 bits", false, 1_024),
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
