//! The messages of driver protocol version 2: one JSON object a line.
//!
//! The lab speaks first with [`Request::Hello`]; each request is answered by the replies
//! its variant names. `docs/driver-protocol.md` is the contract, this file its types.

mod row;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::row::{CallError, ErrorKind, Row};
pub use crate::parse::Refusal;

/// The version this crate speaks.
pub const VERSION: u32 = 2;

/// Any line of a conversation; what the published schema describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Message {
    /// From the lab.
    Request(Request),
    /// From the driver.
    Reply(Reply),
}

/// What the lab asks of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one setup a conversation"
)]
pub enum Request {
    /// Who are you? Answered by [`Reply::Hello`].
    Hello {
        /// Highest protocol version the lab speaks.
        version: u32,
    },
    /// Get ready. Answered by [`Reply::Ready`] or [`Reply::Unsupported`].
    Setup(Setup),
    /// Follow these steps. Answered by one [`Reply::Row`] a call, then [`Reply::Done`]; or,
    /// before any step was taken, by [`Reply::Unsupported`].
    Run {
        /// The steps, in order of id.
        steps: Vec<Step>,
    },
    /// Close everything and exit 0. Not answered.
    Close,
}

/// Where to, as whom, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Origin under measurement, as `https://name:port`. Not to be touched before `run`.
    pub url: String,
    /// A second origin, off the measured path, for warming a runtime up; absent when the
    /// study wants a cold process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_url: Option<String>,
    /// How many downloads of one byte warm it up; absent: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_calls: Option<u32>,
    /// PEM file of the certificate authority to trust (and no other).
    pub ca_file: String,
    /// PEM file of the client's certificate chain, for mTLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cert_file: Option<String>,
    /// PEM file of the client's private key (PKCS#8), for mTLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key_file: Option<String>,
    /// What to speak.
    pub protocol: Protocol,
    /// How to encode the messages of `exchange` steps; of `call`, `json` over HTTP and
    /// `protobuf` over gRPC.
    pub codec: Codec,
    /// Give up on a call after this long.
    pub timeout_ns: u64,
    /// Congestion control to choose, where the stack can; absent: the stack's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// `frame:HZ`: a call ends, for the application, at the next frame of a loop of HZ frames
    /// a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<String>,
    /// How HTTP/3 is found; absent: it is forced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Discovery>,
    /// Files that hold the messages of `exchange` steps, by name, in the form that
    /// `docs/codec-runner.md` describes; those made by rule have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// File with the messages' schema as JSON, for runtimes that have no classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_file: Option<String>,
}

/// How a client comes to use HTTP/3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// From the `alt-svc` field of an earlier response (RFC 7838).
    AltSvc,
}

/// An application protocol.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1 over TLS.
    H1,
    /// HTTP/2 over TLS.
    H2,
    /// HTTP/3.
    H3,
    /// gRPC over HTTP/2 over TLS.
    Grpc,
}

impl Protocol {
    /// Its name in studies, on the wire and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H3 => "h3",
            Self::Grpc => "grpc",
        }
    }
}

/// How a message is encoded, by name: `json`, `protobuf+zstd-3`. Which there are, the driver
/// says ([`Hello::codecs`]); this crate knows none but two.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Codec(pub String);

