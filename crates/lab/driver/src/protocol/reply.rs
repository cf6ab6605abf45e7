//! Replies: messages from a driver to the lab.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::{Codec, Protocol};
use super::row::Row;

/// A reply from a driver to the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// Describes the driver.
    Hello(Hello),
    /// The driver is set up; `run` may follow.
    Ready,
    /// The driver cannot do what was requested. It has not failed and can be asked again.
    Unsupported {
        /// What it cannot do, e.g. `protocol h3` or `step stream`.
        what: String,
        /// Explanation, shown to the user.
        reason: String,
    },
    /// The measurements of one call.
    Row(Row),
    /// Every step has ended and every row has been sent.
    Done,
    /// The driver cannot go on. A failed call is a row instead.
    Failed {
        /// What went wrong.
        reason: String,
    },
}

/// A driver's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Protocol version that the driver supports.
    pub version: u32,
    /// Name of the stack, e.g. `hyper`.
    pub stack: String,
    /// Version of the library that was loaded.
    pub stack_version: String,
    /// Name and version of the TLS library that was loaded.
    pub tls: String,
    /// Application protocols that the driver can use.
    pub protocols: Vec<Protocol>,
    /// Optional features that the driver has.
    pub capabilities: Vec<Capability>,
    /// Clock of every time in its rows.
    pub clock: Clock,
    /// Resolution of that clock in nanoseconds, from 1 to one second.
    pub resolution_ns: u64,
    /// The phases that the driver times, each with the event it is taken from.
    pub phases: BTreeMap<String, String>,
    /// Settings of the library, default or set by the driver, that no server can see, e.g. flow
    /// control windows, idle timeouts, buffers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Codecs in which the driver can do `exchange`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codecs: Vec<Codec>,
}

/// A feature that not every driver has.
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
    /// Concurrent calls, on one connection or on several.
    Parallel,
    /// Protobuf bodies.
    Protobuf,
    /// A choice of congestion control.
    Congestion,
    /// Cancelling a call at a given time.
    Cancel,
    /// Seeing the end of a call only at the next frame.
    Observe,
    /// Discovering HTTP/3 by `alt-svc`.
    AltSvc,
    /// HTTP/1.1 or gRPC without TLS.
    Plaintext,
    /// A bearer token with each request.
    Jwt,
    /// Signed requests.
    Hmac,
    /// The `submit` step.
    Submit,
    /// Steps that are not started after a given time.
    Until,
    /// Calls to several origins.
    Origins,
    /// A choice of policy.
    Policy,
    /// The `fetch` step.
    Fetch,
    /// Encoding and decoding within the `fetch` step.
    Coding,
    /// Being notified of a change of the default network.
    Network,
}

impl Capability {
    /// Returns its name in the protocol, records and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mtls => "mtls",
            Self::Resume => "resume",
            Self::EarlyData => "early_data",
            Self::Stream => "stream",
            Self::Parallel => "parallel",
            Self::Protobuf => "protobuf",
            Self::Congestion => "congestion",
            Self::Cancel => "cancel",
            Self::Observe => "observe",
            Self::AltSvc => "alt_svc",
            Self::Plaintext => "plaintext",
            Self::Jwt => "jwt",
            Self::Hmac => "hmac",
            Self::Submit => "submit",
            Self::Until => "until",
            Self::Origins => "origins",
            Self::Policy => "policy",
            Self::Fetch => "fetch",
            Self::Coding => "coding",
            Self::Network => "network",
        }
    }
}

/// The clock of a driver's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// `CLOCK_MONOTONIC` of the lab's host.
    Monotonic,
    /// Any other clock: its times can be compared only with each other.
    Own,
}

impl Clock {
    /// Returns its name in the protocol, records and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::Own => "own",
        }
    }
}
