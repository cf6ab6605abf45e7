//! Networks: TOML files that people write, and the specs that paths are built from.

mod builtin;
mod error;
mod file;
mod numbers;
mod overrides;
mod record;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{nat::NatSpec, spec::PathSpec, text::clip};
pub use builtin::{builtin, find};
pub use error::NetworkError;
pub use overrides::{OverrideError, Overrides};

/// An access network: both directions between the client and the server.
///
/// All values of the serialised form are whole numbers. It is sent to the process that runs the
/// link, and both sides must have exactly the same network. Deserialising refuses what no file can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Network {
    /// The name of its file without folder and extension.
    pub name: String,
    /// One line of description.
    pub about: String,
    /// Where its numbers come from, and which of them are assumed.
    pub source: String,
    /// How well the numbers are founded; absent where the file does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Largest IP packet in bytes, 1280 to 9000.
    pub mtu: u32,
    /// From client to server.
    // The derived functions: the network as a whole is checked, so that errors name it.
    #[serde(with = "PathSpec")]
    pub up: PathSpec,
    /// From server to client.
    #[serde(with = "PathSpec")]
    pub down: PathSpec,
    /// A NAT in front of the server that drops mappings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nat: Option<NatSpec>,
}

/// How well a network's numbers are founded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Rates and round trips were measured on a real network. Its queue and losses need not be.
    Measured,
    /// Rates and round trips are those of a published profile, or follow from published results.
    Derived,
    /// A property that results depend on is invented, e.g. its losses.
    Assumed,
}

impl Basis {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
        }
    }
}

impl Network {
    /// Parses a network. A `trace` that names a file is refused, because this crate reads no files.
    pub fn parse(file_name: &str, text: &str) -> Result<Network, NetworkError> {
        Network::parse_with(file_name, text, &|name| {
            let name = clip(name);
            Err(format!(
                "the file {name:?} cannot be read here; write its times into trace_ms"
            ))
        })
    }

    /// Parses a network, with `trace_text` to fetch the text of a trace by the name it has in the
    /// file; its error is the reason why it could not.
    pub fn parse_with(
        file_name: &str,
        text: &str,
        trace_text: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Network, NetworkError> {
        Ok(file::read(file_name, text, trace_text)?)
    }

    /// Returns the JSON Schema of network files, for editors.
    pub fn file_schema() -> serde_json::Value {
        file::schema()
    }

    /// Returns all numbers in one line, which is printed wherever the name is.
    pub fn numbers(&self) -> String {
        numbers::line(self)
    }

    /// Returns the round-trip time of the empty link in ns, without transmission time.
    pub fn rtt_ns(&self) -> u64 {
        self.up.delay_ns.saturating_add(self.down.delay_ns)
    }

    /// Returns the round-trip time that none is below, whatever jitter takes off.
    pub fn least_rtt_ns(&self) -> u64 {
        let least = |path: &PathSpec| path.delay_ns.saturating_sub(path.jitter_ns);
        least(&self.up).saturating_add(least(&self.down))
    }
}
