//! The folder of a run.
//!
//! A record is written under a temporary name that readers ignore, synced and renamed; then the
//! folder is synced. A crash may leave a temporary file behind, but never a partial record.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::data::{DataError, RunData, is_safe_id};
use crate::run::{FORMAT, Run};

/// The largest record that is written or read: a cell of 100,000 calls has about 60 MB.
pub const MAX_RECORD_BYTES: u64 = 256 << 20;

/// The largest run that is read: 1,000 blocks of 50 arms on 20 networks.
pub const MAX_RECORDS: usize = 1_000_000;

const HEADER: &str = "run.json";
const CELLS: &str = "cells";
const PAYLOADS: &str = "payloads";

/// The folder of one run or of one shard of it.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Creates the folder of a new run. Fails if it already contains a run.
    pub fn create(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = Self { dir: dir.into() };
        let header = store.header();
        match header.try_exists() {
            Ok(false) => {}
            Ok(true) => return Err(StoreError::Exists { file: header }),
            Err(source) => return Err(StoreError::read(&header, source)),
        }
        let cells = store.dir.join(CELLS);
        fs::create_dir_all(&cells)
            .and_then(|()| sync_parent(&store.dir))
            .map_err(|source| StoreError::write(&cells, source))?;
        Ok(store)
    }

    /// Opens the folder of an existing run. Fails if it contains none.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = Self { dir: dir.into() };
        let header = store.header();
        match header.try_exists() {
            Ok(true) => Ok(store),
            Ok(false) => Err(StoreError::NoRun { dir: store.dir }),
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
                Err(StoreError::NoRun { dir: store.dir })
            }
            Err(source) => Err(StoreError::read(&header, source)),
        }
    }

    /// Keeps every other process from writing to the folder until the lock is dropped or this
    /// process ends, however it ends.
    pub fn lock(&self) -> Result<StoreLock, StoreError> {
        let failed = |source| StoreError::read(&self.dir, source);
        let dir = File::open(&self.dir).map_err(failed)?;
        match dir.try_lock() {
            Ok(()) => Ok(StoreLock { _dir: dir }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
                dir: self.dir.clone(),
            }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Returns the path of the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the header. Fails if it exists. It must be written before any cell.
    ///
    /// A header that could not be read again is refused.
    pub fn write_run(&self, run: &Run) -> Result<(), StoreError> {
        self.check_run(run)?;
        self.write_once(&self.header(), run, Readers::Any)
    }

    /// Writes the header like [`write_run`](Self::write_run), but for its owner only: the study's own requests, which it
    /// has, may hold credentials.
    pub fn write_private_run(&self, run: &Run) -> Result<(), StoreError> {
        self.check_run(run)?;
        self.write_once(&self.header(), run, Readers::Owner)
    }

    /// Replaces the header of a run by one with further blocks at the end of its plan. Cells that
    /// were run before stay valid, and whoever could read the header can read it.
    pub fn extend_run(&self, run: &Run) -> Result<(), StoreError> {
        let file = self.header();
        let before: Run = read_record(&file)?;
        if !run.plan.starts_with(&before.plan) {
            return Err(StoreError::Exists { file });
        }
        let readers = Readers::of(&file).map_err(|source| StoreError::read(&file, source))?;
        self.write_and(&file, run, readers, |temporary| {
            fs::rename(temporary, &file)
        })
    }

    /// Keeps the content of a file that the run is continued with, under its SHA-256.
    pub fn write_payload(&self, digest: &str, content: &[u8]) -> Result<(), StoreError> {
        let file = self.payload(digest);
        fs::create_dir_all(self.dir.join(PAYLOADS))
            .and_then(|()| write_synced(&file, content, Readers::Owner))
            .and_then(|()| sync_parent(&file))
            .map_err(|source| StoreError::write(&file, source))
    }

    /// Returns the path of the content with this SHA-256.
    pub fn payload(&self, digest: &str) -> PathBuf {
        self.dir.join(PAYLOADS).join(digest)
    }

    /// Writes a cell. Fails if this attempt was written before.
    pub fn write_cell(&self, cell: &Cell) -> Result<(), StoreError> {
        let file = self.dir.join(CELLS).join(cell.file_name());
        if !is_safe_id(&cell.id) {
            return Err(StoreError::Id {
                id: cell.id.clone(),
            });
        }
        self.write_once(&file, cell, Readers::Any)
    }

    /// Reads the header and all cells. Files that are not records, e.g. temporary ones, are ignored.
    pub fn read(&self) -> Result<RunData, StoreError> {
        let run: Run = read_record(&self.header())?;
        let dir = self.dir.join(CELLS);
        let mut cells = Vec::new();
        for entry in fs::read_dir(&dir).map_err(|source| StoreError::read(&dir, source))? {
            let path = entry
                .map_err(|source| StoreError::read(&dir, source))?
                .path();
            if !is_record(&path) {
                continue;
            }
            if cells.len() == MAX_RECORDS {
                return Err(StoreError::TooMany { dir });
            }
            let cell: Cell = read_record(&path)?;
            if path.file_name() != Some(cell.file_name().as_ref()) {
                return Err(StoreError::Renamed {
                    file: path,
                    expected: cell.file_name(),
                });
            }
            cells.push(cell);
        }
        RunData::new(run, cells).map_err(|source| StoreError::Data {
            dir: self.dir.clone(),
            source,
        })
    }

    fn header(&self) -> PathBuf {
        self.dir.join(HEADER)
    }

    /// Fails if the header could not be read again.
    fn check_run(&self, run: &Run) -> Result<(), StoreError> {
        let checked = RunData::new(run.clone(), Vec::new());
        checked.map(drop).map_err(|source| StoreError::Data {
            dir: self.dir.clone(),
            source,
        })
    }

    fn write_once<T: Serialize>(
        &self,
        file: &Path,
        record: &T,
        readers: Readers,
    ) -> Result<(), StoreError> {
        let failed = |source| StoreError::write(file, source);
        if file.try_exists().map_err(failed)? {
            return Err(StoreError::Exists { file: file.into() });
        }
        // A link, unlike a rename, never replaces what another process wrote in the meantime.
        self.write_and(file, record, readers, |temporary| {
            fs::hard_link(temporary, file)?;
            fs::remove_file(temporary)
        })
    }

    /// Writes the record under a temporary name, which `publish` then makes its own.
    fn write_and<T: Serialize>(
        &self,
        file: &Path,
        record: &T,
        readers: Readers,
        publish: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let failed = |source| StoreError::write(file, source);
        let mut text = serde_json::to_vec_pretty(record)
            .map_err(|source| StoreError::write(file, source.into()))?;
        text.push(b'\n');
        if text.len() as u64 > MAX_RECORD_BYTES {
            return Err(StoreError::TooLarge { file: file.into() });
        }
        let temporary = temporary_name(file);
        let written = write_synced(&temporary, &text, readers).and_then(|()| publish(&temporary));
        if let Err(source) = written {
            // Best effort: readers ignore it anyway, and the first error is the one to report.
            fs::remove_file(&temporary).ok();
            return Err(match source.kind() {
                io::ErrorKind::AlreadyExists => StoreError::Exists { file: file.into() },
                _ => failed(source),
            });
        }
        sync_parent(file).map_err(failed)
    }
}

/// The lock of a run's folder, until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    _dir: File,
}

