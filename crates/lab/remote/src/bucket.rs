//! Objects below one prefix, and the runtime on which requests are made.

use std::fmt;
use std::future::Future;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStore};
use record::folder::NewFile;
use record::{MAX_RECORD_BYTES, RecordName, Store};
use tokio::runtime::{Builder, Runtime};

use crate::budget::Budget;
use crate::error::RemoteError;
use crate::location::Prefix;
use crate::reason;

mod put;

pub(crate) use put::Found;

/// Of one request; its default of 30 s is short for a large record on a slow line.
const TIMEOUT: (&str, &str) = ("timeout", "2 minutes");
/// Beginnings of the environment variables that name endpoints, regions and credentials.
pub const VARIABLES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];
/// Those on which it depends which store a prefix is in.
const PLACES: [&str; 6] = [
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_STORAGE_ACCOUNT_NAME",
];

/// The objects below a prefix.
pub struct Bucket {
    prefix: Prefix,
    store: Arc<dyn ObjectStore>,
    /// Runs only while a request is waited for: with one job, no cell is measured meanwhile.
    runtime: Runtime,
    /// The settings that say which store it is.
    place: String,
    patience: Duration,
    pause: Duration,
}

/// An object in a listing.
pub(crate) struct Object {
    path: Path,
    /// The path below the prefix.
    pub(crate) below: String,
    pub(crate) size: u64,
}

