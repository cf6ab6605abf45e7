//! The studies and stacks that the binary carries, for use outside a checkout.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use etcetera::BaseStrategy as _;

use crate::out;

/// Packed by `build.rs`.
const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.tar"));
/// A folder per content: builds between two releases have the same version.
const FOLDER: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("BUNDLE_CRC32"));

/// Returns the folder with `studies/` and `stacks/`, below the user's data folder. Makes it when there is
/// none yet.
pub(crate) fn unpacked() -> anyhow::Result<PathBuf> {
    let xdg = etcetera::base_strategy::Xdg::new().context(
        "no folder for the studies and stacks: set HOME or XDG_DATA_HOME, or name a checkout of \
         commute with --home",
    )?;
    let data = xdg.data_dir().join("commute");
    let home = data.join(FOLDER);
    if !home.is_dir() {
        unpack(&data, &home).with_context(|| {
            format!(
                "cannot unpack the studies and stacks into {} (XDG_DATA_HOME names another folder)",
                home.display()
            )
        })?;
        out::note!("unpacked the studies and stacks into {}", home.display());
    }
    Ok(home)
}

/// Makes `home` in `data`, completely or not at all.
fn unpack(data: &Path, home: &Path) -> io::Result<()> {
    fs::create_dir_all(data)?;
    let dir = tempfile::Builder::new()
        .prefix(".unpacking-")
        // The user that drivers run as must be able to enter it.
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(data)?;
    tar::Archive::new(ARCHIVE).unpack(dir.path())?;
    match fs::rename(dir.path(), home) {
        Ok(()) => {
            // It is no longer there to be deleted.
            drop(dir.keep());
            Ok(())
        }
        // Another process was faster.
        Err(_) if home.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}
