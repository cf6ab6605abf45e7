//! The folder of a run.
//!
//! A record is written under a temporary name that readers ignore, synced and renamed; then the
//! folder is synced. A crash may leave a temporary file behind, but never a partial record.

mod error;
mod name;
mod read;
mod replica;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cell::{CallList, Cell};
use crate::collect::Collector;
use crate::data::RunData;
use crate::folder::{self, NewFile, Readers, is_temporary, sync_parent};
use crate::run::{FORMAT, Run};
pub use error::StoreError;
pub use name::{CELLS, PAYLOADS, RecordName};
pub use replica::{Replica, ReplicaError};

/// The largest record that is written or read: a cell of 100,000 calls has about 60 MB.
pub const MAX_RECORD_BYTES: u64 = 256 << 20;

/// The largest run that is read: 1,000 blocks of 50 arms on 20 networks.
pub const MAX_RECORDS: usize = 1_000_000;

/// The folder of one run or of one shard of it.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    replica: Option<Arc<dyn Replica>>,
}

impl Store {
    /// Creates the folder of a new run. Fails if it already contains a run.
    pub fn create(dir: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let store = Self::of(dir.into());
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
        let store = Self::of(dir.into());
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

    fn of(dir: PathBuf) -> Self {
        Self { dir, replica: None }
    }

    /// Has every record also written to a replica. A write fails where that fails; the folder then keeps the record.
    #[must_use]
    pub fn with_replica(self, replica: Option<Arc<dyn Replica>>) -> Self {
        Self { replica, ..self }
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
        self.write_once(&RecordName::HEADER, run, Readers::Any)
    }

    /// Writes the header like [`write_run`](Self::write_run), but for its owner only: the study's own requests, which it
    /// has, may hold credentials.
    pub fn write_private_run(&self, run: &Run) -> Result<(), StoreError> {
        self.check_run(run)?;
        self.write_once(&RecordName::HEADER, run, Readers::Owner)
    }

    /// Replaces the header of a run by one with further blocks at the end of its plan. Cells that
    /// were run before stay valid, and whoever could read the header can read it.
    pub fn extend_run(&self, run: &Run) -> Result<(), StoreError> {
        let file = self.header();
        let text = read_text(&file)?;
        let before: Run = parse_record(&file, &text)?;
        if !run.plan.starts_with(&before.plan) {
            return Err(StoreError::Exists { file });
        }
        let readers = Readers::of(&file).map_err(|source| StoreError::read(&file, source))?;
        let extended = serialise(&file, run)?;
        write_record(&file, &extended, readers, NewFile::replace)?;
        self.replicate(|replica| replica.replace(&RecordName::HEADER, &text, &extended))
    }

    /// Keeps the content of a file that the run is continued with, under its SHA-256.
    pub fn write_payload(&self, digest: &str, content: &[u8]) -> Result<(), StoreError> {
        let Some(name) = RecordName::of_payload(digest) else {
            return Err(StoreError::Id { id: digest.into() });
        };
        let file = self.file(&name);
        folder::create(&self.dir, PAYLOADS.as_ref(), Readers::Any)
            .and_then(|_| write_synced(&file, content, Readers::Owner, NewFile::replace))
            .map_err(|source| StoreError::write(&file, source))?;
        self.replicate(|replica| replica.add(&name, content))
    }

    /// Returns the path of the content with this SHA-256.
    pub fn payload(&self, digest: &str) -> PathBuf {
        self.dir.join(PAYLOADS).join(digest)
    }

    /// Writes a cell. Fails if this attempt was written before.
    pub fn write_cell(&self, cell: &Cell) -> Result<(), StoreError> {
        let Some(name) = RecordName::of_cell(cell) else {
            return Err(StoreError::Id {
                id: cell.id.clone(),
            });
        };
        let cells = self.dir.join(CELLS);
        folder::check(&cells).map_err(|source| StoreError::write(&cells, source))?;
        self.write_once(&name, cell, Readers::Any)
    }

    /// Returns the path of a record.
    pub fn file(&self, name: &RecordName) -> PathBuf {
        self.dir.join(name.to_string())
    }

    /// Returns the names of the records in the folder, in the order in which a run may have written them.
    pub fn names(&self) -> Result<Vec<RecordName>, StoreError> {
        let mut names = Vec::new();
        for folder in ["", PAYLOADS, CELLS] {
            let dir = self.dir.join(folder);
            let entries = match fs::read_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries.map_err(|source| StoreError::read(&dir, source))?,
            };
            for entry in entries {
                let entry = entry.map_err(|source| StoreError::read(&dir, source))?;
                let path = Path::new(folder).join(entry.file_name());
                names.extend(RecordName::parse(&path.to_string_lossy()));
                if names.len() > MAX_RECORDS {
                    return Err(StoreError::TooMany { dir });
                }
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns a record as it was written.
    pub fn read_raw(&self, name: &RecordName) -> Result<Vec<u8>, StoreError> {
        read_text(&self.file(name))
    }

    /// Creates a file that is to become a record which a replica has. Only its owner can read it: the folder does not say
    /// who may.
    pub fn receive(&self, name: &RecordName) -> Result<NewFile, StoreError> {
        let file = self.file(name);
        let below = name.folder().unwrap_or_default();
        folder::create(&self.dir, below.as_ref(), Readers::Any)
            .and_then(|_| NewFile::create(&file, Readers::Owner))
            .map_err(|source| StoreError::write(&file, source))
    }

    /// Reads the header and all cells. Files that are not records, e.g. temporary ones, are ignored.
    pub fn read(&self) -> Result<RunData, StoreError> {
        let mut collector = Collector::new();
        self.collect(&mut collector)?;
        collector.finish().map_err(StoreError::Merge)
    }

    /// Adds the header and all cells to those of other shards, as [`Collector::add_cells`] does.
    pub fn collect<C>(&self, collector: &mut Collector<C>) -> Result<(), StoreError>
    where
        C: CallList + PartialEq + DeserializeOwned + Send,
    {
        let added = collector.add_header(read_record(&self.header())?);
        added.map_err(|source| StoreError::inconsistent(&self.dir, source))?;
        let names = self.cell_names()?;
        collector.add_cells(&self.dir, names.len(), |number| {
            self.read_cell(&names[number])
        })
    }

    /// Returns an iterator over the cells, sorted by file name, that reads one at a time.
    pub fn cells<C>(&self) -> Result<impl Iterator<Item = Result<Cell<C>, StoreError>>, StoreError>
    where
        C: DeserializeOwned,
    {
        let names = self.cell_names()?;
        Ok(names.into_iter().map(|name| self.read_cell(&name)))
    }

    /// Returns the names of the files with cells, sorted.
    fn cell_names(&self) -> Result<Vec<OsString>, StoreError> {
        let dir = self.dir.join(CELLS);
        let mut names = Vec::new();
        for entry in fs::read_dir(&dir).map_err(|source| StoreError::read(&dir, source))? {
            let entry = entry.map_err(|source| StoreError::read(&dir, source))?;
            let name = entry.file_name();
            if !is_record(&name) {
                continue;
            }
            if names.len() == MAX_RECORDS {
                return Err(StoreError::TooMany { dir });
            }
            names.push(name);
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read_cell<C: DeserializeOwned>(&self, name: &OsStr) -> Result<Cell<C>, StoreError> {
        let file = self.dir.join(CELLS).join(name);
        parse_cell(&file, &read_text(&file)?)
    }

    fn header(&self) -> PathBuf {
        self.file(&RecordName::HEADER)
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
        name: &RecordName,
        record: &T,
        readers: Readers,
    ) -> Result<(), StoreError> {
        let file = self.file(name);
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::write(&file, source)),
            Ok(_) => return Err(StoreError::Exists { file }),
        }
        let text = serialise(&file, record)?;
        write_record(&file, &text, readers, NewFile::add)?;
        self.replicate(|replica| replica.add(name, &text))
    }

    fn replicate(
        &self,
        write: impl FnOnce(&dyn Replica) -> Result<(), ReplicaError>,
    ) -> Result<(), StoreError> {
        let written = self.replica.as_deref().map_or(Ok(()), write);
        written.map_err(|source| StoreError::Replica { source })
    }
}

/// Returns the text of a record. Fails if it is too large to be read again.
fn serialise<T: Serialize>(file: &Path, record: &T) -> Result<Vec<u8>, StoreError> {
    let text = serde_json::to_vec_pretty(record);
    let mut text = text.map_err(|source| StoreError::write(file, source.into()))?;
    text.push(b'\n');
    match text.len() as u64 > MAX_RECORD_BYTES {
        true => Err(StoreError::TooLarge { file: file.into() }),
        false => Ok(text),
    }
}

/// Writes the record under a temporary name, and `publish` gives it its own.
fn write_record(
    file: &Path,
    text: &[u8],
    readers: Readers,
    publish: fn(NewFile) -> io::Result<()>,
) -> Result<(), StoreError> {
    write_synced(file, text, readers, publish).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Exists { file: file.into() },
        _ => StoreError::write(file, source),
    })
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

fn is_record(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with(".json") && !name.starts_with('.')
}

/// Parses the header of a run. `file` is for errors.
pub fn parse_run(file: &Path, text: &[u8]) -> Result<Run, StoreError> {
    parse_record(file, text)
}

/// Parses a cell. Fails if `file` has another name than its record.
pub fn parse_cell<C: DeserializeOwned>(file: &Path, text: &[u8]) -> Result<Cell<C>, StoreError> {
    let cell: Cell<C> = parse_record(file, text)?;
    match file.file_name() == Some(cell.file_name().as_ref()) {
        true => Ok(cell),
        false => Err(StoreError::Renamed {
            file: file.into(),
            expected: cell.file_name(),
        }),
    }
}

fn read_record<T: DeserializeOwned>(file: &Path) -> Result<T, StoreError> {
    parse_record(file, &read_text(file)?)
}

fn read_text(file: &Path) -> Result<Vec<u8>, StoreError> {
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
    match text.len() as u64 > MAX_RECORD_BYTES {
        true => Err(StoreError::TooLarge { file: file.into() }),
        false => Ok(text),
    }
}

fn parse_record<T: DeserializeOwned>(file: &Path, text: &[u8]) -> Result<T, StoreError> {
    /// The version, which all formats have.
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let malformed = |error| StoreError::malformed(file, &error);
    let record = serde_json::from_slice(text);
    // Another format may parse as well.
    if record.is_ok() && has_format_first(text) {
        return record.map_err(malformed);
    }
    let Versioned { format } = serde_json::from_slice(text).map_err(malformed)?;
    if format != FORMAT {
        return Err(StoreError::Format {
            file: file.into(),
            found: format,
        });
    }
    record.map_err(malformed)
}

/// Reports whether a record begins with this format, as all that commute writes do.
fn has_format_first(text: &[u8]) -> bool {
    let beginning = text.get(..text.len().min(32)).unwrap_or_default();
    let expected = format!("{{\n  \"format\": {FORMAT},");
    beginning.starts_with(expected.as_bytes())
}