impl Codec {
    /// The plain codec of a protocol, in which its `call` steps go: Protobuf over gRPC, JSON
    /// over all others.
    pub fn plain(protocol: Protocol) -> Self {
        Self(
            if protocol == Protocol::Grpc {
                "protobuf"
            } else {
                "json"
            }
            .to_owned(),
        )
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// One step of a workload. Flat: the lab has expanded every repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Unique within a run, from 1; also the call's id, sent as header `x-commute-id`.
    pub id: u32,
    /// When to start. Absent: when every earlier step has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// Rows are sent when all calls of their group have ended, never between.
    pub group: u32,
    /// Give the call up this long after its start; only asked of drivers that can
    /// ([`Capability::Cancel`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_after_ns: Option<u64>,
    /// What to do.
    #[serde(flatten)]
    pub action: Action,
}

/// When a step starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// As soon as this earlier step has ended (0: at once).
    After(u32),
    /// This long after the start of the run.
    AtNs(u64),
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Action {
    /// A small request and its echo: POST `/echo`, or gRPC `Echo`.
    Call {
        /// The message as JSON text. A Protobuf stack encodes the same message.
        body: String,
    },
    /// Download: GET `/bytes/{bytes}`, or gRPC `Download`.
    Get {
        /// Length of the file.
        bytes: u64,
    },
    /// Upload: PUT `/upload`, or gRPC `Upload`; the reply is the digest.
    Put {
        /// Length of the body, the same seeded bytes as `get` yields.
        bytes: u64,
    },
    /// A bidirectional stream of echoes, one in flight: gRPC `Chat`.
    Stream {
        /// The message as JSON text, sent each time.
        body: String,
        /// How often.
        messages: u32,
    },
    /// An app's whole loop: make the message, encode it, POST `/exchange/{kind}` or gRPC
    /// `Exchange`, receive an equal one whole, decode it.
    Exchange {
        /// The message's name: `big-N` is made in the call, others were read at `setup`.
        message: String,
        /// Its kind in the schema.
        kind: String,
    },
    /// Do nothing for a while, connections kept.
    Pause {
        /// How long.
        ns: u64,
    },
    /// Close every connection; the next call opens a new one.
    Reconnect {
        /// What the new connection may use of the old one.
        mode: Reconnect,
    },
}

impl Action {
    /// The value of `step` of each variant.
    pub const NAMES: [&str; 7] = [
        "call",
        "get",
        "put",
        "stream",
        "exchange",
        "pause",
        "reconnect",
    ];

    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Call { .. } => "call",
            Self::Get { .. } => "get",
            Self::Put { .. } => "put",
            Self::Stream { .. } => "stream",
            Self::Exchange { .. } => "exchange",
            Self::Pause { .. } => "pause",
            Self::Reconnect { .. } => "reconnect",
        }
    }

    /// A row is owed for it.
    pub fn is_call(&self) -> bool {
        !matches!(self, Self::Pause { .. } | Self::Reconnect { .. })
    }
}

/// What a new connection may use of the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reconnect {
    /// Nothing: tickets are thrown away.
    Cold,
    /// Session tickets, without early data.
    Resume,
    /// Session tickets, and early data for the next call.
    EarlyData,
}

/// What a driver answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// Who this is.
    Hello(Hello),
    /// Set up; `run` may follow.
    Ready,
    /// Cannot do what was asked; not an error of the driver.
    Unsupported {
        /// What was asked, as `protocol h3` or `step stream`.
        what: String,
        /// Why it cannot be had.
        reason: String,
    },
    /// One call's measurements.
    Row(Row),
    /// Every step has ended and every row was sent.
    Done,
    /// The driver itself failed (a call that failed is a row).
    Failed {
        /// What went wrong.
        reason: String,
    },
}

/// Who a driver is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Protocol version it will speak.
    pub version: u32,
    /// The stack's name, as `hyper`.
    pub stack: String,
    /// The library's version, as loaded.
    pub stack_version: String,
    /// TLS library and version, as loaded.
    pub tls: String,
    /// What it can speak.
    pub protocols: Vec<Protocol>,
    /// What else it can do.
    pub capabilities: Vec<Capability>,
    /// The clock of every `*_ns` in its rows.
    pub clock: Clock,
    /// Smallest difference that clock can show.
    pub resolution_ns: u64,
    /// Which phases it can time, each with where the time comes from.
    pub phases: BTreeMap<String, String>,
    /// What the library ships or the driver set and no server can see: windows, idle
    /// limits, buffers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// With which codecs it can do `exchange`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codecs: Vec<Codec>,
}

/// Something not every stack can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Client certificates.
    Mtls,
    /// TLS session resumption.
    Resume,
    /// Early data (0-RTT).
    EarlyData,
    /// The `stream` step.
    Stream,
    /// Calls side by side on one connection, or over several.
    Parallel,
    /// Protobuf bodies.
    Protobuf,
    /// Chooses its congestion control.
    Congestion,
    /// Gives a call up when asked.
    Cancel,
    /// Sees the end of a call at the next frame only.
    Observe,
    /// Finds HTTP/3 by `alt-svc`.
    AltSvc,
}

/// Whose clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// This host's `CLOCK_MONOTONIC`.
    Monotonic,
    /// The driver's own: comparable with itself only.
    Own,
}
