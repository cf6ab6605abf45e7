//! Keys and certificates, made anew at each start.
//!
//! root -> intermediate -> leaf, and root -> client. The server sends leaf and
//! intermediate and keeps its keys in memory only; the root's and the intermediate's keys
//! are gone once the certificates are signed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256,
};
use rsa::pkcs8::EncodePrivateKey;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use crate::config::KeyKind;

/// What both sides need to know each other.
pub(crate) struct Credentials {
    /// Leaf, then intermediate.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// The leaf's key.
    pub(crate) key: PrivateKeyDer<'static>,
    /// The authority both sides trust.
    pub(crate) root: CertificateDer<'static>,
    root_pem: String,
    client_pem: String,
    client_key_pem: String,
}

/// Credentials could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A name is no host name.
    #[error("{name:?} can be in no certificate: names are ASCII host names or IP addresses")]
    Name {
        /// The name.
        name: String,
    },
    /// Signing failed.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// Making an RSA key failed.
    #[error("cannot make an RSA key: {0}")]
    Rsa(String),
    /// Writing failed.
    #[error("cannot write {path}: {source}; choose a folder that is yours")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Credentials {
    /// Makes everything anew.
    pub(crate) fn make(names: &[String], kind: KeyKind) -> Result<Self, CredentialsError> {
        let root_key = key_pair(kind)?;
        // Named by its key: a client may be given two of them and finds an issuer by name.
        let digest = Sha256::digest(root_key.public_key_raw());
        let name = format!("commute root {}", wire::hex(&digest[..4]));
        let root = CertifiedIssuer::self_signed(authority(&name), root_key)?;
        let intermediate =
            CertifiedIssuer::signed_by(authority("commute intermediate"), key_pair(kind)?, &root)?;

        let leaf_key = key_pair(kind)?;
        let leaf = leaf(names)?.signed_by(&leaf_key, &intermediate)?;

        let client_key = key_pair(kind)?;
        let client = client("commute client").signed_by(&client_key, &root)?;

        Ok(Self {
            chain: vec![leaf.der().clone(), intermediate.der().clone()],
            key: PrivatePkcs8KeyDer::from(leaf_key.serialize_der()).into(),
            root: root.der().clone(),
            root_pem: root.pem(),
            client_pem: client.pem(),
            client_key_pem: client_key.serialize_pem(),
        })
    }

    /// Bytes of the chain as sent.
    pub(crate) fn chain_bytes(&self) -> u64 {
        self.chain
            .iter()
            .map(|certificate| certificate.len() as u64)
            .sum()
    }

    /// Writes what the client's side needs; its key only for the owner's eyes.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), CredentialsError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| CredentialsError::Write { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        for (name, mode, text) in [
            ("ca.pem", 0o644, &self.root_pem),
            ("client.pem", 0o644, &self.client_pem),
            ("client.key", 0o600, &self.client_key_pem),
        ] {
            let path = folder.join(name);
            replace(&path, mode, text.as_bytes()).map_err(failed(&path))?;
        }
        Ok(())
    }
}

/// A new file in the place of any old one, lest an old one's mode or link be kept.
fn replace(path: &Path, mode: u32, text: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?
        .write_all(text)
}

fn key_pair(kind: KeyKind) -> Result<KeyPair, CredentialsError> {
    match kind {
        KeyKind::P256 => Ok(KeyPair::generate()?),
        // ring makes no RSA keys. Only the making is the rsa crate's, whose private-key
        // operations are not constant in time (RUSTSEC-2023-0071); ring signs.
        KeyKind::Rsa2048 => {
            let failed = |error: &dyn std::fmt::Display| CredentialsError::Rsa(error.to_string());
            let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, RSA_BITS)
                .map_err(|error| failed(&error))?;
            let der = key.to_pkcs8_der().map_err(|error| failed(&error))?;
            let der = PrivatePkcs8KeyDer::from(der.as_bytes());
            Ok(KeyPair::from_pkcs8_der_and_sign_algo(
                &der,
                &PKCS_RSA_SHA256,
            )?)
        }
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn leaf(names: &[String]) -> Result<CertificateParams, CredentialsError> {
    for name in names {
        if !name.is_ascii() || name.is_empty() {
            return Err(CredentialsError::Name { name: name.clone() });
        }
    }
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "commute server");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

fn client(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

const RSA_BITS: usize = 2048;