/// Why a folder of records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file exists already; records are never overwritten.
    #[error("{} already exists: continue that run with --resume, or choose another folder with --out", file.display())]
    Exists {
        /// The existing file.
        file: PathBuf,
    },
    /// Another process writes to the folder.
    #[error("{}: another commute is running into this folder; wait for it, or choose another folder with --out", dir.display())]
    Locked {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder contains no run.
    #[error("{} contains no run.json: name a folder that `commute run` wrote", dir.display())]
    NoRun {
        /// The folder.
        dir: PathBuf,
    },
    /// The disk or the quota is full.
    #[error("{}: no space left. Cells written before are complete: free some space, then continue with --resume", file.display())]
    Full {
        /// The file that could not be written.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file cannot be written for another reason.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file or folder cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file or folder.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The record is larger than [`MAX_RECORD_BYTES`].
    #[error("{} is larger than {} MiB, the limit for a record", file.display(), MAX_RECORD_BYTES >> 20)]
    TooLarge {
        /// The record.
        file: PathBuf,
    },
    /// There are more than [`MAX_RECORDS`] records.
    #[error("{} contains more than {MAX_RECORDS} records, the limit for a run", dir.display())]
    TooMany {
        /// The folder.
        dir: PathBuf,
    },
    /// The file is not a valid record.
    #[error("{} is not a valid record: {source}; it was edited or damaged, remove it and run its cell again with --resume", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The syntax or schema error, with its position.
        source: serde_json::Error,
    },
    /// The record has another format.
    #[error("{} has record format {found}, this commute reads {FORMAT}: read it with the version that wrote it", file.display())]
    Format {
        /// The record.
        file: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The file name does not match the content.
    #[error("{} contains the cell {expected}: rename it back to that", file.display())]
    Renamed {
        /// The file.
        file: PathBuf,
        /// The file name that belongs to the content.
        expected: String,
    },
    /// The id cannot be part of a file name.
    #[error(
        "{id:?} is not a valid cell id: use letters, digits, '-', '_' and '.', and do not begin with '.'"
    )]
    Id {
        /// The id.
        id: String,
    },
    /// The records do not belong together.
    #[error("{}: {source}", dir.display())]
    Data {
        /// The folder.
        dir: PathBuf,
        /// The inconsistency.
        source: DataError,
    },
}

