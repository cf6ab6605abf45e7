use std::path::PathBuf;
use std::sync::Arc;

use record::folder::Readers;
use record::{Check, Replica, ServerOption};
use study::plan::{Plan, Shard};

/// How to run a plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Path of the study's file, for the record.
    pub study_file: String,
    /// The server that the command line named, for the record.
    pub server: Option<ServerOption>,
    /// The run's folder.
    pub out: PathBuf,
    /// Has each record, too, before it counts.
    pub replica: Option<Arc<dyn Replica>>,
    /// Whether to continue the run that the folder holds.
    pub resume: bool,
    /// Blocks measured in parallel, at least 1.
    pub jobs: usize,
    /// The share of the plan's blocks to run.
    pub shard: Shard,
    /// Whether to keep every packet of every cell as pcapng.
    pub pcap: bool,
    /// Whether to keep the secrets of every TLS session.
    pub keylog: bool,
    /// Whether to keep the server's qlog of every QUIC connection.
    pub qlog: bool,
    /// Whether to keep the critical path of each call in the records.
    pub explain: bool,
    /// Whether the caller adds blocks until every comparison is decided.
    pub until_decided: bool,
    /// Results of the self-test, for the record; empty when it was skipped.
    pub self_test: Vec<Check>,
}

/// Returns who may read the header of a run and its packets. Requests of the study's own may hold credentials: header
/// fields, queries, bodies.
pub(super) fn readers(plan: &Plan) -> Readers {
    match plan.own_requests().is_empty() {
        true => Readers::Any,
        false => Readers::Owner,
    }
}
