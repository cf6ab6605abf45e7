//! The lab: a study becomes a plan, its blocks run on benches, each cell becomes a record.
//!
//! 1. [`Study::parse`] reads the question; every error has file and line.
//! 2. [`Plan::new`] expands it: every cell with its id, in its random order, under the luck of
//!    its block. Pure: the same file and seed give the same plan, and shards partition it.
//! 3. [`Lab::run`] finds what is left of the plan in the run's folder and gives each worker a
//!    seat: one bench, kept from cell to cell.
//! 4. A cell starts a server of fresh keys and a driver in a fresh home, sends the driver its
//!    steps, and closes the window of the bench when the last row has come.
//! 5. The driver's rows are held against the server's log (`proof`): one contradiction fails
//!    the cell. The window is held against the audit's bounds: a noisy cell is run again
//!    at once, at most three times.
//! 6. The record is written, whole or not at all, before the next cell begins.
//!
//! [`Lab::doctor`] puts the same machinery to questions whose answers physics knows.

mod cell;
mod conformance;
mod doctor;
mod home;
mod host;
mod import;
mod introduce;
mod lab;
mod plan;
mod run;
mod stacks;
mod study;
mod verify;

pub use conformance::{CASES, Case, Conformance, Finding, Report, Verdict};
pub use doctor::{Break, DoctorOptions, Fact, Part, check_line, check_network, machine};
pub use home::{Home, NoHome};
pub use host::facts as host_facts;
pub use import::{ImportError, ImportOptions, ImportedCall, import};
pub use introduce::Introduced;
pub use lab::{Lab, LabError, RunOptions, network};
pub use plan::workload::Workload;
pub use plan::{Block, Plan, PlannedCell, Shard, slug};
pub use run::scheduler::{Ended, Event};
pub use stacks::{Driver, Folder, Runner, Stacks, StacksError};
pub use study::{Arm, Security, Step, Study};
