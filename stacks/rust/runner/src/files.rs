//! Files of the bench, never longer than anybody sends.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The whole file, if it has at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let name = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(name)?;
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(name)?;
    if bytes.len() > limit {
        let problem = format!("{}: longer than {limit} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// Makes or replaces the file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    std::fs::write(path, bytes).map_err(name)
}
