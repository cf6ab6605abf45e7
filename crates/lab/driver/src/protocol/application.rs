//! Application protocols and codecs, by the names that every message uses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// HTTP/1.1, HTTP/2 or HTTP/3 over TLS, as the client decides for each request. Rows, server and
    /// records name the version used.
    Auto,
}

impl Protocol {
    /// Returns its name in studies, messages and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H3 => "h3",
            Self::Grpc => "grpc",
            Self::Auto => "auto",
        }
    }
}

/// The name of a message encoding, e.g. `json` or `protobuf+zstd-3`. The driver lists those it
/// has ([`Hello::codecs`](super::Hello::codecs)); this crate knows only the two of
/// [`Codec::plain`].
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Codec(pub String);

impl Codec {
    /// Returns the codec of a protocol's `call` steps: Protobuf for gRPC, JSON for all others.
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

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0
    }
}
