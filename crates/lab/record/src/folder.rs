//! Writes into the folder of a run, by the store and by those that add reports and captures.
//!
//! The folder may have come from a stranger, e.g. in a repository. So a file is written under a temporary name and
//! renamed, which replaces a symbolic link instead of its target; and a folder in the run's folder must not be a link.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};

/// Who may read a file or enter a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// All users, less the file mode mask of the process.
    Any,
    /// Only the owner: what an app sends may be anybody's secret.
    Owner,
}

impl Readers {
    /// Returns the readers of a file.
    #[cfg(unix)]
    pub fn of(file: &Path) -> io::Result<Self> {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(file)?);
        Ok(match mode & 0o077 {
            0 => Self::Owner,
            _ => Self::Any,
        })
    }

    /// Returns the readers of a file.
    #[cfg(not(unix))]
    pub fn of(_: &Path) -> io::Result<Self> {
        Ok(Self::Any)
    }
}

/// A file under a temporary name, which is deleted when dropped.
#[derive(Debug)]
pub struct NewFile {
    out: File,
    temporary: PathBuf,
    file: PathBuf,
}

impl NewFile {
    /// Creates an empty file that is to become `file`.
    pub fn create(file: &Path, readers: Readers) -> io::Result<NewFile> {
        let temporary = temporary_name(file);
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        if readers == Readers::Owner {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        #[cfg(not(unix))]
        let _ = readers;
        // Follows no link, unlike without `new`.
        let out = options.write(true).create_new(true).open(&temporary)?;
        let file = file.to_owned();
        Ok(NewFile {
            out,
            temporary,
            file,
        })
    }

    /// Gives the file its name. Replaces what has the name.
    pub fn replace(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.file)
    }

    /// Gives the file its name, or fails if the name exists. Unlike renaming, this never replaces what another process
    /// wrote in the meantime.
    pub fn add(self) -> io::Result<()> {
        fs::hard_link(&self.temporary, &self.file)
    }

    /// Gives the file its name. Moves a file of that name to `aside` before, if its content differs. Returns whether it did.
    pub fn supersede(self, aside: &Path) -> io::Result<bool> {
        let differs = match fs::symlink_metadata(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
            Ok(_) => !have_same_content(&self.temporary, &self.file)?,
        };
        if differs {
            fs::rename(&self.file, aside)?;
        }
        fs::rename(&self.temporary, &self.file)?;
        Ok(differs)
    }

    /// Waits until the content is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.out.sync_all()
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // Once renamed, it no longer exists. Readers ignore one that cannot be deleted.
        fs::remove_file(&self.temporary).ok();
    }
}

fn have_same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (one, other) = (File::open(one)?, File::open(other)?);
    // Of a named pipe, the length is 0.
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let length = left.len().min(right.len());
        if left[..length] != right[..length] {
            return Ok(false);
        }
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        one.consume(length);
        other.consume(length);
    }
}

/// Writes a file. Replaces what has the name.
pub fn replace(file: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
    let mut new = NewFile::create(file, readers)?;
    new.write_all(content)?;
    new.replace()
}

/// Creates the folder `below` in the run's folder, and those around it, unless they exist. Fails if one below the run's
/// folder is a symbolic link.
pub fn create(run: &Path, below: &Path, readers: Readers) -> io::Result<PathBuf> {
    fs::create_dir_all(run)?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = readers;
    let mut dir = run.to_owned();
    for name in below {
        dir.push(name);
        match builder.create(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(&dir)?,
            created => created?,
        }
    }
    Ok(dir)
}

/// Fails unless the path is a folder, and not a link to one.
pub(crate) fn check(dir: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(dir)?.file_type();
    if kind.is_symlink() {
        let reason = format!(
            "{} is a symbolic link, which is not followed: remove it",
            dir.display()
        );
        return Err(io::Error::other(reason));
    }
    match kind.is_dir() {
        true => Ok(()),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

/// Returns a name that readers ignore, by its leading dot, and that no other process writes.
fn temporary_name(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// Reports whether [`temporary_name`] makes such names.
pub(crate) fn is_temporary(name: &str) -> bool {
    let inner = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".tmp"));
    let process = inner.and_then(|inner| inner.rsplit_once('.'));
    process.is_some_and(|(_, process)| process.parse::<u32>().is_ok())
}

/// Syncs the folder that contains `file`, which makes the name of `file` durable.
pub(crate) fn sync_parent(file: &Path) -> io::Result<()> {
    let folder = match file.parent() {
        None => return Ok(()),
        Some(here) if here.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
    };
    File::open(folder)?.sync_all()
}
