//! Reads and replaces the memory file in a folder that other processes, and strangers, may write to.
//!
//! A writer creates a temporary file of its own and renames it, so readers see the old file or the new one. Nothing is
//! opened through a symbolic link, and opening never blocks.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::random;
use crate::file_identity::is_same_file;

/// Temporary files are named `route.PID.RANDOM.new`.
const PREFIX: &str = "route.";
const SUFFIX: &str = ".new";
const RANDOM_DIGITS: usize = 16;
/// Another process may take a temporary file for one of a dead process, e.g. in another PID namespace.
const MAX_TRIES: usize = 3;
/// Bounds the search for temporary files of dead processes.
const MAX_LOOKED_AT: usize = 1_024;
/// A temporary file of this age has no writer, even if a process has its PID.
const MAX_WRITING: Duration = Duration::from_secs(3_600);

/// A file that was read. While it is open, no other file gets its inode.
pub(super) struct Contents {
    pub(super) bytes: Vec<u8>,
    file: File,
}

/// Reads up to `limit` bytes of a regular file. Fails with `InvalidInput` for anything else, and for the file of another
/// user who is not root.
pub(super) fn read(path: &Path, limit: usize) -> io::Result<Contents> {
    let mut options = OpenOptions::new();
    let file = platform::without_links(options.read(true)).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(refused("it is not a regular file; remove it"));
    }
    if !platform::is_trusted(&metadata) {
        return Err(refused("it belongs to another user; remove it"));
    }
    let mut bytes = Vec::new();
    (&file).take(limit as u64).read_to_end(&mut bytes)?;
    Ok(Contents { bytes, file })
}

/// Replaces a file, and creates its folder if that is missing.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder(path)?;
    let mut tries = 1;
    loop {
        platform::create(folder)?;
        match write_and_rename(folder, path, bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && tries < MAX_TRIES => {
                tries += 1;
            }
            outcome => break outcome,
        }
    }?;
    remove_abandoned(folder);
    Ok(())
}

/// Renames a damaged file to `aside`, unless another file has taken its place since it was read.
pub(super) fn set_aside(path: &Path, damaged: &Contents, aside: &Path) -> io::Result<()> {
    // Under a name of its own, no other process can replace it between the check and the second renaming.
    let temporary = temporary_name(folder(path)?)?;
    let read = damaged.file.metadata()?;
    fs::rename(path, &temporary)?;
    let found = fs::symlink_metadata(&temporary)?;
    let same = is_same_file(&found, &read);
    let renamed = fs::rename(&temporary, if same { aside } else { path });
    if renamed.is_err() {
        fs::remove_file(&temporary).ok();
    }
    renamed
}

fn write_and_rename(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_name(folder)?;
    let mut options = OpenOptions::new();
    let mut file = platform::private(options.write(true).create_new(true)).open(&temporary)?;
    let written = file
        .write_all(bytes)
        // Without this, some file systems keep the new name and not the bytes when the power fails.
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written
}

fn temporary_name(folder: &Path) -> io::Result<PathBuf> {
    let [a, b, c, d, e, f, g, h, ..] = random()?;
    let random = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    let pid = std::process::id();
    Ok(folder.join(format!("{PREFIX}{pid}.{random:0RANDOM_DIGITS$x}{SUFFIX}")))
}

/// Returns the PID in a temporary file's name.
fn writer(name: &str) -> Option<u32> {
    let name = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (pid, random) = name.split_once('.')?;
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let pid = pid.parse().ok().filter(|pid| *pid > 0)?;
    (random.len() == RANDOM_DIGITS && digits(random)).then_some(pid)
}

/// Removes temporary files of processes that ended before they renamed them.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.take(MAX_LOOKED_AT).flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(writer) else {
            continue;
        };
        let is_old = || {
            let modified = entry.metadata().and_then(|found| found.modified()).ok();
            modified
                .and_then(|modified| modified.elapsed().ok())
                .is_some_and(|age| age >= MAX_WRITING)
        };
        if !platform::is_alive(pid) || is_old() {
            // A folder of that name stays.
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn folder(path: &Path) -> io::Result<&Path> {
    path.parent()
        .ok_or_else(|| refused("the memory file is in no folder"))
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(unix)]
mod platform {
    use std::fs::{DirBuilder, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
    use std::path::Path;

    /// Makes opening fail at a link, and not wait for a FIFO's writer.
    pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
    }

    /// Makes a new file that only this user can read.
    pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW)
    }

    /// Creates a folder that only this user can read, unless it exists.
    pub(super) fn create(folder: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)
    }

    pub(super) fn is_trusted(file: &Metadata) -> bool {
        // SAFETY: it has no conditions.
        let own = unsafe { libc::geteuid() };
        file.uid() == own || file.uid() == 0
    }

    pub(super) fn is_alive(pid: u32) -> bool {
        let Ok(pid) = libc::pid_t::try_from(pid) else {
            return false;
        };
        // SAFETY: signal 0 is never delivered.
        let found = unsafe { libc::kill(pid, 0) } == 0;
        // Another user's process cannot be signalled.
        found || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
    }
}

#[cfg(not(unix))]
mod platform {
    use std::fs::{self, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(super) fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(super) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(super) fn create(folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    pub(super) fn is_trusted(_: &Metadata) -> bool {
        true
    }

    /// Returns true: only the age of a process's files tells here whether it is dead.
    pub(super) fn is_alive(_: u32) -> bool {
        true
    }
}
