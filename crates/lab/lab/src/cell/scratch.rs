//! The temporary folder of a cell.
//!
//! ```text
//! .commute-cell-PID-XXXXXX/   everyone may pass, nobody may list
//!     home/                   the driver's own; in memory, in the driver's sandbox only
//!     client/                 what the driver may read: root certificate, its own key, value files
//!     server/                 the server's: request log and credentials, for nobody else
//! ```
//!
//! What the server writes is not trusted: a link there could lead to a file of root.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use tempfile::TempDir;

const PREFIX: &str = ".commute-cell-";
/// A chain of certificates is a few kilobytes long.
const MAX_HANDED_BYTES: u64 = 1 << 20;

/// The folder of one cell, removed when it is dropped.
pub(crate) struct Scratch {
    dir: TempDir,
    /// The driver's user, if it is not this process's.
    user: Option<u32>,
}

impl Scratch {
    /// Creates the folders for a driver that runs as `user`. The home is only named.
    pub(crate) fn new(user: Option<u32>) -> io::Result<Scratch> {
        let dir = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .permissions(Permissions::from_mode(0o711))
            .tempdir()?;
        let scratch = Scratch { dir, user };
        for (path, mode) in [(scratch.client(), 0o755), (scratch.server(), 0o700)] {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
        }
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

    /// Copies a file of the cell's folder to what the driver may read. Only the driver may read the copy.
    pub(crate) fn hand_over(&self, file: &Path) -> io::Result<PathBuf> {
        let name = file.file_name().unwrap_or_default();
        self.hand_over_as(Path::new(name), &read(file)?)
    }

    /// Writes a file that the driver may read, and nobody else.
    pub(crate) fn hand_over_as(&self, name: &Path, content: &[u8]) -> io::Result<PathBuf> {
        let copy = self.client().join(name);
        fs::write(&copy, content)?;
        fs::set_permissions(&copy, Permissions::from_mode(0o400))?;
        if let Some(user) = self.user {
            chown(&copy, Some(user), Some(user))?;
        }
        Ok(copy)
    }
}

/// Reads a file of a cell's folder that is handed over.
pub(crate) fn read(file: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_written(file)?
        .take(MAX_HANDED_BYTES)
        .read_to_end(&mut content)?;
    Ok(content)
}

/// Opens a file of a cell's folder that a server may have written. Follows no link, and waits for no pipe.
pub(crate) fn open_written(file: &Path) -> io::Result<File> {
    let folder = folder_of(file)?;
    let inside = file.strip_prefix(folder).map_err(io::Error::other)?;
    let folder = open(folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat2(
        &folder,
        inside,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH,
    )?;
    let opened = File::from(opened);
    match opened.metadata()?.is_file() {
        true => Ok(opened),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// Returns the server's folder that a path is or is in.
pub(crate) fn server_folder(path: &Path) -> io::Result<PathBuf> {
    folder_of(path).map(|folder| folder.join("server"))
}

/// Returns the folder of the cell that a path is in.
fn folder_of(path: &Path) -> io::Result<&Path> {
    let is_cell = |dir: &&Path| {
        let name = dir.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX))
    };
    let found = path.ancestors().find(is_cell);
    found.ok_or_else(|| io::Error::other("the file is not in the folder of a cell"))
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
        assert!(ours.server().is_dir() && !ended.exists());
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

    #[test]
    fn links_and_pipes_of_a_server_are_not_followed() {
        let scratch = Scratch::new(None).unwrap();
        let secret = tempfile::tempdir().unwrap();
        fs::write(secret.path().join("ca.pem"), "secret").unwrap();
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, scratch.server().join(name)).unwrap();
        };
        link(&secret.path().join("ca.pem"), "ca.pem");
        link(secret.path(), "credentials");
        let made = std::process::Command::new("mkfifo")
            .arg(scratch.server().join("pipe"))
            .status();
        assert!(made.unwrap().success());
        for file in ["ca.pem", "credentials/ca.pem", "../../ca.pem", "pipe", "."] {
            let opened = scratch.hand_over(&scratch.server().join(file));
            assert!(opened.is_err(), "{file}: {opened:?}");
        }
        assert!(scratch.hand_over(&secret.path().join("ca.pem")).is_err());
    }
}
