//! Runs that arguments name: folders, or prefixes in buckets.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use etcetera::BaseStrategy as _;
use indicatif::ProgressBar;
use record::{CallList, Collector, RunData, Store};
use remote::{Bucket, Fetched, Location, Prefix, RemoteError, RemoteRun};
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::{interrupt, progress};

/// How often progress is shown.
const INTERVAL: Duration = Duration::from_secs(5);
/// Beginning of the names of temporary folders.
const COPIES: &str = "commute-runs-";

/// Parses an argument that names a folder or a prefix. Unlike clap's own parsers, it quotes no argument that is wrong: it
/// may have a password.
#[derive(Clone)]
pub(crate) struct Parser;

impl TypedValueParser for Parser {
    type Value = Location;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Location, clap::Error> {
        let name = argument.map_or_else(String::new, |argument| format!("{argument}: "));
        Location::parse(value.to_owned()).map_err(|reason| {
            let message = format!("{name}{reason}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

/// A temporary folder for copies of records. It is deleted when this is dropped, or when the process is interrupted.
pub(crate) struct Copies {
    dir: TempDir,
    /// Locked, so that [`sweep`] keeps the folder.
    _lock: File,
}

impl Copies {
    pub(crate) fn new() -> anyhow::Result<Copies> {
        sweep(&std::env::temp_dir());
        let failed = "cannot create a temporary folder (TMPDIR names another place)";
        let dir = tempfile::Builder::new().prefix(COPIES).tempdir();
        let dir = dir.context(failed)?;
        let lock = File::open(dir.path()).context(failed)?;
        lock.try_lock().context(failed)?;
        interrupt::remove_first(dir.path().to_owned())?;
        Ok(Copies { dir, _lock: lock })
    }
}

/// Removes the copies of processes that were killed. Those that cannot be removed, e.g. of another user, stay.
fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_copy = entry.file_name().to_string_lossy().starts_with(COPIES);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_unused = || File::open(entry.path()).is_ok_and(|dir| dir.try_lock().is_ok());
        if is_copy && is_folder && is_unused() {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Returns how many bytes may be copied into a folder: half of what is free.
fn room(dir: &Path) -> anyhow::Result<u64> {
    let found = rustix::fs::statvfs(dir);
    let found = found.with_context(|| format!("cannot read {}", dir.display()))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize) / 2)
}

/// Reads the runs that are named, and merges them; of a prefix, all runs below it.
pub(crate) fn read<C>(places: &[Location]) -> anyhow::Result<RunData<C>>
where
    C: CallList + PartialEq + DeserializeOwned + Send + 'static,
{
    let mut collector = Collector::new();
    for place in places {
        match place {
            Location::Folder(dir) => Store::open(dir)?.collect(&mut collector)?,
            Location::Prefix(prefix) => {
                let fetching = Fetching::new(prefix);
                let show = |records| fetching.show(records);
                let read = remote::read_runs(&Bucket::open(prefix)?, &mut collector, &show);
                read.map_err(|error| match error {
                    RemoteError::Folder(error) => anyhow::Error::from(error),
                    error => error.into(),
                })?;
            }
        }
    }
    Ok(collector.finish()?)
}

/// Names the run below a prefix. Its local folder is in `copies`, or else in the user's cache.
pub(crate) fn remote_run(prefix: &Prefix, copies: Option<&Copies>) -> anyhow::Result<RemoteRun> {
    let caches = match copies {
        Some(copies) => copies.dir.path().to_owned(),
        None => {
            let xdg = etcetera::base_strategy::Xdg::new();
            let xdg = xdg.context(
                "no folder for records that are not stored yet: set HOME or XDG_CACHE_HOME",
            )?;
            xdg.cache_dir().join("commute")
        }
    };
    Ok(RemoteRun::new(Bucket::open(prefix)?, &caches))
}

/// Fetches what the folder of a run lacks.
pub(crate) fn fetch(run: &RemoteRun) -> anyhow::Result<Fetched> {
    let fetching = Fetching::new(run.prefix());
    let caches = run.caches();
    fs::create_dir_all(caches).with_context(|| format!("cannot create {}", caches.display()))?;
    let room = room(caches)?;
    Ok(run.fetch(room, &|records| fetching.show(records))?)
}

/// Progress of fetching, until dropped.
struct Fetching {
    bar: ProgressBar,
    what: String,
    shown: Cell<Instant>,
}

impl Fetching {
    fn new(prefix: &Prefix) -> Fetching {
        let what = format!("reading {prefix}");
        Fetching {
            bar: progress::waiting(&what),
            what,
            shown: Cell::new(Instant::now()),
        }
    }

    fn show(&self, records: usize) {
        if self.shown.get().elapsed() < INTERVAL {
            return;
        }
        self.shown.set(Instant::now());
        let text = format!("{}: {records} records", self.what);
        progress::show(&self.bar, &text);
        if self.bar.is_hidden() {
            progress::line(&text);
        }
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
