//! Requests: messages from the lab to a driver.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::{Codec, Protocol};

/// A request from the lab to a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a conversation has only one setup"
)]
pub enum Request {
    /// Asks what the driver is and can do. Answered by `hello`.
    Hello {
        /// Highest protocol version that the lab supports.
        version: u32,
    },
    /// Prepares the driver for an origin. Answered by `ready` or `unsupported`.
    Setup(Setup),
    /// Starts the steps. Answered by one `row` per call, then `done`; or, before any step has
    /// started, by `unsupported`.
    Run {
        /// The steps, ordered by id.
        steps: Vec<Step>,
    },
    /// Notifies the driver, during a run, that the device has another default network, as an operating system notifies
    /// apps. Not answered. Only sent to drivers with the capability `network`.
    Network {
        /// Identifies the network, from 1; before the first notice there was another one.
        id: u32,
    },
    /// Ends the conversation: the driver closes everything and exits with 0. Not answered.
    Close,
}

/// Everything a driver needs before it can run: origin, credentials, protocol, codec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// Origin under measurement, `https://name:port`; `http://` only for drivers with the capability
    /// `plaintext`, over `h1` and `grpc`. The driver must not contact it before `run`.
    pub url: String,
    /// Further origins under measurement, each like `url`, by the name that steps use. Only sent to
    /// drivers with the capability `origins`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub origins: BTreeMap<String, String>,
    /// Second origin, off the measured path, for warming up the runtime; absent when the study
    /// wants a cold process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_url: Option<String>,
    /// Number of one-byte downloads that warm up the runtime; absent: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_calls: Option<u32>,
    /// PEM file of the only certificate authority to trust.
    pub ca_file: String,
    /// PEM file of the client's certificate chain, for mTLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cert_file: Option<String>,
    /// PEM file of the client's private key (PKCS#8), for mTLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_key_file: Option<String>,
    /// How every request proves who sends it; absent: it does not. Only sent to drivers with the
    /// capability `jwt` or `hmac`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// Application protocol to use.
    pub protocol: Protocol,
    /// Codec of `exchange` steps. `call` steps use `json` over HTTP and `protobuf` over gRPC,
    /// whatever the codec.
    pub codec: Codec,
    /// Time limit of a call, from its start to its end, in nanoseconds.
    pub timeout_ns: u64,
    /// Congestion control to choose, where the stack can; absent: the stack's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// `frame:HZ`: the application sees the end of a call at the next frame of a loop of HZ
    /// frames per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<String>,
    /// How the client discovers HTTP/3; absent: HTTP/3 is forced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Discovery>,
    /// How a client that decides for each request does so; absent: by what it has learnt. Only sent
    /// with the protocol `auto`, to drivers with the capability `policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// By message name, the value files of `exchange` steps (`docs/codec-runner.md`). Messages
    /// made by rule (`big-N`) have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// File with the messages' schema as JSON, for runtimes without generated classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_file: Option<String>,
    /// By name, the file with the bytes of each payload of `fetch` steps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub payloads: BTreeMap<String, String>,
    /// By name, the payloads and answers of `fetch` steps that are encoded and decoded within the call,
    /// in the codec of this setup. Only sent to drivers with the capability `coding`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coded: BTreeMap<String, Coded>,
}

/// How the bytes of a payload or an answer are to be understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coded {
    /// The Protobuf message; absent in codecs that describe themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<CodedMessage>,
}

/// A type of Protobuf messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodedMessage {
    /// File with a `google.protobuf.FileDescriptorSet`.
    pub descriptors_file: String,
    /// The message's full name there.
    pub name: String,
}

/// How a request proves who sends it. The driver reads the file at `setup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "scheme", rename_all = "snake_case")]
pub enum Auth {
    /// The header (gRPC: metadata) `authorization: Bearer TOKEN` (RFC 6750).
    Jwt {
        /// File with the token, on one line.
        token_file: String,
    },
    /// A signature by HMAC (RFC 9421) that covers the body (RFC 9530).
    Hmac {
        /// The key's id.
        key_id: String,
        /// File with the secret in base64, on one line.
        key_file: String,
    },
}

impl Auth {
    /// Returns its name in studies, messages and records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Jwt { .. } => "jwt",
            Self::Hmac { .. } => "hmac",
        }
    }
}

/// How a client discovers that an origin has HTTP/3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// By the `alt-svc` field of an earlier response (RFC 7838).
    AltSvc,
}

impl Discovery {
    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::AltSvc => "alt_svc",
        }
    }
}

/// How a client decides between HTTP/3 and TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// By races alone: whichever connection is ready first, and HTTP/3 if both are.
    Race,
}

impl Policy {
    /// Returns its name in studies, messages and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Race => "race",
        }
    }
}

