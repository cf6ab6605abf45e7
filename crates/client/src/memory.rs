//! The memory file on disk: written whole or not at all.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use route::{MAX_MEMORY_BYTES, Recalled, Router, WallSeconds};

/// Time between two writes.
const MIN_PAUSE: Duration = Duration::from_secs(30);

/// A folder in which what was learnt is kept.
pub(crate) struct MemoryFile {
    folder: PathBuf,
    written: Option<Instant>,
}

impl MemoryFile {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            written: None,
        }
    }

    /// Lets the router recall the file. One that cannot be read is put aside.
    pub(crate) fn load(&self, router: &mut Router) {
        let path = self.path();
        let Ok(file) = read(&path) else {
            return;
        };
        if let Recalled::Damaged(why) = router.recall(&file, wall_seconds()) {
            tracing::warn!("{}: {why}; starting afresh", path.display());
            fs::rename(&path, path.with_extension("bad")).ok();
        }
    }

    /// Writes the file, unless it was written just now. A folder that cannot be written to costs
    /// the next process what was learnt, and nothing else.
    pub(crate) fn save(&mut self, router: &Router, at_once: bool) {
        if !at_once
            && self
                .written
                .is_some_and(|written| written.elapsed() < MIN_PAUSE)
        {
            return;
        }
        self.written = Some(Instant::now());
        if let Err(error) = self.write(&router.memory(wall_seconds())) {
            tracing::warn!(
                "{}: {error}; what is learnt is not kept",
                self.folder.display()
            );
        }
    }

    fn write(&self, file: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let new = self.path().with_extension("new");
        let mut out = fs::File::create(&new)?;
        out.write_all(file)?;
        out.sync_all()?;
        fs::rename(new, self.path())
    }

    fn path(&self) -> PathBuf {
        self.folder.join("route.v1")
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    let limit = MAX_MEMORY_BYTES as u64 + 1;
    fs::File::open(path)?.take(limit).read_to_end(&mut file)?;
    Ok(file)
}

fn wall_seconds() -> WallSeconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    WallSeconds(since.map_or(0, |since| since.as_secs()))
}

/// Returns random bytes for a new installation.
pub(crate) fn random_salt() -> io::Result<[u8; 16]> {
    let mut salt = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(&mut salt)
        .map_err(|_| io::Error::other("no random numbers"))?;
    Ok(salt)
}
