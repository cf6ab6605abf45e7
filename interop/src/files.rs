//! The files that servers serve, the certificates they show, and digests of bodies.

use std::fs;
use std::path::Path;

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use sha2::{Digest, Sha256};

/// Name and size of each served file.
pub(crate) const FILES: [(&str, usize); 4] = [
    ("small.txt", 12),
    ("10k.bin", 10_000),
    ("1m.bin", 1_000_000),
    ("100m.bin", 100_000_000),
];

/// Returns the first bytes of a fixed sequence, in which no part of some length occurs twice.
pub(crate) fn content(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Returns the SHA-256 of these bytes in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes all served files to this folder.
pub(crate) fn write_files(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for (name, length) in FILES {
        let path = folder.join(name);
        fs::write(&path, content(length)).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// Makes a CA and a certificate for `localhost` and `far`, the name of the far end of `commute link`. Writes ca.pem,
/// cert.pem, key.pem, and combined.pem with certificate and key.
pub(crate) fn write_certificates(folder: &Path) -> anyhow::Result<()> {
    let ca_key = KeyPair::generate()?;
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.distinguished_name
        .push(DnType::CommonName, "commute interop CA");
    let ca_pem = ca.self_signed(&ca_key)?.pem();
    let key = KeyPair::generate()?;
    let names = ["localhost", "far", "127.0.0.1"].map(str::to_owned);
    let issuer = Issuer::new(ca, ca_key);
    let mut cert = CertificateParams::new(names)?;
    cert.use_authority_key_identifier_extension = true;
    let cert = cert.signed_by(&key, &issuer)?;
    let (cert, key) = (cert.pem(), key.serialize_pem());
    let combined = format!("{cert}{key}");
    for (name, text) in [
        ("ca.pem", &ca_pem),
        ("cert.pem", &cert),
        ("key.pem", &key),
        ("combined.pem", &combined),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_a_shorter_file_is_the_beginning_of_a_longer_one() {
        assert_eq!(content(13), content(1_000)[..13]);
        assert_ne!(content(8), content(16)[8..]);
    }

    #[test]
    fn digest_is_sha_256_in_hexadecimal_digits() {
        // The empty message of FIPS 180-4's examples.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(digest(b""), empty);
    }
}
