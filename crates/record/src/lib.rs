//! What is measured, and the store it lies in.
//!
//! The life of a record:
//!
//! 1. A study becomes a plan. Its head, [`Run`], is written once when a run starts: what was
//!    asked, of whom, where, and every [`Planned`] cell of the *whole* plan, also in a shard
//!    that will run only some of them.
//! 2. A cell runs and becomes a [`Cell`]: its calls, bytes, costs and the audit. However it
//!    ended (clean, noisy, failed, unsupported) it is written once and never changed. A
//!    noisy cell is run again at once: same id, next *attempt*. A block that was
//!    interrupted for long is run anew from its first cell: next *invocation*.
//! 3. [`Store`] writes it under a temporary name, syncs, renames and syncs the folder: what
//!    has a record's name is whole, also after kill -9 or a full disk.
//! 4. A folder is read into [`RunData`], which has checked that cells and plan belong
//!    together and puts them in the plan's order; nothing of it depends on the order of files.
//! 5. Shards are put together by [`merge`]: the union, whatever the order and however often.
//!    [`RunData::with_status`] says which cells count and which were superseded; none is lost.
//!
//! The report is a function of [`RunData`] and of nothing else. `docs/records.md` describes
//! folder, fields and units for those who read the files without this crate;
//! `docs/record.schema.json` is generated from the types.

mod cell;
mod data;
mod merge;
mod run;
mod schema;
pub mod server_log;
mod store;

pub use cell::*;
pub use data::{CellStatus, DataError, RunData};
pub use merge::{MergeError, merge};
pub use run::*;
pub use schema::schema;
pub use store::{MAX_RECORD_BYTES, MAX_RECORDS, Store, StoreError};
