//! The bench's files, with a size limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a whole file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| named(path, &e))?;
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| named(path, &e))?;
    if bytes.len() > limit {
        let problem = format!("{}: longer than {limit} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// Creates or replaces a file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::write(path, bytes).map_err(|e| named(path, &e))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
