//! The records of a run, and the folder that stores them.
//!
//! The life of a record:
//!
//! 1. A study becomes a plan. The header, [`Run`], is written when a run starts, and replaced only when
//!    its plan is extended by further blocks: the study's
//!    settings, the host, and every [`Planned`] cell of the *whole* plan, even in a shard that runs
//!    only some of them.
//! 2. A cell runs and becomes a [`Cell`]: its calls, bytes, costs and audit. Whatever its outcome
//!    (clean, noisy, failed, unsupported), it is written once and never changed. A block
//!    with a noisy cell is run again as a whole: same ids, next *attempt*. A block that was
//!    interrupted for long is started again from its first cell: next *invocation*.
//! 3. [`Store`] writes a record under a temporary name, syncs it, renames it and syncs the folder:
//!    a file with a record's name is complete, even after kill -9 or with a full disk.
//!    A store may have a [`Replica`], e.g. in a bucket. Then a write also waits for that.
//! 4. A folder is read record by record into a [`Collector`], which checks that cells and plan belong together. It also
//!    merges shards into their union; their order and duplicates make no difference. The result is [`RunData`]: cells in
//!    the plan's order. Reports take a [`CompactRun`], whose calls take a twentieth of the memory.
//! 5. [`RunData::with_status`] returns which cells count and which were superseded; none is lost.
//!
//! The report is a function of [`CompactRun`] alone. `docs/reference/records.md` describes folder, fields and
//! units for readers without this crate; `docs/record.schema.json` is generated from the types.

#![forbid(unsafe_code)]

mod call;
mod cell;
mod collect;
mod compact;
mod connection;
mod data;
pub mod folder;
mod host;
mod load;
mod merge;
mod moves;
mod packets;
mod path;
mod proof;
mod radio;
mod run;
mod schema;
mod store;
mod timeline;

pub use call::{Call, CallResult, Exchange, State};
pub use cell::{
    ACTIVITY_BIN_MS, Activity, Audit, CallList, Cell, Cost, Outcome, Relay, Stack, Wire,
};
pub use collect::{Collector, merge};
pub use compact::{CompactCall, CompactCalls, CompactCell, CompactRun};
pub use connection::{ConnectionSettings, Socket};
pub use data::{CellStatus, DataError, RunData};
pub use host::{Host, Machine};
pub use load::{Distribution, Load, LoadPlan, Pace};
pub use merge::MergeError;
pub use moves::Move;
pub use packets::{LossComparison, PacketSeries};
pub use path::{CallPath, PacketFate, PacketKind, PathPacket, PathStep};
pub use proof::Proof;
pub use radio::RadioChange;
pub use run::{
    Arm, Check, ExternalServer, FORMAT, Group, Level, Network, Planned, PlannedCall, Position, Run,
    ServerOption, Settings,
};
pub use schema::schema;
pub use server_log::{self, Sender};
pub use store::{
    CELLS, MAX_RECORD_BYTES, MAX_RECORDS, PAYLOADS, RecordName, Replica, ReplicaError, Store,
    StoreError, StoreLock, parse_cell, parse_run,
};
pub use timeline::{Sample, Timeline};
