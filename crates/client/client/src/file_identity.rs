//! Whether two paths name one file.

use std::fs::Metadata;

/// Reports whether these are of one file.
#[cfg(unix)]
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Reports whether these are of one file, as far as length and time tell.
#[cfg(not(unix))]
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    one.len() == other.len() && one.modified().ok() == other.modified().ok()
}
