//! Runs whose records many machines write into one bucket: S3, Google Cloud Storage, Azure or a shared folder.
//!
//! The life of a [`RemoteRun`]:
//!
//! 1. `commute run --out s3://BUCKET/PREFIX` opens it. [`Location`] parses the argument; no request is sent yet.
//!    [`RemoteRun::check_new`] fails if the prefix holds a run already.
//! 2. The run writes its records into a local folder, [`RemoteRun::folder`]. As the store's [`record::Replica`], it then
//!    puts each into the prefix. A put never replaces an object (`If-None-Match: *`). An object that has the same bytes is
//!    one that an earlier try stored. Other bytes are those of another machine: an error.
//! 3. A put that fails for a while stops the run. The folder then keeps the record.
//! 4. Any machine continues a run. [`RemoteRun::fetch`] fetches what the folder lacks, and [`RemoteRun::store`] puts what
//!    the prefix lacks. Where both have a record of one name, that of the prefix counts.
//! 5. [`RemoteRun::discard_folder`] deletes the folder of a complete run.
//!
//! A process locks the folder from the second or fourth step to its end.
//!
//! [`read_runs`] reads all runs below a prefix, for reports, and copies none.
//!
//! Others may write into a bucket. So a listing only selects names of records ([`record::RecordName`]), sizes and numbers
//! are limited, and errors quote no response of a server: it may hold keys and signatures.

#![forbid(unsafe_code)]

mod bucket;
mod budget;
mod error;
mod location;
mod read;
mod reason;
mod run;

pub use bucket::{Bucket, VARIABLES};
pub use error::RemoteError;
pub use location::{Location, Prefix};
pub use read::read_runs;
pub use run::{Fetched, RemoteRun};
