//! A study, which is one question in one TOML file (`docs/reference/studies.md`), and its plan.
//!
//! # The life of a study
//!
//! 1. [`Study::parse_with`] parses the text and checks it. Every error has its file and line. The caller
//!    reads the files that the study names; this crate opens none.
//! 2. The caller may change the study, e.g. [`Study::use_server`] for an option of the command line. It finds
//!    the networks by their names, and [`Sweep::apply`] makes one [`StudyNetwork`] for each combination of levels.
//! 3. [`plan::Plan::new`] expands the study: the steps of each arm's driver, and every cell with its id, in
//!    random order, with the common random numbers of its block. The same study and seed give the same plan on any
//!    machine, and shards partition it.
//! 4. [`plan::Plan::head`] is the plan as `run.json` has it. A run is continued from that: its study is parsed
//!    and planned again, and [`plan::remaining`] returns the blocks that have not been run.
//!
//! `lab` reads the files and runs the cells. `proof` checks the rows of a cell against its plan.

#![forbid(unsafe_code)]

// `plan::small_plan` names this crate as other crates do.
#[cfg(test)]
extern crate self as study;

mod arm;
mod arm_setting;
mod behaviour;
mod count;
mod external;
mod fault;
mod load;
mod moves;
mod origins;
mod own;
mod parse;
pub mod plan;
mod slots;
mod slug;
mod steps;
mod sweep;
mod units;

use std::collections::BTreeMap;
use std::sync::Arc;

use config::ConfigError;
use driver::protocol::Reconnect;
use record::LoadPlan;

pub use arm::{Arm, ArmRole, AuthScheme, Chain, Security};
pub use arm_setting::LINUX_CUBIC;
pub use behaviour::{Access, Behaviour, Connections};
pub use external::{ExternalServer, ServerUrl, Trust, check_address, not_for_step};
pub use fault::{ServerFault, server_args};
pub use moves::{Family, MAX_MOVES, Move};
pub use origins::{MAX_ORIGINS, Origins, Placement};
pub use own::{Coding, Form, MessageType, OwnRequest, Payload, ReadFile};
pub use slug::slug;
pub(crate) use steps::MAX_FILE_BYTES;
pub use sweep::{StudyNetwork, Sweep};

/// The request body of the game-api study: 13 digits of milliseconds, 26 bytes in all.
pub const DEFAULT_BODY: &str = r#"{"start_ts":1763757325123}"#;

/// A study, parsed and checked. `lab` checks whether its stacks and networks exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Lower-case letters, digits and dashes.
    pub name: String,
    /// The question, as printed above the answer.
    pub question: String,
    /// Names of networks, or paths of their files relative to the study.
    pub networks: Vec<String>,
    /// What replaces each of them.
    pub sweep: Sweep,
    /// The arms in the study's order; never empty.
    pub arms: Vec<Arm>,
    /// Index of the baseline in `arms`.
    pub baseline: usize,
    /// Blocks per network.
    pub blocks: u32,
    /// The random seed of the order of arms, the links and the messages.
    pub seed: u64,
    /// Time limit of a request; slower ones are censored.
    pub timeout_ns: u64,
    /// The largest difference that counts as no difference, when the study sets one.
    pub margin_ns: Option<u64>,
    /// The percentile of each group's requests that arms are also compared in: above 50, below 100.
    pub tail_percent: Option<f64>,
    /// The share of planned cells, 0 to 100, that must end clean for the run to succeed.
    pub min_clean_percent: Option<f64>,
    /// By how much of its length, 0 to 50, a file may differ from block to block; the same for every arm.
    pub vary_percent: f64,
    /// The user's own server, where every arm talks to that instead of one of the lab's.
    pub external: Option<ExternalServer>,
    /// Why the lab's servers cannot answer the study's own requests; none if they can. A server of the
    /// user's own has other paths and answers.
    pub not_for_lab: Option<ConfigError>,
    /// The steps the app goes through.
    pub workload: Vec<Step>,
    /// When the phone's addresses change meanwhile, in order of time.
    pub moves: Vec<Move>,
    /// The content of each file that they name, by its path as they give it.
    pub payload_files: BTreeMap<String, Arc<[u8]>>,
}

impl Study {
    /// Makes every arm use a server of the lab, by its name.
    pub fn use_server(&mut self, name: &str) {
        self.external = None;
        let arms = self.arms.iter_mut();
        arms.for_each(|arm| name.clone_into(&mut arm.server));
    }

    /// Makes every arm use the user's own server.
    pub fn use_external(&mut self, server: ExternalServer) {
        self.use_server(&server.url.to_string());
        self.external = Some(server);
    }
}

/// One step of a workload, before repetitions are expanded.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A small request and its echo.
    Call {
        /// The group it is reported in.
        group: String,
        /// The body, JSON text.
        body: String,
        /// Repetitions, one after another.
        times: u32,
    },
    /// A request of the study's own.
    Own {
        /// The group it is reported in.
        group: String,
        /// The request and its response.
        request: Box<OwnRequest>,
        /// Repetitions, one after another.
        times: u32,
    },
    /// A message sent and returned in the arm's codec.
    Exchange {
        /// The group it is reported in.
        group: String,
        /// The messages to send, in turn.
        messages: Vec<messages::Name>,
        /// Repetitions, one after another.
        times: u32,
    },
    /// A message sent in the arm's codec and answered with a receipt.
    Submit {
        /// The group it is reported in.
        group: String,
        /// The message.
        message: messages::Name,
        /// Repetitions, one after another.
        times: u32,
    },
    /// A download.
    Get {
        /// The group it is reported in.
        group: String,
        /// Length of the body.
        bytes: u64,
        /// Repetitions, one after another.
        times: u32,
    },
    /// An upload.
    Put {
        /// The group it is reported in.
        group: String,
        /// Length of the body.
        bytes: u64,
        /// Repetitions, one after another.
        times: u32,
    },
    /// Echoes on one bidirectional stream.
    Stream {
        /// The group it is reported in.
        group: String,
        /// The body, JSON text.
        body: String,
        /// Messages on the stream, one in flight.
        messages: u32,
    },
    /// Requests for a time instead of a number of times; only at the top of a workload.
    Load {
        /// For how long, and when each starts.
        plan: LoadPlan,
        /// The step that makes one: a call, a request of the study's own, an exchange, a submission or a
        /// download.
        request: Box<Step>,
    },
    /// A request to another origin than the first.
    At {
        /// The origin's name.
        origin: String,
        /// The request.
        step: Box<Step>,
    },
    /// A pause; connections are kept.
    Pause {
        /// Duration in nanoseconds.
        ns: u64,
    },
    /// The next step starts this long after the start of the run, or later.
    WaitUntil {
        /// The time in nanoseconds.
        ns: u64,
    },
    /// The next request goes on a new connection.
    Reconnect(Reconnect),
    /// The app's process ends, and another starts with what the first has stored.
    Restart,
    /// The inner steps, several times.
    Repeat {
        /// Repetitions.
        times: u32,
        /// The inner steps.
        steps: Vec<Step>,
    },
    /// The inner steps, all at once.
    Parallel(Vec<Step>),
}
