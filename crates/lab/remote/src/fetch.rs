//! Copies all runs below a prefix, for reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _};
use record::{RecordName, Store};

use crate::bucket::{Bucket, Object};
use crate::budget::Budget;
use crate::error::{MAX_OBJECTS, RemoteError};

/// Requests at a time: most of a small object's time is the round trip.
pub(crate) const PARALLEL: usize = 16;
/// The most runs below one prefix.
const MAX_RUNS: usize = 10_000;

/// A run below the prefix, and the folder that it is copied into.
struct Copy {
    store: Store,
    has_header: bool,
}

/// Copies each run below the prefix of a bucket into a folder of its own, below `into`. Returns these folders. Fails if
/// there are more bytes than `max_bytes`. Calls `progress` with the number of records that were fetched.
///
/// The names of folders are numbers: none comes from the bucket.
pub fn fetch_runs(
    bucket: &Bucket,
    into: &Path,
    max_bytes: u64,
    progress: &dyn Fn(usize),
) -> Result<Vec<PathBuf>, RemoteError> {
    let budget = Budget::new(max_bytes, into);
    let runs = bucket.block_on(copy(bucket, into, &budget, progress))?;
    if runs.is_empty() {
        return Err(RemoteError::NoRun {
            prefix: bucket.prefix().to_string(),
        });
    }
    let folder = |(below, run): (String, Copy)| match run.has_header {
        true => Ok(run.store.dir().to_owned()),
        false => Err(RemoteError::NoHeader {
            below: match below.as_str() {
                "" => bucket.prefix().to_string(),
                below => format!("{}/{below}", bucket.prefix()),
            },
        }),
    };
    runs.into_iter().map(folder).collect()
}

async fn copy(
    bucket: &Bucket,
    into: &Path,
    budget: &Budget,
    progress: &dyn Fn(usize),
) -> Result<BTreeMap<String, Copy>, RemoteError> {
    let mut runs: BTreeMap<String, Copy> = BTreeMap::new();
    let mut listed = 0;
    let mut assigned = |object: Object| {
        listed += 1;
        let too_many = |limit| RemoteError::TooMany {
            prefix: bucket.prefix().to_string(),
            limit,
        };
        if listed > MAX_OBJECTS {
            return Err(too_many(MAX_OBJECTS));
        }
        let Some((below, name)) = split(&object.below) else {
            return Ok(None);
        };
        if !runs.contains_key(below) {
            if runs.len() == MAX_RUNS {
                return Err(too_many(MAX_RUNS));
            }
            let copy = Copy {
                store: Store::create(into.join(runs.len().to_string()))?,
                has_header: false,
            };
            runs.insert(below.to_owned(), copy);
        }
        let Some(run) = runs.get_mut(below) else {
            return Ok(None);
        };
        run.has_header |= name == RecordName::HEADER;
        Ok(Some((run.store.clone(), name, object)))
    };
    let mut downloads = bucket
        .list(None)
        .map(|object| object.and_then(&mut assigned))
        .try_filter_map(|assigned| std::future::ready(Ok(assigned)))
        .map_ok(|(store, name, object)| async move {
            let file = bucket.download(&object, (&store, &name), budget).await?;
            file.replace().map_err(|source| RemoteError::File {
                file: store.file(&name),
                source,
            })
        })
        .try_buffer_unordered(PARALLEL);
    let mut fetched = 0;
    while downloads.try_next().await?.is_some() {
        fetched += 1;
        progress(fetched);
    }
    drop(downloads);
    Ok(runs)
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
