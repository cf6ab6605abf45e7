//! A bucket in memory whose requests fail as a test wants, and machines that run into it.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "test helpers, of which each test binary uses only some"
)]

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use record::{Cell, Replica, Run, RunData, Store, StoreError};
use remote::{Bucket, Fetched, Prefix, RemoteError, RemoteRun};
use tempfile::TempDir;

/// How the puts of a bucket fail.
#[derive(Debug, Default)]
pub struct Faults {
    /// Puts that fail before they take place.
    pub refused: AtomicU32,
    /// Puts that take place and are reported as failed.
    pub lost_answers: AtomicU32,
    /// Puts that take place and are reported as those of another machine, as when a request is sent twice.
    pub doubled: AtomicU32,
    /// Whether puts are never answered.
    pub hanging: AtomicBool,
    /// Whether objects are replaced although they must not be: where there is one, and where it has changed.
    pub ignores_create: bool,
    pub ignores_update: bool,
    /// What a listing returns besides the objects.
    pub listed: Mutex<Vec<ObjectMeta>>,
}

/// A bucket in memory.
#[derive(Debug)]
pub struct Memory {
    pub inner: InMemory,
    pub faults: Faults,
}

impl Memory {
    pub fn new(faults: Faults) -> Arc<Memory> {
        Arc::new(Memory {
            inner: InMemory::new(),
            faults,
        })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory")
    }
}

/// Counts one down, if there is one left.
fn take(left: &AtomicU32) -> bool {
    let less = |n: u32| n.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        .is_ok()
}

fn failure() -> Error {
    Error::Generic {
        store: "memory",
        source: "status code: 503 Service Unavailable: <Code>SlowDown</Code> secret".into(),
    }
}

#[async_trait]
impl ObjectStore for Memory {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        if take(&self.faults.refused) {
            return Err(failure());
        }
        if self.faults.hanging.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let is_ignored = match options.mode {
            PutMode::Create => self.faults.ignores_create,
            PutMode::Update(_) => self.faults.ignores_update,
            PutMode::Overwrite => false,
        };
        if is_ignored {
            options.mode = PutMode::Overwrite;
        }
        let put = self.inner.put_opts(location, payload, options).await?;
        if take(&self.faults.doubled) {
            return Err(Error::Precondition {
                path: location.to_string(),
                source: "412".into(),
            });
        }
        match take(&self.faults.lost_answers) {
            true => Err(failure()),
            false => Ok(put),
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let more = self.faults.listed.lock().unwrap().clone();
        let more = stream::iter(more.into_iter().map(Ok));
        self.inner.list(prefix).chain(more).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

pub fn prefix() -> Prefix {
    Prefix::parse("s3://bucket/study").unwrap()
}

pub fn bucket(store: &Arc<Memory>, prefix: &Prefix) -> Bucket {
    let store: Arc<dyn ObjectStore> = Arc::clone(store) as _;
    let bucket = Bucket::of_store(prefix, store).unwrap();
    bucket.with_patience(Duration::from_millis(300))
}

/// A machine with a cache of its own.
pub struct Machine {
    pub run: Arc<RemoteRun>,
    pub caches: TempDir,
}

impl Machine {
    pub fn new(store: &Arc<Memory>) -> Machine {
        Machine::at(bucket(store, &prefix()))
    }

    pub fn at(bucket: Bucket) -> Machine {
        let caches = tempfile::tempdir().unwrap();
        let run = Arc::new(RemoteRun::new(bucket, caches.path()));
        Machine { run, caches }
    }

    fn replica(&self) -> Option<Arc<dyn Replica>> {
        Some(Arc::clone(&self.run) as _)
    }

    /// Begins a run.
    pub fn begin(&self, run: &Run) -> Result<Store, StoreError> {
        self.run.check_new().unwrap();
        let store = Store::create(self.run.folder())?.with_replica(self.replica());
        store.write_run(run)?;
        Ok(store)
    }

    /// Fetches a run.
    pub fn fetch(&self) -> Result<Fetched, RemoteError> {
        self.run.fetch(u64::MAX, &|_| {})
    }

    /// Continues a run.
    pub fn resume(&self) -> Store {
        let fetched = self.fetch().unwrap();
        self.run.store(&fetched.unstored).unwrap();
        let store = Store::open(self.run.folder()).unwrap();
        store.with_replica(self.replica())
    }
}

/// Returns the paths of all objects, sorted.
pub fn objects(store: &Arc<Memory>) -> Vec<String> {
    let runtime = runtime();
    let listed = runtime.block_on(store.inner.list(None).collect::<Vec<_>>());
    let mut paths: Vec<String> = (listed.into_iter())
        .map(|object| object.unwrap().location.to_string())
        .collect();
    paths.sort();
    paths
}

/// Writes an object past all conditions.
pub fn overwrite(store: &Arc<Memory>, path: &str, content: &[u8]) {
    let (path, content) = (Path::from(path), PutPayload::from(content.to_vec()));
    let put = store
        .inner
        .put_opts(&path, content, PutMode::Overwrite.into());
    runtime().block_on(put).unwrap();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
}

/// Returns a run with its cells.
pub fn data(run: &Run, cells: &[Cell]) -> RunData {
    RunData::new(run.clone(), cells.to_vec()).unwrap()
}

/// Returns every path below a folder, sorted.
pub fn files(dir: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}
