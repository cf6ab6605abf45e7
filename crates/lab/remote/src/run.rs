//! One run, or one shard of it, whose records a bucket keeps.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use record::folder::{self, Readers};
use record::{RecordName, Replica, ReplicaError, Run, Store};
use sha2::{Digest as _, Sha256};

use crate::bucket::{Bucket, Found, Object};
use crate::budget::Budget;
use crate::error::{MAX_OBJECTS, RemoteError};
use crate::location::Prefix;
use crate::read::PARALLEL;
use crate::reason;

/// Of the readable part of a folder's name.
const MAX_NAME_BYTES: usize = 80;
/// Where records are, below the folder of the prefix, and those that do not count.
const RECORDS: &str = "records";
const UNCOUNTED: &str = "uncounted";

/// A run below a prefix, and the folder in which this machine prepares its records.
#[derive(Debug)]
pub struct RemoteRun {
    bucket: Bucket,
    caches: PathBuf,
    /// The folder of the prefix, which this process locks.
    home: PathBuf,
    folder: PathBuf,
    lock: Mutex<Option<File>>,
}

/// What [`RemoteRun::fetch`] found in the local folder.
#[derive(Debug, Default)]
pub struct Fetched {
    /// Records that an earlier run of this machine could not store.
    pub unstored: Vec<RecordName>,
    /// How many records of this machine gave way to those of another.
    pub uncounted: usize,
}

impl RemoteRun {
    /// Names the run below the prefix of a bucket. Its folder is in `caches`, one per prefix and store, so that this
    /// machine finds it again.
    pub fn new(bucket: Bucket, caches: &Path) -> Self {
        let home = caches.join("runs").join(folder_name(&bucket));
        Self {
            caches: caches.to_owned(),
            folder: home.join(RECORDS),
            home,
            bucket,
            lock: Mutex::default(),
        }
    }

    /// Returns the prefix.
    pub fn prefix(&self) -> &Prefix {
        self.bucket.prefix()
    }

    /// Returns the folder of the user's caches.
    pub fn caches(&self) -> &Path {
        &self.caches
    }

    /// Returns the local folder of the records.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of this machine's records that gave way to those of another.
    pub fn uncounted(&self) -> PathBuf {
        self.home.join(UNCOUNTED)
    }

    /// Empties the folder for a new run, and locks it. Fails if the prefix holds a run or cannot be read, or if the folder
    /// holds cells.
    pub fn check_new(&self) -> Result<(), RemoteError> {
        self.lock()?;
        self.bucket.block_on(async {
            if self.bucket.has(&RecordName::HEADER).await? {
                return Err(RemoteError::Exists {
                    prefix: self.prefix().to_string(),
                });
            }
            // Says where the bucket is missing, which the question before does not.
            let mut cells = self.bucket.list(Some(record::CELLS));
            cells.try_next().await.map(drop)
        })?;
        if self.has_cells()? {
            return Err(self.emptied());
        }
        self.remove_records()
    }

    /// Fetches the records that the folder lacks, and locks the folder. Stores nothing. Fails if there are more bytes than
    /// `max_bytes`. Calls `progress` with the number of records that were fetched.
    ///
    /// Where the folder has a record of the same name with other content, the bucket's replaces it: it counts.
    pub fn fetch(&self, max_bytes: u64, progress: &dyn Fn(usize)) -> Result<Fetched, RemoteError> {
        self.lock()?;
        let budget = Budget::new(max_bytes, &self.home);
        let store = self.bucket.block_on(self.fetch_header())?;
        let fetched = self.fetch_records(&store, &budget, progress);
        let (stored, uncounted) = self.bucket.block_on(fetched)?;
        let is_stored =
            |name: &RecordName| *name == RecordName::HEADER || stored.binary_search(name).is_ok();
        let mut unstored = store.names()?;
        unstored.retain(|name| !is_stored(name));
        Ok(Fetched {
            unstored,
            uncounted,
        })
    }

    /// Stores records of the folder. Fails if the store ignores conditions of puts.
    pub fn store(&self, names: &[RecordName]) -> Result<(), RemoteError> {
        let store = Store::open(&self.folder)?;
        self.check_conditions(&store.read_raw(&RecordName::HEADER)?.into())?;
        for name in names {
            self.add_record(name, &store.read_raw(name)?.into())?;
        }
        Ok(())
    }

