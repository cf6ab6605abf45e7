//! Who vouches for what a record says of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who vouches for a call's protocol and connection state, weakest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Only the driver.
    Client,
    /// The packets.
    Wire,
    /// The server's log.
    Server,
}

impl Proof {
    /// Returns the name used in records and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Proof::Client => "client",
            Proof::Wire => "wire",
            Proof::Server => "server",
        }
    }
}
