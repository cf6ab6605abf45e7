//! Networks: what people write, as TOML, and what the path is built from.

mod builtin;
mod contradiction;
mod error;
mod keys;
mod numbers;
mod overrides;
mod read;

use serde::{Deserialize, Serialize};

use crate::PathSpec;
pub use builtin::{builtin, find};
pub use error::NetworkError;
pub use overrides::{OverrideError, Overrides};

/// An access network: both directions between the client and the server.
///
/// It is also what crosses to the process that runs the link: in whole units, so that it means the
/// same on either side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Name: that of its file, without folder and ending.
    pub name: String,
    /// One line on what it stands for.
    pub about: String,
    /// Where its numbers come from, and which of them are assumed.
    pub source: String,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Client to server.
    pub up: PathSpec,
    /// Server to client.
    pub down: PathSpec,
}

impl Network {
    /// Reads a network from TOML. A `trace` that names a file is refused: this crate reads none.
    pub fn parse(file_name: &str, text: &str) -> Result<Network, NetworkError> {
        Network::parse_with(file_name, text, &|name| {
            let name = error::clip(name);
            Err(format!(
                "the file {name:?} cannot be read here; write its times into trace_ms"
            ))
        })
    }

    /// Reads a network from TOML, with `trace_text` to fetch the text of a trace by the name it
    /// has in the file; its error says why it could not.
    pub fn parse_with(
        file_name: &str,
        text: &str,
        trace_text: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Network, NetworkError> {
        keys::network(file_name, text, trace_text)
    }

    /// The numbers in one line, to stand wherever the name does.
    pub fn numbers(&self) -> String {
        numbers::line(self)
    }

    /// Round-trip time of the empty link, without the time packets take on the wire.
    pub fn rtt_ns(&self) -> u64 {
        self.up.delay_ns.saturating_add(self.down.delay_ns)
    }
}
