//! A study: one question, in one TOML file.

mod parse;
mod steps;

use config::ConfigError;
use driver::protocol::{Codec, Discovery, Protocol, Reconnect};
use serde::Deserialize;

/// A study as parsed and checked; nothing in it names something that does not exist,
/// stacks and networks apart (see [`crate::Lab::plan`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// Names of networks.
    pub networks: Vec<String>,
    /// Arms, in order; at least the baseline.
    pub arms: Vec<Arm>,
    /// Index of the baseline in `arms`.
    pub baseline: usize,
    /// Blocks per network.
    pub blocks: u32,
    /// Where all luck comes from.
    pub seed: u64,
    /// Time-out of a call.
    pub timeout_ns: u64,
    /// Smallest difference of interest.
    pub margin_ns: Option<u64>,
    /// The run fails its threshold when fewer of the planned cells end clean.
    pub min_clean_percent: Option<f64>,
    /// What the app does.
    pub workload: Vec<Step>,
}

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Unique in the study.
    pub name: String,
    /// A stack's name.
    pub stack: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// How the messages of exchanges are encoded.
    pub codec: Codec,
    /// Client certificates?
    pub security: Security,
    /// Congestion control of both ends; absent: each stack's default.
    pub congestion: Option<String>,
    /// Calls elsewhere that warm the runtime up first; 0: a cold process.
    pub warmup_calls: u32,
    /// `frame:HZ`: the application sees the end of a call at its next frame.
    pub observe: Option<String>,
    /// How HTTP/3 is found; absent: it is forced.
    pub discovery: Option<Discovery>,
}

impl Arm {
    /// `stack` over `protocol`, and everything else as it comes.
    pub(crate) fn plain(stack: &str, protocol: Protocol) -> Arm {
        Arm {
            name: format!("{stack} {}", protocol.name()),
            stack: stack.to_owned(),
            protocol,
            codec: Codec::plain(protocol),
            security: Security::Tls,
            congestion: None,
            warmup_calls: 0,
            observe: None,
            discovery: None,
        }
    }
}

/// How the connection is secured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// The server proves who it is.
    Tls,
    /// Both do.
    Mtls,
}

/// One step of the workload, repetitions not yet expanded.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A small request and its echo.
    Call {
        /// Its group in the report.
        group: String,
        /// JSON text.
        body: String,
        /// How often, one after another.
        times: u32,
    },
    /// A message there and back in the arm's codec.
    Exchange {
        /// Its group in the report.
        group: String,
        /// The messages, taken in turn.
        messages: Vec<wire::Name>,
        /// How often, one after another.
        times: u32,
    },
    /// A download.
    Get {
        /// Its group in the report.
        group: String,
        /// Length.
        bytes: u64,
        /// How often.
        times: u32,
    },
    /// An upload.
    Put {
        /// Its group in the report.
        group: String,
        /// Length.
        bytes: u64,
        /// How often.
        times: u32,
    },
    /// Echoes on one bidirectional stream.
    Stream {
        /// Its group in the report.
        group: String,
        /// JSON text.
        body: String,
        /// How many messages.
        messages: u32,
    },
    /// Nothing for a while.
    Pause {
        /// How long.
        ns: u64,
    },
    /// Next call on a new connection.
    Reconnect(Reconnect),
    /// The steps inside, several times.
    Repeat {
        /// How often.
        times: u32,
        /// What.
        steps: Vec<Step>,
    },
    /// The steps inside, all at once.
    Parallel(Vec<Step>),
}

impl Study {
    /// Parses a study; `file` is only for messages.
    pub fn parse(file: &str, text: &str) -> Result<Study, ConfigError> {
        parse::read(file, text)
    }
}

/// The message of the game-api study: 13 digits of milliseconds, 26 bytes in all.
pub(crate) const DEFAULT_BODY: &str = r#"{"start_ts":1763757325123}"#;
