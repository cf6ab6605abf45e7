//! Answers to requests of a study's own: the file that a server reads them from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex;

/// The answer to every request with its method and path. A file of answers is a JSON list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The HTTP method; over gRPC `POST`.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// Whether it is the answer to a unary call of gRPC: the body is its message.
    #[serde(default)]
    pub grpc: bool,
    /// The `content-type` of the answer, except over gRPC; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The `content-encoding` of the answer; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
    /// File with the body, relative to the list's; absent: the body is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Names of the request's header fields whose digest is logged, in lower case.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub logged_fields: BTreeSet<String>,
}

/// Returns the SHA-256 in lower-case hex of header fields, as lines `name: value`; they must be in order
/// of name.
pub fn fields_digest<'a>(fields: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut sha = Sha256::new();
    for (name, value) in fields {
        for part in [name.as_bytes(), b": ", value, b"\n"] {
            sha.update(part);
        }
    }
    hex(&sha.finalize())
}
