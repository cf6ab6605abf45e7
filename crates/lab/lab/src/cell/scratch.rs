//! The temporary folder of a cell.
//!
//! ```text
//! .commute-cell-PID-XXXXXX/   everyone may pass, nobody may list
//!     home/                   the driver's own
//!     client/                 what the driver may read: root certificate, its own key, value files
//!     server/                 the server's: request log and credentials, for nobody else
//! ```

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

const PREFIX: &str = ".commute-cell-";

/// The folder of one cell, removed when it is dropped.
pub(crate) struct Scratch {
    dir: TempDir,
    /// The driver's user, if it is not this process's.
    user: Option<u32>,
}

impl Scratch {
    /// Creates the folders for a driver that runs as `user`.
    pub(crate) fn new(user: Option<u32>) -> io::Result<Scratch> {
        let dir = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o711))
            .tempdir()?;
        let scratch = Scratch { dir, user };
        for (path, mode) in [
            (scratch.home(), 0o700),
            (scratch.client(), 0o755),
            (scratch.server(), 0o700),
        ] {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
        }
        scratch.give(&scratch.home())?;
        Ok(scratch)
    }

    /// Returns the driver's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Returns the folder of what the driver may read.
    pub(crate) fn client(&self) -> PathBuf {
        self.dir.path().join("client")
    }

    /// Returns the server's folder.
    pub(crate) fn server(&self) -> PathBuf {
        self.dir.path().join("server")
    }

    /// Copies a file into the folder of what the driver may read. Only the driver may read the copy.
    pub(crate) fn hand_over(&self, file: &Path) -> io::Result<PathBuf> {
        let copy = self.client().join(file.file_name().unwrap_or_default());
        fs::copy(file, &copy)?;
        fs::set_permissions(&copy, Permissions::from_mode(0o400))?;
        self.give(&copy)?;
        Ok(copy)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        match self.user {
            Some(user) => chown(path, Some(user), Some(user)),
            None => Ok(()),
        }
    }
}

/// Removes the folders of processes that were killed. One that cannot be removed, e.g. because it is
/// another user's, stays.
pub(crate) fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_ended_processes_are_swept() {
        let ours = Scratch::new(None).unwrap();
        // Above the largest process id of Linux.
        let ended = std::env::temp_dir().join(format!("{PREFIX}4194305-test"));
        fs::create_dir_all(ended.join("home")).unwrap();
        sweep();
        assert!(ours.home().is_dir() && !ended.exists());
    }

    #[test]
    fn what_is_handed_over_is_for_its_owner_only() {
        let scratch = Scratch::new(None).unwrap();
        let key = scratch.server().join("client.key");
        fs::write(&key, "secret").unwrap();
        let copy = scratch.hand_over(&key).unwrap();
        assert_eq!(fs::read(&copy).unwrap(), b"secret");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&copy), 0o400);
        assert_eq!(mode(&scratch.server()), 0o700);
        assert_eq!(mode(scratch.home().parent().unwrap()), 0o711);
    }
}