/// One step of a workload. The lab has already expanded all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Unique within a run, from 1. A call sends it in the header `x-commute-id`.
    pub id: u32,
    /// When the step starts; absent: when every earlier step has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// When it is too late to start the step. It then counts as ended and has no row. Only sent to
    /// drivers with the capability `until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Calls whose rows are sent together, once all of them have ended.
    pub group: u32,
    /// Cancels the call this many nanoseconds after its start. Only sent to drivers with the
    /// capability `cancel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_after_ns: Option<u64>,
    /// The name of the origin that the call goes to, one of `setup.origins`; absent: `setup.url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// What the step does.
    #[serde(flatten)]
    pub action: Action,
}

/// When a step starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// As soon as the earlier step with this id has ended; 0: at the start of the run.
    After(u32),
    /// This many nanoseconds after the start of the run.
    AtNs(u64),
}

/// A moment that depends on an earlier step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Until {
    /// The id of an earlier step; 0: the start of the run.
    pub after: u32,
    /// Nanoseconds after that step has ended.
    pub ns: u64,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Action {
    /// Sends a small message that the server echoes: POST `/echo`, or gRPC `Echo`.
    Call {
        /// The message as JSON text. A Protobuf stack encodes the same message.
        body: String,
    },
    /// Downloads a file: GET `/bytes/{bytes}`, or gRPC `Download`.
    Get {
        /// Length of the file.
        bytes: u64,
    },
    /// Uploads a file: PUT `/upload`, or gRPC `Upload`. The response is the file's digest.
    Put {
        /// Length of the file, whose bytes are those that `get` downloads.
        bytes: u64,
    },
    /// Sends messages on a bidirectional stream, each when the last has been echoed: gRPC
    /// `Chat`.
    Stream {
        /// The message as JSON text, the same each time.
        body: String,
        /// Number of messages.
        messages: u32,
    },
    /// Does all that an app does: makes a message, encodes it, sends it to `/exchange/{kind}`
    /// or gRPC `Exchange`, receives an equal one and decodes it.
    Exchange {
        /// The message's name. `big-N` is made within the call; all others were read at
        /// `setup`.
        message: String,
        /// The message's type in the schema.
        kind: String,
    },
    /// Makes and encodes a message, sends it to `/submit/{kind}` or gRPC `Submit`, and receives a
    /// receipt of a few bytes. Only sent to drivers with the capability `submit`.
    Submit {
        /// The message's name, as in an exchange.
        message: String,
        /// The message's type in the schema; `Diag`, so far.
        kind: String,
        /// Over gRPC: sends the message in parts on a client stream (`DiagStream`), each with at
        /// most this many bytes of its payload; absent: as one message (`Diag`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chunk_bytes: Option<u64>,
    },
    /// Makes a request of the study's own and receives its response. Only sent to drivers with the
    /// capability `fetch`.
    Fetch {
        /// The HTTP method; over gRPC `POST`.
        method: String,
        /// Path and query as sent in HTTP; over gRPC `/package.Service/Method`, of a unary call.
        path: String,
        /// Header fields, over gRPC metadata, by their names in lower case.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// The name in `setup.payloads` of the body, over gRPC of the encoded message; absent: the
        /// request has no body, over gRPC an empty message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<String>,
        /// The name in `setup.coded` of what the response holds; absent, or not there: the response
        /// is not decoded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// Does nothing for a while; connections stay open.
    Pause {
        /// Duration in nanoseconds.
        ns: u64,
    },
    /// Closes every connection; the next call opens a new one.
    Reconnect {
        /// What the new connection may use of the old one.
        mode: Reconnect,
    },
}

impl Action {
    /// The name of every variant, in order.
    pub const NAMES: [&str; 9] = [
        "call",
        "get",
        "put",
        "stream",
        "exchange",
        "submit",
        "fetch",
        "pause",
        "reconnect",
    ];

    /// Returns its name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Call { .. } => "call",
            Self::Get { .. } => "get",
            Self::Put { .. } => "put",
            Self::Stream { .. } => "stream",
            Self::Exchange { .. } => "exchange",
            Self::Submit { .. } => "submit",
            Self::Fetch { .. } => "fetch",
            Self::Pause { .. } => "pause",
            Self::Reconnect { .. } => "reconnect",
        }
    }

    /// Reports whether the step is a call, which must have a row.
    pub fn is_call(&self) -> bool {
        !matches!(self, Self::Pause { .. } | Self::Reconnect { .. })
    }
}

/// What a new connection may use of the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reconnect {
    /// Nothing: session tickets are discarded.
    Cold,
    /// Session tickets, without early data.
    Resume,
    /// Session tickets, and early data for the next call.
    EarlyData,
}

impl Reconnect {
    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Resume => "resume",
            Self::EarlyData => "early_data",
        }
    }
}