impl StoreError {
    fn read(file: &Path, source: io::Error) -> Self {
        Self::Read {
            file: file.into(),
            source,
        }
    }

    fn write(file: &Path, source: io::Error) -> Self {
        let file = file.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { file, source }
            }
            _ => Self::Write { file, source },
        }
    }
}

/// Returns a name that readers ignore, by its leading dot, and that no other process writes.
fn temporary_name(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".json") && !name.starts_with('.')
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    Any,
    /// What an app sends may be anybody's secret.
    Owner,
}

impl Readers {
    /// Returns the readers of a file.
    #[cfg(unix)]
    fn of(file: &Path) -> io::Result<Self> {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(file)?);
        Ok(match mode & 0o077 {
            0 => Self::Owner,
            _ => Self::Any,
        })
    }

    #[cfg(not(unix))]
    fn of(_: &Path) -> io::Result<Self> {
        Ok(Self::Any)
    }
}

fn write_synced(file: &Path, text: &[u8], readers: Readers) -> io::Result<()> {
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
fn sync_parent(file: &Path) -> io::Result<()> {
    let folder = match file.parent() {
        None => return Ok(()),
        Some(here) if here.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
    };
    File::open(folder)?.sync_all()
}

fn read_record<T: DeserializeOwned>(file: &Path) -> Result<T, StoreError> {
    /// The version, which is checked before parsing the rest can fail.
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let failed = |source| StoreError::read(file, source);
    let mut text = Vec::new();
    // A named pipe would block the reader indefinitely.
    if !fs::metadata(file).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("not a regular file")));
    }
    let opened = File::open(file).map_err(failed)?;
    opened
        .take(MAX_RECORD_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > MAX_RECORD_BYTES {
        return Err(StoreError::TooLarge { file: file.into() });
    }
    let malformed = |source| StoreError::Malformed {
        file: file.into(),
        source,
    };
    let Versioned { format } = serde_json::from_slice(&text).map_err(malformed)?;
    if format != FORMAT {
        return Err(StoreError::Format {
            file: file.into(),
            found: format,
        });
    }
    serde_json::from_slice(&text).map_err(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_error_says_how_to_continue() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let message = StoreError::write(Path::new("out/run.json"), kind.into()).to_string();
            assert!(
                message.contains("no space left") && message.contains("--resume"),
                "{message}"
            );
        }
    }
}
