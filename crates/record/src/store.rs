//! The folder of a run.
//!
//! A record has its name only when it is whole: it is written under a name that no reader
//! looks at, synced, renamed, and the folder is synced. After a crash there may be a
//! temporary file too many, never half a record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::data::is_safe_id;
use crate::{Cell, DataError, FORMAT, Run, RunData};

/// A folder that holds, or will hold, one run or one shard of it.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Makes the folder for a new run. It may exist, but not hold a run.
    pub fn create(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = Self { dir: dir.into() };
        let head = store.head();
        match head.try_exists() {
            Ok(false) => {}
            Ok(true) => return Err(StoreError::Taken { file: head }),
            Err(source) => return Err(StoreError::read(&head, source)),
        }
        let cells = store.dir.join(CELLS);
        fs::create_dir_all(&cells)
            .and_then(|()| sync_folder(&store.dir))
            .map_err(|source| StoreError::write(&cells, source))?;
        Ok(store)
    }

    /// Opens the folder of a run that was started before.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = Self { dir: dir.into() };
        let head = store.head();
        match head.try_exists() {
            Ok(true) => Ok(store),
            Ok(false) => Err(StoreError::NoRun { dir: store.dir }),
            Err(source) => Err(StoreError::read(&head, source)),
        }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the head, once; before any cell.
    pub fn write_run(&self, run: &Run) -> Result<(), StoreError> {
        self.write_once(&self.head(), run)
    }

    /// Writes a cell, once.
    pub fn write_cell(&self, cell: &Cell) -> Result<(), StoreError> {
        let file = self.dir.join(CELLS).join(cell.file_name());
        if !is_safe_id(&cell.id) {
            return Err(StoreError::Id {
                id: cell.id.clone(),
            });
        }
        self.write_once(&file, cell)
    }

    /// Reads all that is there. Temporary files, taps and captures are passed over.
    pub fn read(&self) -> Result<RunData, StoreError> {
        let run: Run = read_record(&self.head())?;
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
                    inside: cell.file_name(),
                });
            }
            cells.push(cell);
        }
        RunData::new(run, cells).map_err(|source| StoreError::Data {
            dir: self.dir.clone(),
            source,
        })
    }

    fn head(&self) -> PathBuf {
        self.dir.join("run.json")
    }

    fn write_once<T: Serialize>(&self, file: &Path, record: &T) -> Result<(), StoreError> {
        let failed = |source| StoreError::write(file, source);
        if file.try_exists().map_err(failed)? {
            return Err(StoreError::Taken { file: file.into() });
        }
        let mut text = serde_json::to_vec_pretty(record)
            .map_err(|source| StoreError::write(file, source.into()))?;
        text.push(b'\n');
        if text.len() as u64 > MAX_RECORD_BYTES {
            return Err(StoreError::TooLong { file: file.into() });
        }
        let temporary = temporary_name(file);
        let written = put(&temporary, &text).and_then(|()| fs::rename(&temporary, file));
        if let Err(source) = written {
            // Best effort: readers pass over it anyway, and the first error is the one to tell.
            fs::remove_file(&temporary).ok();
            return Err(failed(source));
        }
        sync_folder(file).map_err(failed)
    }
}

/// No record is longer: a cell of 100,000 calls is about 60 MB.
pub const MAX_RECORD_BYTES: u64 = 256 << 20;

/// No run is larger: 1,000 blocks of 50 arms on 20 networks.
pub const MAX_RECORDS: usize = 1_000_000;

/// What went wrong with a folder of records.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Records are never written over.
    #[error("{} exists already: continue that run with --resume, or choose another folder with --out", file.display())]
    Taken {
        /// What is in the way.
        file: PathBuf,
    },
    /// Not a run's folder.
    #[error("{} holds no run.json: name a folder that `commute run` wrote", dir.display())]
    NoRun {
        /// The folder.
        dir: PathBuf,
    },
    /// No room.
    #[error("{}: no space left. Every cell written before is whole: free some space, then continue with --resume", file.display())]
    Full {
        /// What could not be written.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Cannot be written for another reason.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// What.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// What.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Longer than any record.
    #[error("{} is longer than {} MiB, which no record is", file.display(), MAX_RECORD_BYTES >> 20)]
    TooLong {
        /// Which.
        file: PathBuf,
    },
    /// More than any run writes.
    #[error("{} holds more than {MAX_RECORDS} records, which no run writes", dir.display())]
    TooMany {
        /// The folder.
        dir: PathBuf,
    },
    /// Not a record.
    #[error("{} is not a record: {source}; it was edited or damaged, remove it and its cell will run again with --resume", file.display())]
    Malformed {
        /// Which.
        file: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// Of another version.
    #[error("{} has record format {found}, this commute reads {FORMAT}: read it with the commute that wrote it", file.display())]
    Format {
        /// Which.
        file: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The name is not that of the content.
    #[error("{} holds the cell {inside}: give it that name back", file.display())]
    Renamed {
        /// Which.
        file: PathBuf,
        /// What it should be called.
        inside: String,
    },
    /// An id that cannot be a file's name.
    #[error(
        "{id:?} cannot name a file: ids are letters, digits, '-', '_' and '.', and do not begin with '.'"
    )]
    Id {
        /// Which.
        id: String,
    },
    /// Whole records that do not belong together.
    #[error("{}: {source}", dir.display())]
    Data {
        /// The folder.
        dir: PathBuf,
        /// What contradicts what.
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

const CELLS: &str = "cells";

/// A leading dot keeps readers away; the process id keeps two writers apart.
fn temporary_name(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn is_record(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".json") && !name.starts_with('.')
}

fn put(file: &Path, text: &[u8]) -> io::Result<()> {
    let mut out = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(file)?;
    out.write_all(text)?;
    out.sync_all()
}

/// A new name is durable once the folder that holds it is.
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = match file.parent() {
        None => return Ok(()),
        Some(here) if here.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
    };
    File::open(folder)?.sync_all()
}

fn read_record<T: DeserializeOwned>(file: &Path) -> Result<T, StoreError> {
    /// Enough to tell the version before the rest may fail to parse.
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let failed = |source| StoreError::read(file, source);
    let mut text = Vec::new();
    // A pipe of that name would keep its reader waiting for ever.
    if !fs::metadata(file).map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a file")));
    }
    let opened = File::open(file).map_err(failed)?;
    opened
        .take(MAX_RECORD_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > MAX_RECORD_BYTES {
        return Err(StoreError::TooLong { file: file.into() });
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
    fn a_full_disk_says_what_to_do() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let told = StoreError::write(Path::new("out/run.json"), kind.into()).to_string();
            assert!(
                told.contains("no space left") && told.contains("--resume"),
                "{told}"
            );
        }
    }
}
