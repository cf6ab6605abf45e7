//! Files that are on the disk before the next step, and readable for those who may read them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readers {
    Any,
    /// What an app sends may be anybody's secret.
    Owner,
}

impl Readers {
    /// Returns the readers of a file.
    #[cfg(unix)]
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(file)?);
        Ok(match mode & 0o077 {
            0 => Self::Owner,
            _ => Self::Any,
        })
    }

    #[cfg(not(unix))]
    pub(super) fn of(_: &Path) -> io::Result<Self> {
        Ok(Self::Any)
    }
}

pub(super) fn write_synced(file: &Path, text: &[u8], readers: Readers) -> io::Result<()> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut out = options.write(true).create(true).truncate(true).open(file)?;
    #[cfg(unix)]
    if readers == Readers::Owner {
        // It may have been there.
        out.set_permissions(
            <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o600),
        )?;
    }
    out.write_all(text)?;
    out.sync_all()
}

/// Syncs the folder that contains `file`, which makes the name of `file` durable.
pub(super) fn sync_parent(file: &Path) -> io::Result<()> {
    let folder = match file.parent() {
        None => return Ok(()),
        Some(here) if here.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
    };
    File::open(folder)?.sync_all()
}