    /// Deletes the folder of a run that is complete below its prefix, but for records that do not count.
    pub fn discard_folder(&self) -> Result<(), RemoteError> {
        self.remove_records()?;
        fs::remove_dir(&self.home).ok();
        drop(self.locked().take());
        Ok(())
    }

    /// Creates the folder of the prefix, and keeps other processes from using it.
    fn lock(&self) -> Result<(), RemoteError> {
        let below = self.home.strip_prefix(&self.caches).unwrap_or(&self.home);
        let created = folder::create(&self.caches, below, Readers::Owner);
        created.map_err(|source| self.unwritable(source))?;
        let mut locked = self.locked();
        if locked.is_some() {
            return Ok(());
        }
        let dir = File::open(&self.home).map_err(|source| self.unwritable(source))?;
        match dir.try_lock() {
            // The process that had locked the folder may have removed it.
            Ok(()) if is_still(&dir, &self.home) => {
                *locked = Some(dir);
                Ok(())
            }
            Ok(()) | Err(TryLockError::WouldBlock) => Err(RemoteError::Locked {
                prefix: self.prefix().to_string(),
            }),
            Err(TryLockError::Error(source)) => Err(self.unwritable(source)),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Option<File>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_cells(&self) -> Result<bool, RemoteError> {
        match Store::open(&self.folder) {
            Ok(store) => Ok(store.names()?.iter().any(RecordName::is_cell)),
            Err(_) => Ok(false),
        }
    }

    fn remove_records(&self) -> Result<(), RemoteError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unwritable(error)),
            _ => Ok(()),
        }
    }

    /// Makes the folder's header that of the prefix.
    async fn fetch_header(&self) -> Result<Store, RemoteError> {
        let has_cells = self.has_cells()?;
        let Some(header) = self.bucket.read(&RecordName::HEADER).await? else {
            return Err(match has_cells {
                true => self.emptied(),
                false => RemoteError::NoRun {
                    prefix: self.prefix().to_string(),
                },
            });
        };
        if !has_cells {
            self.remove_records()?;
            Store::create(&self.folder)?;
        } else if let Ok(own) = Store::open(&self.folder)?.read_raw(&RecordName::HEADER)
            && !is_same_run(&own, &header)
        {
            return Err(RemoteError::OtherRun {
                folder: self.folder.clone(),
                prefix: self.prefix().to_string(),
            });
        }
        let file = self.folder.join(RecordName::HEADER.to_string());
        let written = folder::replace(&file, &header, Readers::Owner);
        written.map_err(|source| self.unwritable(source))?;
        Ok(Store::open(&self.folder)?)
    }

    /// Fetches cells and payloads. Returns the names of those below the prefix, sorted, and how many records of the folder
    /// differed.
    async fn fetch_records(
        &self,
        store: &Store,
        budget: &Budget,
        progress: &dyn Fn(usize),
    ) -> Result<(Vec<RecordName>, usize), RemoteError> {
        let aside = folder::create(&self.home, UNCOUNTED.as_ref(), Readers::Owner);
        aside.map_err(|source| self.unwritable(source))?;
        let mut stored = Vec::new();
        let mut listed = 0;
        let mut named = |object: Object| {
            listed += 1;
            if listed > MAX_OBJECTS {
                return Err(RemoteError::TooMany {
                    prefix: self.prefix().to_string(),
                    limit: MAX_OBJECTS,
                });
            }
            let name = RecordName::parse(&object.below);
            stored.extend(name.clone());
            Ok(name.map(|name| (object, name)))
        };
        let folders = [record::CELLS, record::PAYLOADS];
        let objects = futures_util::stream::iter(folders).flat_map(|f| self.bucket.list(Some(f)));
        let mut downloads = objects
            .map(|object| object.and_then(&mut named))
            .try_filter_map(|named| std::future::ready(Ok(named)))
            .map_ok(|(object, name)| async move {
                let file = self
                    .bucket
                    .download(&object, (store, &name), budget)
                    .await?;
                let aside = self.uncounted().join(name.to_string().replace('/', "-"));
                let superseded = file.supersede(&aside);
                superseded.map_err(|source| self.unwritable(source))
            })
            .try_buffer_unordered(PARALLEL);
        let (mut fetched, mut uncounted) = (0, 0);
        while let Some(superseded) = downloads.try_next().await? {
            fetched += 1;
            uncounted += usize::from(superseded);
            progress(fetched);
        }
        drop(downloads);
        // It stays unless it is empty.
        fs::remove_dir(self.uncounted()).ok();
        stored.sort();
        Ok((stored, uncounted))
    }

    fn add_record(&self, name: &RecordName, content: &Bytes) -> Result<(), RemoteError> {
        let found = self.bucket.block_on(self.bucket.create(name, content));
        match self.checked(name, found)? {
            Found::Nothing if *name == RecordName::HEADER => self.check_conditions(content),
            _ => Ok(()),
        }
    }

    /// Puts the header a second time. Fails if the store takes it.
    fn check_conditions(&self, header: &Bytes) -> Result<(), RemoteError> {
        let name = RecordName::HEADER;
        let again = self.bucket.block_on(self.bucket.create(&name, header));
        match again {
            Ok(Found::Nothing) => Err(self.unconditional()),
            again => self.checked(&name, again).map(drop),
        }
    }

    fn checked(
        &self,
        name: &RecordName,
        put: object_store::Result<Found>,
    ) -> Result<Found, RemoteError> {
        let object = self.prefix().object(name);
        let folder = self.folder.clone();
        let prefix = self.prefix().to_string();
        match put {
            Ok(Found::NoConditions) => Err(self.unconditional()),
            Ok(Found::Other) => Err(RemoteError::Conflict {
                object,
                folder,
                prefix,
            }),
            Ok(found) => Ok(found),
            Err(error) if name.is_cell() => Err(RemoteError::PutCell {
                object,
                reason: reason::of(&error),
                folder,
                prefix,
            }),
            Err(error) => Err(RemoteError::Put {
                object,
                reason: reason::of(&error),
            }),
        }
    }

    fn emptied(&self) -> RemoteError {
        RemoteError::Emptied {
            folder: self.folder.clone(),
            prefix: self.prefix().to_string(),
        }
    }

    fn unconditional(&self) -> RemoteError {
        RemoteError::Unconditional {
            prefix: self.prefix().to_string(),
        }
    }

    fn unwritable(&self, source: io::Error) -> RemoteError {
        RemoteError::File {
            file: self.home.clone(),
            source,
        }
    }
}

