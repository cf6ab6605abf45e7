//! Puts, which replace no object of another machine.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, PutMode, PutOptions, UpdateVersion};
use record::{MAX_RECORD_BYTES, RecordName};

use super::{Bucket, limited};

/// How long a put is repeated. The crate `object_store` repeats requests itself, unless it cannot know whether a
/// put took place.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
pub(super) const PAUSE: Duration = Duration::from_secs(5);
/// A version that no object has.
const NO_VERSION: (&str, &str) = ("\"00000000000000000000000000000000\"", "1");

/// What a put found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No object; there is one now.
    Nothing,
    /// An object with the same bytes.
    Same,
    /// An object with other bytes, which stays.
    Other,
    /// A store that replaces objects although it must not.
    NoConditions,
}

impl Bucket {
    /// Adds an object, unless there is one.
    pub(crate) async fn create(
        &self,
        name: &RecordName,
        content: &Bytes,
    ) -> object_store::Result<Found> {
        let path = self.path(name);
        let put = async || match self.put(&path, content, PutMode::Create).await {
            Ok(()) => Ok(Found::Nothing),
            Err(exists @ object_store::Error::AlreadyExists { .. }) => {
                match self.holds(&path, content).await {
                    Ok(true) => Ok(Found::Same),
                    Ok(false) => Ok(Found::Other),
                    // The store answers so, too, while another put is under way.
                    Err(object_store::Error::NotFound { .. }) => Err(exists),
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        };
        self.persist(put).await
    }

    /// Replaces an object, unless there is another than the one `before`.
    pub(crate) async fn replace(
        &self,
        name: &RecordName,
        before: &[u8],
        content: &Bytes,
    ) -> object_store::Result<Found> {
        let path = self.path(name);
        let put = async || {
            let found = self.store.get_opts(&path, GetOptions::default()).await?;
            let version = UpdateVersion {
                e_tag: found.meta.e_tag.clone(),
                version: found.meta.version.clone(),
            };
            match limited(found, MAX_RECORD_BYTES).await? {
                Some(found) if found == *content => return Ok(Found::Same),
                Some(found) if found == before => {}
                _ => return Ok(Found::Other),
            }
            // A store that ignores the condition takes this one, here with the content that it has.
            let wrong = PutMode::Update(UpdateVersion {
                e_tag: Some(NO_VERSION.0.to_owned()),
                version: Some(NO_VERSION.1.to_owned()),
            });
            if self
                .put(&path, &Bytes::copy_from_slice(before), wrong)
                .await
                .is_ok()
            {
                return Ok(Found::NoConditions);
            }
            match self.put(&path, content, PutMode::Update(version)).await {
                // Another machine was faster, or an earlier try took place.
                Err(object_store::Error::Precondition { .. }) => {
                    Ok(match self.holds(&path, content).await? {
                        true => Found::Same,
                        false => Found::Other,
                    })
                }
                // Of files, which have no versions.
                Err(object_store::Error::NotImplemented { .. }) => {
                    let put = self.put(&path, content, PutMode::Overwrite).await;
                    put.map(|()| Found::Nothing)
                }
                put => put.map(|()| Found::Nothing),
            }
        };
        self.persist(put).await
    }

    async fn put(&self, path: &Path, content: &Bytes, mode: PutMode) -> object_store::Result<()> {
        let options = PutOptions::from(mode);
        let put = self.store.put_opts(path, content.clone().into(), options);
        put.await.map(drop)
    }

    async fn holds(&self, path: &Path, content: &Bytes) -> object_store::Result<bool> {
        let found = self.store.get_opts(path, GetOptions::default()).await?;
        let found = limited(found, content.len() as u64).await?;
        Ok(found.is_some_and(|found| found == *content))
    }

    /// Repeats a put that fails for a reason that may pass.
    async fn persist(
        &self,
        put: impl AsyncFn() -> object_store::Result<Found>,
    ) -> object_store::Result<Found> {
        let mut last = None;
        let tries = async {
            loop {
                match put().await {
                    Err(error) if may_pass(&error) => last = Some(error),
                    done => return done,
                }
                tokio::time::sleep(self.pause).await;
            }
        };
        match tokio::time::timeout(self.patience, tries).await {
            Ok(done) => done,
            Err(_) => Err(last.unwrap_or_else(|| {
                let text = format!("no answer within {} s", self.patience.as_secs());
                let source = io::Error::new(io::ErrorKind::TimedOut, text);
                object_store::Error::Generic {
                    store: "",
                    source: Box::new(source),
                }
            })),
        }
    }

    /// Shortens how long a put is repeated, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self {
            patience,
            pause: Duration::from_millis(1),
            ..self
        }
    }
}

/// Reports whether a request may succeed when it is sent again.
fn may_pass(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    matches!(
        error,
        E::Generic { .. } | E::JoinError { .. } | E::AlreadyExists { .. }
    )
}
