//! Why a folder of records cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::error::Category;

use crate::data::DataError;
use crate::merge::MergeError;
use crate::run::FORMAT;
use crate::store::replica::ReplicaError;
use crate::store::{MAX_RECORD_BYTES, MAX_RECORDS};

/// Why a folder of records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file exists already; records are never overwritten.
    #[error("{} already exists: continue that run with --resume, or choose another folder with --out", file.display())]
    Exists {
        /// The existing file.
        file: PathBuf,
    },
    /// Another process writes to the folder.
    #[error("{}: another commute is running into this folder; wait for it, or choose another folder with --out", dir.display())]
    Locked {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder contains no run.
    #[error("{} contains no run.json: name a folder that `commute run` wrote", dir.display())]
    NoRun {
        /// The folder.
        dir: PathBuf,
    },
    /// The disk or the quota is full.
    #[error("{}: no space left. Cells written before are complete: free some space, then continue with --resume", file.display())]
    Full {
        /// The file that could not be written.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file cannot be written for another reason.
    #[error("cannot write {}: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file or folder cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file or folder.
        file: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The record is larger than [`MAX_RECORD_BYTES`].
    #[error("{} is larger than {} MiB, the limit for a record", file.display(), MAX_RECORD_BYTES >> 20)]
    TooLarge {
        /// The record.
        file: PathBuf,
    },
    /// There are more than [`MAX_RECORDS`] records.
    #[error("{} contains more than {MAX_RECORDS} records, the limit for a run", dir.display())]
    TooMany {
        /// The folder.
        dir: PathBuf,
    },
    /// The file is not a valid record.
    #[error("{} is not a valid record: {reason}; it was edited or damaged, remove it and run its cell again with --resume", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The kind of error and its position. It quotes nothing of the file: a stranger's folder may have a link to
        /// any file in its place.
        reason: String,
    },
    /// The record has another format.
    #[error("{} has record format {found}, this commute reads {FORMAT}: read it with the version that wrote it", file.display())]
    Format {
        /// The record.
        file: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The file name does not match the content.
    #[error("{} contains the cell {expected}: rename it back to that", file.display())]
    Renamed {
        /// The file.
        file: PathBuf,
        /// The file name that belongs to the content.
        expected: String,
    },
    /// The id cannot be part of a file name.
    #[error(
        "{id:?} is not a valid cell id: use letters, digits, '-', '_' and '.', and do not begin with '.'"
    )]
    Id {
        /// The id.
        id: String,
    },
    /// The records do not belong together.
    #[error("{}: {source}", dir.display())]
    Data {
        /// The folder.
        dir: PathBuf,
        /// The inconsistency.
        source: DataError,
    },
    /// The records belong to another run than those before, or contradict them.
    #[error(transparent)]
    Merge(MergeError),
    /// The replica has not taken a record, which the folder has.
    #[error("{source}")]
    Replica {
        /// What happened, and what to do.
        source: ReplicaError,
    },
}

impl StoreError {
    /// Returns the error for records of a run that do not belong to those before. Of two shards that contradict each
    /// other, neither is named: either may be right.
    pub fn inconsistent(run: &Path, source: MergeError) -> Self {
        match source {
            MergeError::Data(DataError::Conflict { .. }) => Self::Merge(source),
            MergeError::Data(source) => Self::Data {
                dir: run.to_owned(),
                source,
            },
            other => Self::Merge(other),
        }
    }

    pub(super) fn malformed(file: &Path, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The names of fields are those of the format.
        let missing = text.strip_prefix("missing field `");
        let missing = missing.and_then(|rest| rest.split_once('`'));
        let what = match (error.classify(), missing) {
            (_, Some((field, _))) => format!("missing field `{field}`"),
            (Category::Eof, _) => "incomplete JSON".to_owned(),
            (Category::Data, _) => "another type or value than that of the field".to_owned(),
            (Category::Syntax | Category::Io, _) => "no JSON".to_owned(),
        };
        let (line, column) = (error.line(), error.column());
        Self::Malformed {
            file: file.to_owned(),
            reason: format!("{what} at line {line}, column {column}"),
        }
    }

    pub(super) fn read(file: &Path, source: io::Error) -> Self {
        Self::Read {
            file: file.into(),
            source,
        }
    }

    pub(super) fn write(file: &Path, source: io::Error) -> Self {
        let file = file.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { file, source }
            }
            _ => Self::Write { file, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_error_says_how_to_continue() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded] {
            let message = StoreError::write(Path::new("out/run.json"), kind.into()).to_string();
            assert!(
                message.contains("no space left") && message.contains("--resume"),
                "{message}"
            );
        }
    }
}
