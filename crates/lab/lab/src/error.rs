use std::path::PathBuf;

use config::ConfigError;

use crate::stacks::StacksError;

/// Why a study could not be planned or run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The study's file has a mistake.
    #[error(transparent)]
    Study(#[from] ConfigError),
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// What was named is no TOML file.
    #[error("{file}: {reason}")]
    NotToml {
        /// As it was named.
        file: String,
        /// What it is, and what would be right.
        reason: String,
    },
    /// A network is unknown, or its file has a mistake.
    #[error(transparent)]
    Network(#[from] link::NetworkError),
    /// A sweep makes a network that contradicts itself.
    #[error("sweep: {0}")]
    Sweep(#[from] link::OverrideError),
    /// A stack is unknown, or its manifest has a mistake.
    #[error(transparent)]
    Stack(#[from] StacksError),
    /// An arm asks for what its server cannot do.
    #[error("{file}: arm `{arm}`: {reason}")]
    Arm {
        /// The study's file.
        file: String,
        /// The arm's name.
        arm: String,
        /// What its server cannot do.
        reason: String,
    },
    /// An arm or a step asks for what the user's own server cannot do.
    #[error("{0}")]
    External(String),
    /// The user's own server cannot be reached, or no certificate to trust is given.
    #[error("{0}")]
    Unreachable(String),
    /// The server that was named is not installed.
    #[error("{0}")]
    NoServer(String),
    /// The run's folder cannot be written or read.
    #[error(transparent)]
    Store(#[from] record::StoreError),
    /// No bench can be started on this machine.
    #[error("{0}")]
    Bench(#[from] pump::BenchError),
    /// A network of the study does not allow parallel blocks.
    #[error(
        "--jobs {jobs}: network {network} is too fast to be measured in parallel (that needs an \
         RTT of at least 20 ms and rates of at most 20 Mbit/s); leave --jobs out"
    )]
    Jobs {
        /// The number of parallel blocks asked for.
        jobs: usize,
        /// The first network that does not allow it.
        network: String,
    },
    /// The lab could not run a cell.
    #[error(
        "{id}: {reason} ({tries} times in a row). That is a failure of the lab and not of the arm, so \
         the cell has no record: remove the cause, then continue with --resume"
    )]
    CellNotRun {
        /// The cell's id.
        id: String,
        /// How often it was tried.
        tries: u32,
        /// Why the last try failed.
        reason: String,
    },
    /// The run to continue was imported.
    #[error("these calls were imported; there is no study to continue with")]
    Imported,
    /// A network of the run to continue cannot be read.
    #[error("run.json: network {network}: {}; the file was edited or is damaged", source.message())]
    Recorded {
        /// The network's name.
        network: String,
        /// The syntax or schema error.
        source: toml::de::Error,
    },
    /// A run cannot be made shorter.
    #[error("--blocks {asked}: the run has {planned} blocks already; give more to extend it")]
    FewerBlocks {
        /// Blocks in the plan.
        planned: u32,
        /// Blocks asked for.
        asked: u32,
    },
    /// The folder to resume holds another plan.
    #[error(
        "{}: this folder holds another run ({what} differs); continue it with the study, the options, the \
         stacks and the version of commute that it was started with, or name another folder", dir.display()
    )]
    OtherPlan {
        /// The run's folder.
        dir: PathBuf,
        /// The first part of the plan that differs.
        what: &'static str,
    },
}
