//! Where a run's records go: a folder, or below a prefix in a bucket.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use lab::Shard;
use record::{RecordName, Replica, Store, StoreError};
use remote::{Fetched, Location, RemoteError, RemoteRun};

use crate::out;
use crate::places::{self, Copies};

/// The place of a run's records.
pub(super) enum Output {
    Folder(PathBuf),
    Remote {
        run: Arc<RemoteRun>,
        /// Records that an earlier run of this machine could not store.
        unstored: Vec<RecordName>,
        /// Holds the folder of a dry run.
        _copies: Option<Copies>,
    },
}

impl Output {
    /// Returns the place of a new run. Shards of one run share a prefix.
    pub(super) fn new(place: &Location, shard: Option<Shard>) -> anyhow::Result<Output> {
        Ok(match of_shard(place, shard) {
            Location::Folder(dir) => Output::Folder(dir),
            Location::Prefix(prefix) => Output::remote(places::remote_run(&prefix, None)?),
        })
    }

    /// Returns the place of a run to resume, and fetches its records. Stores nothing yet. A dry run uses a temporary folder.
    pub(super) fn resumed(place: &Location, dry_run: bool) -> anyhow::Result<Output> {
        match place {
            Location::Folder(dir) => Ok(Output::Folder(dir.clone())),
            Location::Prefix(prefix) => {
                let copies = dry_run.then(Copies::new).transpose()?;
                let run = places::remote_run(prefix, copies.as_ref())?;
                let fetched = places::fetch(&run)?;
                Ok(Output::fetched(run, fetched, copies))
            }
        }
    }

    /// Returns the place of a run to resume if it holds one, else that of a new run, and whether it holds one. Whether that
    /// is the run to continue is checked when it is continued.
    pub(super) fn begun(
        place: &Location,
        shard: Option<Shard>,
        dry_run: bool,
    ) -> anyhow::Result<(Output, bool)> {
        let prefix = match of_shard(place, shard) {
            Location::Prefix(prefix) => prefix,
            Location::Folder(dir) => {
                let begun = match Store::open(&dir) {
                    Ok(_) => true,
                    Err(StoreError::NoRun { .. }) => false,
                    Err(e) => return Err(e.into()),
                };
                return Ok((Output::Folder(dir), begun));
            }
        };
        let copies = dry_run.then(Copies::new).transpose()?;
        let run = places::remote_run(&prefix, copies.as_ref())?;
        match places::fetch(&run) {
            Ok(fetched) => Ok((Output::fetched(run, fetched, copies), true)),
            Err(e) if is_no_run(&e) => Ok((Output::remote(run), false)),
            Err(e) => Err(e),
        }
    }

    fn remote(run: RemoteRun) -> Output {
        Output::Remote {
            run: run.into(),
            unstored: Vec::new(),
            _copies: None,
        }
    }

    fn fetched(run: RemoteRun, fetched: Fetched, copies: Option<Copies>) -> Output {
        let Fetched {
            unstored,
            uncounted,
        } = fetched;
        if uncounted > 0 {
            out::note!(
                "note: {} of this machine could not be stored before another measured the same. What is stored counts; {} \
                 keeps the others",
                report::count(uncounted, "record"),
                run.uncounted().display()
            );
        }
        Output::Remote {
            run: run.into(),
            unstored,
            _copies: copies,
        }
    }

    /// Returns the folder that holds the records on this machine.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Output::Folder(dir) => dir,
            Output::Remote { run, .. } => run.folder(),
        }
    }

    pub(super) fn is_remote(&self) -> bool {
        matches!(self, Output::Remote { .. })
    }

    pub(super) fn replica(&self) -> Option<Arc<dyn Replica>> {
        match self {
            Output::Folder(_) => None,
            Output::Remote { run, .. } => Some(Arc::clone(run) as Arc<dyn Replica>),
        }
    }

    /// Returns an error if the place cannot take a new run.
    pub(super) fn check_new(&self) -> anyhow::Result<()> {
        if let Output::Remote { run, .. } = self {
            run.check_new()?;
        }
        record::Store::create(self.folder())?;
        Ok(())
    }

    /// Stores what an earlier run of this machine could not store.
    pub(super) fn store_rest(&self) -> anyhow::Result<()> {
        if let Output::Remote { run, unstored, .. } = self {
            run.store(unstored)?;
        }
        Ok(())
    }

    /// Removes the folders that were made for a run that measured nothing. Folders that are not empty stay.
    pub(super) fn remove_empty(&self) {
        let out = self.folder();
        for folder in [out.join(record::CELLS), out.to_owned()] {
            drop(std::fs::remove_dir(folder));
        }
    }

    /// Says who can read a run that may hold credentials.
    pub(super) fn note_readers(&self) {
        if self.is_remote() {
            out::note!(
                "note: the records hold the study's own requests, which may have credentials: whoever can read {self} can \
                 read them"
            );
        }
    }

    /// Reports where a complete run is. What a bucket has needs no folder here.
    pub(super) fn end(&self) -> anyhow::Result<()> {
        let Output::Remote { run, .. } = self else {
            return Ok(());
        };
        let folder = run.folder().display();
        run.discard_folder().with_context(|| {
            format!("cannot remove {folder}, whose records are stored in {self}")
        })?;
        let prefix = run.prefix();
        out::note!("{prefix}: run.json and all cells; `commute report {prefix}` reads them");
        Ok(())
    }
}

/// Returns where the records of a shard go: below a prefix, each shard has a prefix of its own.
fn of_shard(place: &Location, shard: Option<Shard>) -> Location {
    match (place, shard) {
        (Location::Prefix(prefix), Some(Shard { index, of })) => {
            Location::Prefix(prefix.join(&format!("shard-{index}-of-{of}")))
        }
        _ => place.clone(),
    }
}

fn is_no_run(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(RemoteError::NoRun { .. }))
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Folder(dir) => dir.display().fmt(f),
            Output::Remote { run, .. } => run.prefix().fmt(f),
        }
    }
}
