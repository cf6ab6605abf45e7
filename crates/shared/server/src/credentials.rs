//! Keys and certificates, generated at each start.
//!
//! root -> intermediate -> leaf, and root -> client. The server sends leaf and intermediate, padded
//! to the length of a chain from a public CA, and keeps the leaf's key in memory only. The keys of root and intermediate are dropped once the
//! certificates are signed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType,
    ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, PKCS_RSA_SHA256, date_time_ymd,
};
use rsa::pkcs8::EncodePrivateKey;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};

use crate::config::{Chain, KeyKind, Validity};

const RSA_BITS: usize = 2048;
/// An extension that clients ignore, 1 of the enterprise number for examples (RFC 5612).
const PADDING_OID: [u64; 8] = [1, 3, 6, 1, 4, 1, 32473, 1];
/// The bytes of the padding's extension besides its content: sequence, identifier and string.
const PADDING_HEAD_BYTES: usize = 4 + 12 + 4;

/// What clients need to authenticate: a line of text, and the name of its file.
pub(crate) struct Secret {
    pub(crate) file: &'static str,
    pub(crate) line: String,
}

/// The certificates and keys of both sides.
pub(crate) struct Credentials {
    /// Leaf, then intermediate.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// The key of the leaf.
    pub(crate) key: PrivateKeyDer<'static>,
    /// The root both sides trust.
    pub(crate) root: CertificateDer<'static>,
    root_pem: String,
    client_pem: String,
    client_key_pem: String,
}

/// The credentials could not be generated or written.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A name is not a host name or address.
    #[error("{name:?} is not valid in a certificate; use ASCII host names or IP addresses")]
    Name {
        /// The name as configured.
        name: String,
    },
    /// Signing a certificate failed.
    #[error("cannot generate a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// Generating an RSA key failed.
    #[error("cannot generate an RSA key: {0}")]
    Rsa(String),
    /// The operating system has no random numbers.
    #[error("cannot generate a secret: the operating system gives no random numbers")]
    Random,
    /// Writing to the credentials folder failed.
    #[error("cannot write {path}: {source}; choose a folder you can write to")]
    Write {
        /// The file, or the folder itself.
        path: PathBuf,
        /// The I/O error of the attempt.
        source: io::Error,
    },
}

impl Credentials {
    /// Generates all keys and signs all certificates.
    pub(crate) fn generate(
        names: &[String],
        kind: KeyKind,
        chain: Chain,
        validity: Validity,
    ) -> Result<Self, CredentialsError> {
        let root_key = key_pair(kind)?;
        // The name contains a digest of the key, because clients find an issuer by its name and
        // may have the roots of two servers.
        let digest = Sha256::digest(root_key.public_key_raw());
        let name = format!("commute root {}", messages::hex(&digest[..4]));
        let root = CertifiedIssuer::self_signed(authority(&name), root_key)?;
        let mut intermediate = authority("commute intermediate");
        // RFC 5280, section 4.2.1.1, requires it, and Python refuses chains without it since 3.13.
        intermediate.use_authority_key_identifier_extension = true;
        let intermediate = CertifiedIssuer::signed_by(intermediate, key_pair(kind)?, &root)?;

        let leaf_key = key_pair(kind)?;
        let mut params = leaf(names)?;
        if let Some(year) = match validity {
            Validity::Now => None,
            Validity::Past => Some(2020),
            Validity::Future => Some(2100),
        } {
            params.not_before = date_time_ymd(year, 1, 1);
            params.not_after = date_time_ymd(year, 12, 31);
        }
        let unpadded = params.signed_by(&leaf_key, &intermediate)?;
        params.custom_extensions = padding(
            (chain.bytes()).saturating_sub(unpadded.der().len() + intermediate.der().len()),
        );
        let leaf = params.signed_by(&leaf_key, &intermediate)?;

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

    /// Returns the size of the chain as sent.
    pub(crate) fn chain_bytes(&self) -> u64 {
        self.chain
            .iter()
            .map(|certificate| certificate.len() as u64)
            .sum()
    }

    /// Writes the files that clients need, keys and secrets readable by their owner only.
    pub(crate) fn write(
        &self,
        folder: &Path,
        secret: Option<&Secret>,
    ) -> Result<(), CredentialsError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| CredentialsError::Write { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let files = [
            ("ca.pem", 0o644, &self.root_pem),
            ("client.pem", 0o644, &self.client_pem),
            ("client.key", 0o600, &self.client_key_pem),
        ];
        let secret = secret.map(|secret| (secret.file, 0o600, &secret.line));
        for (name, mode, text) in files.into_iter().chain(secret) {
            let path = folder.join(name);
            replace(&path, mode, text.as_bytes()).map_err(failed(&path))?;
        }
        Ok(())
    }
}

/// Creates a file in place of any existing one, whose mode or link must not be kept.
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
        KeyKind::Rsa2048 => {
            let der = PrivatePkcs8KeyDer::from(rsa_pkcs8()?);
            Ok(KeyPair::from_pkcs8_der_and_sign_algo(
                &der,
                &PKCS_RSA_SHA256,
            )?)
        }
    }
}

/// Generates an RSA key, as PKCS#8.
///
/// ring cannot generate RSA keys. The rsa crate, whose private-key operations are not constant-time
/// (RUSTSEC-2023-0071), generates the key; ring signs with it.
pub(crate) fn rsa_pkcs8() -> Result<Vec<u8>, CredentialsError> {
    let failed = |error: &dyn std::fmt::Display| CredentialsError::Rsa(error.to_string());
    let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, RSA_BITS)
        .map_err(|error| failed(&error))?;
    let der = key.to_pkcs8_der().map_err(|error| failed(&error))?;
    Ok(der.as_bytes().to_vec())
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

/// Returns an extension of about this many bytes, in place of the key identifiers, addresses,
/// policies and signed timestamps that public CAs add.
fn padding(bytes: usize) -> Vec<CustomExtension> {
    let content = vec![0; bytes.saturating_sub(PADDING_HEAD_BYTES)];
    vec![CustomExtension::from_oid_content(&PADDING_OID, content)]
}

fn client(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The identifiers of the extensions subjectKeyIdentifier and authorityKeyIdentifier, in DER (RFC 5280, A.2).
    const SUBJECT_KEY: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x0e];
    const AUTHORITY_KEY: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x23];

    fn has(certificate: &[u8], extension: [u8; 5]) -> bool {
        certificate.windows(5).any(|window| window == extension)
    }

    /// Python has refused others by default since 3.13 (`VERIFY_X509_STRICT`).
    #[test]
    fn certificates_name_the_keys_that_rfc_5280_wants() {
        let names = ["localhost".to_owned()];
        let made = Credentials::generate(&names, KeyKind::P256, Chain::Typical, Validity::Now);
        let made = made.unwrap();
        let [leaf, intermediate] = &made.chain[..] else {
            panic!("{} certificates", made.chain.len());
        };
        for certificate in [leaf, intermediate] {
            assert!(has(certificate, AUTHORITY_KEY));
        }
        for certificate in [intermediate, &made.root] {
            assert!(has(certificate, SUBJECT_KEY));
        }
    }
}