impl Bucket {
    /// Prepares requests to a prefix, with the credentials of the environment or of this machine. Sends nothing.
    pub fn open(prefix: &Prefix) -> Result<Self, RemoteError> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::open_with(prefix, variables)
    }

    /// Does the same with the environment variables that are given.
    #[doc(hidden)]
    pub fn open_with(
        prefix: &Prefix,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, RemoteError> {
        let is_known = |name: &str| VARIABLES.iter().any(|known| name.starts_with(known));
        let variables: Vec<(String, String)> = (variables.into_iter())
            .filter(|(name, _)| is_known(name))
            .collect();
        let settings = |reason| RemoteError::Settings {
            prefix: prefix.to_string(),
            reason,
        };
        let store: Arc<dyn ObjectStore> = if prefix.is_of_files() {
            Arc::new(LocalFileSystem::new().with_fsync(true))
        } else {
            // The only provider in the binary. Another thread may have installed it already.
            rustls::crypto::ring::default_provider()
                .install_default()
                .ok();
            let timeout = (TIMEOUT.0.to_owned(), TIMEOUT.1.to_owned());
            // Stores skip settings that they do not know.
            let options = std::iter::once(timeout).chain(variables.iter().cloned());
            let opened = object_store::parse_url_opts(prefix.url(), options);
            opened
                .map_err(|e| settings(reason::of_settings(&e)))?
                .0
                .into()
        };
        let bucket = Self::of_store(prefix, store).map_err(|e| settings(e.to_string()))?;
        let mut places = variables;
        places.retain(|(name, _)| PLACES.contains(&name.as_str()));
        places.sort();
        Ok(Self {
            place: format!("{places:?}"),
            ..bucket
        })
    }

    /// Makes requests to `store`.
    pub fn of_store(prefix: &Prefix, store: Arc<dyn ObjectStore>) -> io::Result<Self> {
        Ok(Self {
            prefix: prefix.clone(),
            store,
            runtime: Builder::new_current_thread().enable_all().build()?,
            place: String::new(),
            patience: put::PATIENCE,
            pause: put::PAUSE,
        })
    }

    /// Returns the prefix.
    pub fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// Returns which store the bucket is in, for comparisons.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Reports whether there is an object with this name.
    pub(crate) async fn has(&self, name: &RecordName) -> Result<bool, RemoteError> {
        let head = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        match self.store.get_opts(&self.path(name), head).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(failed(self.prefix.object(name), &error)),
        }
    }

    /// Returns an object; none if there is none.
    pub(crate) async fn read(&self, name: &RecordName) -> Result<Option<Vec<u8>>, RemoteError> {
        let object = self.prefix.object(name);
        let path = self.path(name);
        let found = match self.store.get_opts(&path, GetOptions::default()).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            found => found.map_err(|e| failed(object.clone(), &e))?,
        };
        let content = limited(found, MAX_RECORD_BYTES).await;
        match content.map_err(|e| failed(object.clone(), &e))? {
            Some(content) => Ok(Some(content)),
            None => Err(RemoteError::TooLarge { object }),
        }
    }

    /// Returns an object of a listing.
    pub(crate) async fn content(&self, object: &Object) -> Result<Vec<u8>, RemoteError> {
        let shown = || format!("{}/{}", self.prefix, object.below);
        if object.size > MAX_RECORD_BYTES {
            return Err(RemoteError::TooLarge { object: shown() });
        }
        let found = self.store.get_opts(&object.path, GetOptions::default());
        let found = found.await.map_err(|e| failed(shown(), &e))?;
        // The listing may have given another size.
        let content = limited(found, MAX_RECORD_BYTES).await;
        let content = content.map_err(|e| failed(shown(), &e))?;
        content.ok_or_else(|| RemoteError::TooLarge { object: shown() })
    }

    /// Lists all objects below the prefix, or those in a folder below it.
    pub(crate) fn list(
        &self,
        folder: Option<&str>,
    ) -> BoxStream<'static, Result<Object, RemoteError>> {
        let prefix = self.prefix.clone();
        let path = prefix.path().clone();
        let below = folder.map_or(path.clone(), |folder| path.join(folder));
        let below = (!below.as_ref().is_empty()).then_some(below);
        let objects = self.store.list(below.as_ref());
        let object = move |listed: object_store::Result<ObjectMeta>| {
            let listed = listed.map_err(|e| failed(prefix.to_string(), &e))?;
            let parts = listed.location.prefix_match(prefix.path());
            let parts = parts.into_iter().flatten();
            let parts: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
            Ok(Object {
                below: parts.join("/"),
                size: listed.size,
                path: listed.location,
            })
        };
        objects.map(object).boxed()
    }

    /// Copies an object into the folder of a run. It does not have the name of the record yet.
    pub(crate) async fn download(
        &self,
        object: &Object,
        (into, name): (&Store, &RecordName),
        budget: &Budget,
    ) -> Result<NewFile, RemoteError> {
        let shown = || format!("{}/{}", self.prefix, object.below);
        let unreadable = |e: object_store::Error| failed(shown(), &e);
        if object.size > MAX_RECORD_BYTES {
            return Err(RemoteError::TooLarge { object: shown() });
        }
        let found = self.store.get_opts(&object.path, GetOptions::default());
        let mut content = found.await.map_err(unreadable)?.into_stream();
        let mut file = into.receive(name)?;
        let mut bytes = 0;
        while let Some(part) = content.next().await {
            let part = part.map_err(unreadable)?;
            budget.take(part.len(), &self.prefix)?;
            bytes += part.len() as u64;
            // The listing may have given another size.
            if bytes > MAX_RECORD_BYTES {
                return Err(RemoteError::TooLarge { object: shown() });
            }
            let written = file.write_all(&part);
            written.map_err(|source| RemoteError::File {
                file: into.file(name),
                source,
            })?;
        }
        Ok(file)
    }

    fn path(&self, name: &RecordName) -> Path {
        let name = name.to_string();
        let parts = name.split('/');
        parts.fold(self.prefix.path().clone(), Path::join)
    }
}

/// Shows the prefix only: what stores print of themselves may contain keys.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.prefix).finish()
    }
}

/// Reads an object into memory; returns none if it has more bytes than `limit`.
async fn limited(found: GetResult, limit: u64) -> object_store::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    let mut parts = found.into_stream();
    while let Some(part) = parts.next().await {
        let part = part?;
        if (content.len() + part.len()) as u64 > limit {
            return Ok(None);
        }
        content.extend_from_slice(&part);
    }
    Ok(Some(content))
}

fn failed(object: String, error: &object_store::Error) -> RemoteError {
    RemoteError::Get {
        object,
        reason: reason::of(error),
    }
}
