//! Files that a study names: bodies of requests, traces of networks and certificate authorities.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use config::ConfigError;
use study::{Study, Trust};

use crate::error::LabError;

/// What a certificate begins with in PEM (RFC 7468 section 5.1).
const PEM_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";
/// The system's authorities are some 200 kB.
const MAX_PEM_BYTES: u64 = 4 << 20;

/// Parses and checks a study. The files that it names are beside `file`, which messages name, too.
pub fn parse_study(file: &str, text: &str) -> Result<Study, ConfigError> {
    let base = Path::new(file).parent().unwrap_or(Path::new(""));
    Study::parse_with(file, text, &|path, limit| {
        read_file(&base.join(path), limit)
    })
}

/// Reads at most `limit` + 1 bytes of a file.
pub(crate) fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // A named pipe would block the reader indefinitely.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?
        .take(limit + 1)
        .read_to_end(&mut content)?;
    Ok(content)
}

/// Returns the authorities with their file's content instead of its path.
pub(crate) fn read_trust(trust: &Trust) -> Result<Trust, LabError> {
    let Trust::File(path) = trust else {
        return Ok(trust.clone());
    };
    let read = |path: &Path| -> io::Result<String> {
        let mut pem = String::new();
        File::open(path)?
            .take(MAX_PEM_BYTES)
            .read_to_string(&mut pem)?;
        Ok(pem)
    };
    let pem = read(path).map_err(|source| LabError::Read {
        path: path.clone(),
        source,
    })?;
    match pem.contains(PEM_CERTIFICATE) {
        true => Ok(Trust::Pem(pem)),
        false => Err(LabError::Unreachable(format!(
            "{}: no certificate in PEM (`{PEM_CERTIFICATE}`)",
            path.display()
        ))),
    }
}
