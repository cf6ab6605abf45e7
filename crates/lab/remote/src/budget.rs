//! A limit for the bytes that are fetched.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::error::RemoteError;
use crate::location::Prefix;

/// The bytes that may still be fetched.
pub(crate) struct Budget {
    left: Cell<u64>,
    bytes: u64,
    into: PathBuf,
}

impl Budget {
    pub(crate) fn new(bytes: u64, into: &Path) -> Self {
        Self {
            left: Cell::new(bytes),
            bytes,
            into: into.to_owned(),
        }
    }

    /// Counts bytes that were fetched. Fails if they are too many.
    pub(crate) fn take(&self, bytes: usize, prefix: &Prefix) -> Result<(), RemoteError> {
        let left = self.left.get().checked_sub(bytes as u64);
        self.left.set(left.ok_or_else(|| RemoteError::NoRoom {
            prefix: prefix.to_string(),
            mib: self.bytes >> 20,
            into: self.into.clone(),
        })?);
        Ok(())
    }
}
