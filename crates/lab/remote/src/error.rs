use std::io;
use std::path::PathBuf;

use record::{MAX_RECORD_BYTES, MAX_RECORDS, StoreError};

/// Why records cannot be kept in, or read from, a bucket.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The scheme is of no store.
    #[error(
        "`{scheme}://` names no place for records: write a folder, or s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, \
         az://CONTAINER/PREFIX or file:///FOLDER"
    )]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The URL cannot be used. The message does not quote it, since it may have a password.
    #[error("this URL cannot be used for records: {reason}")]
    Url {
        /// Why not.
        reason: &'static str,
    },
    /// The environment does not say how to reach the bucket.
    #[error("cannot use {prefix}: {reason}")]
    Settings {
        /// The prefix.
        prefix: String,
        /// What is missing.
        reason: String,
    },
    /// The prefix holds no run.
    #[error(
        "{prefix} holds no run.json: name a prefix that `commute run --out` wrote; to resume, one of its shards, e.g. \
         {prefix}/shard-1-of-4"
    )]
    NoRun {
        /// The prefix.
        prefix: String,
    },
    /// The prefix holds a run.
    #[error(
        "{prefix} holds a run already: continue it with `commute run --resume {prefix}`, or choose another prefix"
    )]
    Exists {
        /// The prefix.
        prefix: String,
    },
    /// The prefix holds no run, but the local folder holds cells of one.
    #[error(
        "{prefix} holds no run.json, but {dir} holds cells of a run into it. If this is the right bucket, someone emptied \
         it: read the cells with `commute report {dir}`, then remove that folder", dir = folder.display()
    )]
    Emptied {
        /// The folder.
        folder: PathBuf,
        /// The prefix.
        prefix: String,
    },
    /// The local folder holds another run than the prefix.
    #[error(
        "{} holds records of another run than {prefix}: remove the folder, then continue with \
         `commute run --resume {prefix}`", folder.display()
    )]
    OtherRun {
        /// The folder.
        folder: PathBuf,
        /// The prefix.
        prefix: String,
    },
    /// Another process uses the local folder.
    #[error("another commute on this machine runs {prefix}: wait for it")]
    Locked {
        /// The prefix.
        prefix: String,
    },
    /// Another machine stored a record with this name.
    #[error(
        "{object} was stored by another machine, with other content. Let one machine run this shard: `commute run --resume \
         {prefix}` continues it. This machine's record does not count; {} keeps it", folder.display()
    )]
    Conflict {
        /// The object.
        object: String,
        /// The local folder.
        folder: PathBuf,
        /// The prefix.
        prefix: String,
    },
    /// A cell could not be stored.
    #[error(
        "cannot store {object}: {reason}. Cells stored before are complete, and {} keeps this one. Remove the cause, \
         then continue with `commute run --resume {prefix}`", folder.display()
    )]
    PutCell {
        /// The object.
        object: String,
        /// Why.
        reason: String,
        /// The local folder.
        folder: PathBuf,
        /// The prefix.
        prefix: String,
    },
    /// The header, or a file that it names, could not be stored.
    #[error(
        "cannot store {object}: {reason}. Nothing was measured since; remove the cause, then give the same command again"
    )]
    Put {
        /// The object.
        object: String,
        /// Why.
        reason: String,
    },
    /// The bucket replaces objects although it must not.
    #[error(
        "{prefix} is in a store that ignores conditions of puts (If-None-Match, If-Match): two machines could overwrite \
         each other's records. Use another store, or a folder"
    )]
    Unconditional {
        /// The prefix.
        prefix: String,
    },
    /// An object or a listing could not be read.
    #[error("cannot read {object}: {reason}")]
    Get {
        /// The object or prefix.
        object: String,
        /// Why.
        reason: String,
    },
    /// An object is larger than a record may be.
    #[error("{object} is larger than {} MiB, the limit for a record", MAX_RECORD_BYTES >> 20)]
    TooLarge {
        /// The object.
        object: String,
    },
    /// There are too many objects.
    #[error(
        "{prefix} holds more than {limit} objects, the limit: name a prefix with less below it"
    )]
    TooMany {
        /// The prefix.
        prefix: String,
        /// The limit.
        limit: usize,
    },
    /// There is more than a machine has room for.
    #[error(
        "{prefix} holds more than {mib} MiB, half of what is free at {}: free space there, or name another place with \
         XDG_CACHE_HOME, for a dry run TMPDIR", into.display()
    )]
    NoRoom {
        /// The prefix.
        prefix: String,
        /// The limit.
        mib: u64,
        /// Where records are copied to.
        into: PathBuf,
    },
    /// Cells without a header.
    #[error(
        "{below} has cells but no run.json, so its records cannot be read: restore run.json, or remove the cells"
    )]
    NoHeader {
        /// The prefix that has the cells.
        below: String,
    },
    /// A local file cannot be read or written.
    #[error("cannot write {}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The local folder cannot be read or written.
    #[error(transparent)]
    Folder(#[from] StoreError),
}

/// The most objects below a prefix that are listed: several runs of [`MAX_RECORDS`].
pub(crate) const MAX_OBJECTS: usize = 4 * MAX_RECORDS;

impl RemoteError {
    /// Reports whether the command line names what is not there, or what is there and must not be.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Scheme { .. }
                | Self::Url { .. }
                | Self::NoRun { .. }
                | Self::Exists { .. }
                | Self::Emptied { .. }
        )
    }
}
