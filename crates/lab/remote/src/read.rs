//! Reads all runs below a prefix, for reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt as _;
use record::{CallList, Cell, Collector, MAX_RECORD_BYTES, RecordName, StoreError};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use crate::bucket::{Bucket, Object};
use crate::error::{MAX_OBJECTS, RemoteError};

/// Requests at a time: most of a small object's time is the round trip.
pub(crate) const PARALLEL: usize = 16;
/// The most runs below one prefix.
const MAX_RUNS: usize = 10_000;
/// Memory for cells that are fetched at a time, by the sizes in the listing: the largest cell fits.
const ROOM_KIB: u32 = (MAX_RECORD_BYTES >> 10) as u32;

/// Adds the records of each run below the prefix of a bucket to those of other shards. Copies nothing to the disk, and
/// keeps no record as it is. Calls `progress` with the number of cells that were read.
pub fn read_runs<C>(
    bucket: &Bucket,
    collector: &mut Collector<C>,
    progress: &dyn Fn(usize),
) -> Result<(), RemoteError>
where
    C: CallList + PartialEq + DeserializeOwned + Send + 'static,
{
    bucket.block_on(read(bucket, collector, progress))
}

async fn read<C>(
    bucket: &Bucket,
    collector: &mut Collector<C>,
    progress: &dyn Fn(usize),
) -> Result<(), RemoteError>
where
    C: CallList + PartialEq + DeserializeOwned + Send + 'static,
{
    let headers = headers(bucket).await?;
    for header in headers.values() {
        let file = shown(bucket, &header.below);
        let run = record::parse_run(&file, &bucket.content(header).await?)?;
        let added = collector.add_header(run);
        added.map_err(|source| StoreError::inconsistent(run_of(&file), source))?;
    }
    let room = Semaphore::new(ROOM_KIB as usize);
    let is_cell = |object: &Object| {
        let found = split(&object.below);
        // A run that was begun meanwhile is left out.
        found.is_some_and(|(run, name)| name.is_cell() && headers.contains_key(run))
    };
    let mut cells = bucket
        .list(None)
        .try_filter(|object| std::future::ready(is_cell(object)))
        .map_ok(|object| fetch(bucket, object, &room))
        .try_buffer_unordered(PARALLEL);
    let mut read = 0;
    while let Some((file, cell)) = cells.try_next().await? {
        let added = collector.add_cell(cell);
        added.map_err(|source| StoreError::inconsistent(run_of(&file), source.into()))?;
        read += 1;
        progress(read);
    }
    Ok(())
}

/// Returns the header of each run, by the path of the run below the prefix.
async fn headers(bucket: &Bucket) -> Result<BTreeMap<String, Object>, RemoteError> {
    let mut headers = BTreeMap::new();
    let mut runs = BTreeSet::new();
    let mut listed = 0;
    let mut objects = bucket.list(None);
    while let Some(object) = objects.try_next().await? {
        listed += 1;
        let too_many = |limit| RemoteError::TooMany {
            prefix: bucket.prefix().to_string(),
            limit,
        };
        if listed > MAX_OBJECTS {
            return Err(too_many(MAX_OBJECTS));
        }
        let Some((run, name)) = split(&object.below) else {
            continue;
        };
        if !runs.contains(run) {
            runs.insert(run.to_owned());
        }
        if runs.len() > MAX_RUNS {
            return Err(too_many(MAX_RUNS));
        }
        if name == RecordName::HEADER {
            headers.insert(run.to_owned(), object);
        }
    }
    if runs.is_empty() {
        return Err(RemoteError::NoRun {
            prefix: bucket.prefix().to_string(),
        });
    }
    match runs.iter().find(|run| !headers.contains_key(*run)) {
        None => Ok(headers),
        Some(run) => Err(RemoteError::NoHeader {
            below: match run.as_str() {
                "" => bucket.prefix().to_string(),
                run => format!("{}/{run}", bucket.prefix()),
            },
        }),
    }
}

/// Returns a cell, and its path for messages.
async fn fetch<C>(
    bucket: &Bucket,
    object: Object,
    room: &Semaphore,
) -> Result<(PathBuf, Cell<C>), RemoteError>
where
    C: DeserializeOwned + Send + 'static,
{
    let file = shown(bucket, &object.below);
    let kib = u32::try_from(object.size >> 10).unwrap_or(u32::MAX);
    // Nobody closes the semaphore.
    let _room = room.acquire_many(kib.clamp(1, ROOM_KIB)).await.ok();
    let text = bucket.content(&object).await?;
    // Another thread parses it, while this one fetches more.
    let parsed = tokio::task::spawn_blocking(move || {
        let cell = record::parse_cell(&file, &text);
        cell.map(|cell| (file, cell))
    });
    match parsed.await {
        Ok(cell) => Ok(cell?),
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// Returns the path of an object for messages.
fn shown(bucket: &Bucket, below: &str) -> PathBuf {
    format!("{}/{below}", bucket.prefix()).into()
}

/// Returns the path of the run that a record is of.
fn run_of(record: &Path) -> &Path {
    let folder = record.parent().unwrap_or(record);
    match folder.ends_with(record::CELLS) {
        true => folder.parent().unwrap_or(folder),
        false => folder,
    }
}

/// Splits the path of an object into that of its run and the name of the record. Returns none if a report does not need
/// the object.
fn split(path: &str) -> Option<(&str, RecordName)> {
    // Of `a/cells/b`, the name is `b`, then `cells/b`.
    let slashes = path.rmatch_indices('/');
    let split = slashes.map(|(at, _)| (&path[..at], &path[at + 1..]));
    let mut splits = split.chain([("", path)]).take(2);
    let found = splits.find_map(|(below, name)| Some((below, RecordName::parse(name)?)));
    found.filter(|(_, name)| !name.is_payload())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_belong_to_the_run_around_them() {
        for (path, run, name) in [
            ("run.json", "", "run.json"),
            ("shard-1-of-2/run.json", "shard-1-of-2", "run.json"),
            ("cells/a.1.1.json", "", "cells/a.1.1.json"),
            ("a/b/cells/c.1.1.json", "a/b", "cells/c.1.1.json"),
            ("cells/cells/c.1.1.json", "cells", "cells/c.1.1.json"),
        ] {
            let found = split(path).map(|(below, name)| (below, name.to_string()));
            assert_eq!(found, Some((run, name.to_owned())), "{path}");
        }
        let payload = format!("a/payloads/{}", "0f".repeat(32));
        for path in [
            "",
            "/",
            "a/b.json",
            "report.html",
            "cells/x",
            "a.1.1.json",
            &payload,
        ] {
            assert_eq!(split(path), None, "{path}");
        }
    }
}
