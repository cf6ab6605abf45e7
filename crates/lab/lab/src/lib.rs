//! The lab: a study becomes a plan, its blocks run on benches, and each cell becomes a record.
//!
//! 1. [`Lab::plan`] reads a study's files. The crate [`study`] parses the study and expands it into a [`Plan`]; the lab
//!    finds the stacks and networks that the study names.
//! 2. [`Lab::reach`] and [`Feasibility`] show before a run whether it can be run on this machine.
//! 3. `run` finds what remains of the plan in the run's folder and gives it to workers. Each worker
//!    keeps one bench from cell to cell.
//! 4. `cell` starts a server with fresh keys and a driver with a fresh home, and sends the driver its
//!    steps. It closes the bench's window when the last row has arrived.
//! 5. The crate [`proof`] checks the driver's rows against the server's log, where one contradiction fails
//!    the cell, and the window against the audit's bounds. Blocks with a noisy cell are run again as a
//!    whole after all others, up to three attempts in all.
//! 6. The record is written, complete or not at all, before the next cell begins.
//!
//! `doctor` measures known physics with the same machinery, `conformance` checks drivers with it.

#![forbid(unsafe_code)]

mod bench;
mod cell;
mod conformance;
mod doctor;
mod error;
mod feasibility;
mod files;
mod hello;
mod home;
mod host;
mod lab;
mod network;
mod relay;
mod run;
mod runners;
mod stacks;
mod toml_file;
mod visible;

pub use cell::external::PROBES_PER_CELL;
pub use conformance::{CASES, Case, Conformance, Finding, Matrix, MatrixError, Report, Verdict};
pub use doctor::{
    DoctorOptions, Fact, Fault, NetworkCheck, NetworkCheckEvent, Part, check_line, check_network,
    machine,
};
pub use driver::manifest::OWN_SERVER;
pub use error::LabError;
pub use feasibility::Feasibility;
pub use files::{AllowedFiles, parse_study};
pub use hello::{DriverHello, HelloReader};
pub use home::{Home, NoHome, UnknownStudy};
pub use host::facts as host_facts;
pub use lab::Lab;
pub use network::find as find_network;
pub use relay::{FarEnd, Relay};
pub use run::{Ended, Event, RunOptions, check_jobs};
pub use runners::runner_confinement;
pub use stacks::{Driver, Folder, Runner, Server, Stacks, StacksError};
pub use study::plan::{Block, Plan, PlannedCell, Shard, Workload};
pub use study::{
    Access, Arm, AuthScheme, Behaviour, Chain, Connections, ExternalServer, Origins, OwnRequest,
    Payload, Placement, ReadFile, Security, ServerFault, ServerUrl, Step, Study, StudyNetwork,
    Sweep, Trust, check_address, slug,
};