impl Replica for RemoteRun {
    fn add(&self, name: &RecordName, content: &[u8]) -> Result<(), ReplicaError> {
        Ok(self.add_record(name, &Bytes::copy_from_slice(content))?)
    }

    fn replace(
        &self,
        name: &RecordName,
        before: &[u8],
        content: &[u8],
    ) -> Result<(), ReplicaError> {
        let content = Bytes::copy_from_slice(content);
        let replaced = self.bucket.replace(name, before, &content);
        self.checked(name, self.bucket.block_on(replaced))?;
        Ok(())
    }
}

impl Drop for RemoteRun {
    fn drop(&mut self) {
        // The folder stays unless it is empty, as where the prefix holds no run.
        fs::remove_dir(&self.home).ok();
    }
}

/// Reports whether two headers are of one run, which may have been extended. One that cannot be read, as after a loss of
/// power, is no other run.
fn is_same_run(own: &[u8], stored: &[u8]) -> bool {
    let parse = |text: &[u8]| serde_json::from_slice::<Run>(text).ok();
    let identity = |run: &Run| (run.started_unix_ns, run.host.clone(), run.seed);
    match (parse(own), parse(stored)) {
        (Some(own), Some(stored)) => identity(&own) == identity(&stored),
        _ => true,
    }
}

/// Reports whether a path still names the folder that was opened.
#[cfg(unix)]
fn is_still(dir: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    match (dir.metadata(), fs::metadata(path)) {
        (Ok(dir), Ok(path)) => id(dir) == id(path),
        _ => false,
    }
}

/// Reports whether a path still names the folder that was opened.
#[cfg(not(unix))]
fn is_still(_: &File, path: &Path) -> bool {
    path.is_dir()
}

/// Returns a name for the folder of a prefix: readable, and different for each.
fn folder_name(bucket: &Bucket) -> String {
    let text = bucket.prefix().to_string();
    let digest = Sha256::digest(format!("{text} {}", bucket.place()));
    let digest: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let readable: String = text.chars().take(MAX_NAME_BYTES).map(plain).collect();
    format!("{}-{digest}", readable.replace("---", "-"))
}
