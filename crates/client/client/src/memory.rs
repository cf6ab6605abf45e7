//! The memory file: when it is read and written. One file is shared by all processes that use its folder; the last
//! writer wins.

mod disk;
// cargo-mutants knows a test module by an attribute of its own.
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use route::{MAX_MEMORY_BYTES, RecallOutcome, Router, WallSeconds};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Time between two writes.
const MIN_PAUSE: Duration = Duration::from_secs(30);

/// The folder of the memory file.
pub(crate) struct MemoryFile {
    folder: PathBuf,
    written: Option<Instant>,
    writing: Option<JoinHandle<()>>,
}

impl MemoryFile {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            written: None,
            writing: None,
        }
    }

    /// Lets the router recall the file, and sets a damaged one aside.
    pub(crate) fn load(&self, router: &mut Router) {
        let path = self.path();
        // One byte more, so that a longer file is not taken for a whole one.
        let contents = match disk::read(&path, MAX_MEMORY_BYTES + 1) {
            Ok(contents) => contents,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                tracing::warn!("{}: {error}; starting afresh", path.display());
                return;
            }
        };
        if let RecallOutcome::Damaged(problem) = router.recall(&contents.bytes, wall_seconds()) {
            tracing::warn!("{}: {problem}; starting afresh", path.display());
            // Another process may have replaced it meanwhile, or it cannot be renamed.
            disk::set_aside(&path, &contents, &path.with_extension("bad")).ok();
        }
    }

    /// Writes the file on another thread, unless it was written just now. A folder that cannot be
    /// written to costs the next process what was learnt, and nothing else.
    pub(crate) fn save(&mut self, router: &Router) {
        if self
            .written
            .is_none_or(|written| written.elapsed() >= MIN_PAUSE)
        {
            self.begin_writing(router);
        }
    }

    /// Writes the file on another thread, and signals when that is done.
    pub(crate) fn save_and_reply(&mut self, router: &Router, done: oneshot::Sender<()>) {
        let written = self.begin_writing(router);
        tokio::spawn(async move {
            written.await.ok();
            // The receiver may have been dropped.
            done.send(()).ok();
        });
    }

    /// Returns when the file is written, after those before it.
    fn begin_writing(&mut self, router: &Router) -> oneshot::Receiver<()> {
        self.written = Some(Instant::now());
        let (path, file) = (self.path(), router.memory(wall_seconds()));
        let (done, written) = oneshot::channel();
        let before = self.writing.take();
        self.writing = Some(tokio::spawn(async move {
            if let Some(before) = before {
                // An older file must not replace this one.
                before.await.ok();
            }
            // A flash memory may take long to sync.
            let write = tokio::task::spawn_blocking(move || write(&path, &file));
            write.await.ok();
            done.send(()).ok();
        }));
        written
    }

    /// Writes the file for the last time.
    pub(crate) async fn save_now(&mut self, router: &Router) {
        if let Some(writing) = self.writing.take() {
            // An older file must not replace this one.
            writing.await.ok();
        }
        write(&self.path(), &router.memory(wall_seconds()));
    }

    fn path(&self) -> PathBuf {
        self.folder.join("route.v1")
    }
}

fn write(path: &Path, file: &[u8]) {
    if let Err(error) = disk::replace(path, file) {
        tracing::warn!("{}: {error}; what is learnt is not kept", path.display());
    }
}

fn wall_seconds() -> WallSeconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallSeconds(since.map_or(0, |since| since.as_secs()))
}

/// Returns the hour since 1970.
pub(crate) fn hour() -> u32 {
    u32::try_from(wall_seconds().0 / 3_600).unwrap_or(u32::MAX)
}

/// Returns random bytes.
pub(crate) fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("no random numbers"))?;
    Ok(bytes)
}
