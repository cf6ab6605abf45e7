//! A second place for records, which holds each before the run counts it.

use std::error::Error;
use std::fmt::Debug;

use crate::store::name::RecordName;

/// Why a replica has not taken a record, and what to do.
pub type ReplicaError = Box<dyn Error + Send + Sync>;

/// Keeps every record a second time, e.g. in a bucket. A [`Store`](crate::Store) has a record counted only when its
/// replica has it, too.
pub trait Replica: Debug + Send + Sync {
    /// Adds a record, which is never replaced. Fails if the replica has another with this name.
    fn add(&self, name: &RecordName, content: &[u8]) -> Result<(), ReplicaError>;

    /// Replaces a record. Fails if the replica has another than the one `before`.
    fn replace(&self, name: &RecordName, before: &[u8], content: &[u8])
    -> Result<(), ReplicaError>;
}
