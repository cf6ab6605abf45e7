//! The folder of a run.
//!
//! A record is written under a temporary name that readers ignore, synced and renamed; then the
//! folder is synced. A crash may leave a temporary file behind, but never a partial record.

mod error;

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::data::{RunData, is_safe_id};
use crate::folder::{self, NewFile, Readers, is_temporary, sync_parent};
use crate::run::{FORMAT, Run};

pub use error::StoreError;

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
        match fs::symlink_metadata(&header) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) => return Err(StoreError::Exists { file: header }),
            Err(source) => return Err(StoreError::read(&header, source)),
        }
        let cells = store.dir.join(CELLS);
        folder::create(&store.dir, CELLS.as_ref(), Readers::Any)
            .and_then(|_| sync_parent(&store.dir))
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
    /// process ends, however it ends. Deletes the unfinished records of processes that were killed.
    pub fn lock(&self) -> Result<StoreLock, StoreError> {
        let failed = |source| StoreError::read(&self.dir, source);
        let dir = File::open(&self.dir).map_err(failed)?;
        match dir.try_lock() {
            Ok(()) => {
                let cells = self.dir.join(CELLS);
                folder::check(&cells).map_err(|source| StoreError::write(&cells, source))?;
                remove_unfinished(&self.dir);
                remove_unfinished(&cells);
                Ok(StoreLock { _dir: dir })
            }
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
        self.write_and(&file, run, readers, NewFile::replace)
    }

    /// Keeps the content of a file that the run is continued with, under its SHA-256.
    pub fn write_payload(&self, digest: &str, content: &[u8]) -> Result<(), StoreError> {
        let file = self.payload(digest);
        folder::create(&self.dir, PAYLOADS.as_ref(), Readers::Any)
            .and_then(|_| write_synced(&file, content, Readers::Owner, NewFile::replace))
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
        let cells = self.dir.join(CELLS);
        folder::check(&cells).map_err(|source| StoreError::write(&cells, source))?;
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
        match fs::symlink_metadata(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::write(file, source)),
            Ok(_) => return Err(StoreError::Exists { file: file.into() }),
        }
        self.write_and(file, record, readers, NewFile::add)
    }

    /// Writes the record under a temporary name, and `publish` gives it its own.
    fn write_and<T: Serialize>(
        &self,
        file: &Path,
        record: &T,
        readers: Readers,
        publish: fn(NewFile) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec_pretty(record)
            .map_err(|source| StoreError::write(file, source.into()))?;
        text.push(b'\n');
        if text.len() as u64 > MAX_RECORD_BYTES {
            return Err(StoreError::TooLarge { file: file.into() });
        }
        write_synced(file, &text, readers, publish).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { file: file.into() },
            _ => StoreError::write(file, source),
        })
    }
}

/// Writes a file, whose content is on the disk before its name, and its name when this returns.
fn write_synced(
    file: &Path,
    content: &[u8],
    readers: Readers,
    publish: fn(NewFile) -> io::Result<()>,
) -> io::Result<()> {
    let mut new = NewFile::create(file, readers)?;
    new.write_all(content)?;
    new.sync()?;
    publish(new)?;
    sync_parent(file)
}

/// The lock of a run's folder, until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    _dir: File,
}

/// Deletes the temporary files of records in a locked folder. Readers ignore those that cannot be deleted.
fn remove_unfinished(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        if is_temporary(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".json") && !name.starts_with('.')
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
    let malformed = |error| StoreError::malformed(file, &error);
    let Versioned { format } = serde_json::from_slice(&text).map_err(malformed)?;
    if format != FORMAT {
        return Err(StoreError::Format {
            file: file.into(),
            found: format,
        });
    }
    serde_json::from_slice(&text).map_err(malformed)
}
