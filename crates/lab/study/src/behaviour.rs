//! Deviations of an arm from the workload, so that a published habit stands beside the clean arm in one table.

use driver::protocol::Reconnect;
use schemars::JsonSchema;
use serde::Deserialize;

/// How an arm follows the workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Whether requests share connections.
    pub connections: Connections,
    /// Whether a new connection may use the session tickets of the old one.
    pub resumption: bool,
    /// Whether it may also send requests before its handshake is done (0-RTT).
    pub early_data: bool,
    /// How the requests of one step follow each other.
    pub access: Access,
    /// Over gRPC, the payload's bytes in each part of a submitted message; none for one message.
    pub chunk_bytes: Option<u64>,
}

impl Behaviour {
    /// Returns what a reconnect of this arm keeps where the study says `mode`.
    pub(crate) fn reconnect(&self, mode: Reconnect) -> Reconnect {
        match mode {
            Reconnect::Cold if self.early_data => Reconnect::EarlyData,
            Reconnect::Cold if self.resumption => Reconnect::Resume,
            mode => mode,
        }
    }
}

/// Whether requests share connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// As the client library does by default.
    #[default]
    Keep,
    /// Every request opens a new connection.
    PerRequest,
}

impl Connections {
    /// Returns the name used in studies and records.
    pub fn name(self) -> &'static str {
        match self {
            Connections::Keep => "keep",
            Connections::PerRequest => "per-request",
        }
    }
}

/// How the requests of one step with `times` follow each other: the patterns of the game-api study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Access {
    /// Each when the last has ended.
    #[default]
    Sequential,
    /// Each this many nanoseconds after the last has ended.
    Paused {
        /// The pause.
        ns: u64,
    },
    /// All at once.
    Parallel,
    /// The first alone, then the others at once.
    FirstAlone,
}

/// The longest pause, in milliseconds.
const MAX_PAUSE_MS: u64 = 600_000;

impl Access {
    /// Returns the text used in studies and records.
    pub fn name(self) -> String {
        match self {
            Access::Sequential => "sequential".to_owned(),
            Access::Paused { ns } => format!("paused:{}ms", ns / 1_000_000),
            Access::Parallel => "parallel".to_owned(),
            Access::FirstAlone => "first-alone".to_owned(),
        }
    }
}

impl TryFrom<String> for Access {
    type Error = String;

    fn try_from(text: String) -> Result<Access, String> {
        let pause = text
            .strip_prefix("paused:")
            .and_then(|t| t.strip_suffix("ms"));
        match (text.as_str(), pause.and_then(|ms| ms.parse().ok())) {
            ("sequential", _) => Ok(Access::Sequential),
            ("parallel", _) => Ok(Access::Parallel),
            ("first-alone", _) => Ok(Access::FirstAlone),
            (_, Some(ms @ 1..=MAX_PAUSE_MS)) => Ok(Access::Paused { ns: ms * 1_000_000 }),
            _ => Err(format!(
                "access = {text:?}: write sequential, parallel, first-alone, or e.g. paused:3000ms (up to \
                 {MAX_PAUSE_MS})"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_read_as_it_is_written() {
        for text in ["sequential", "parallel", "first-alone", "paused:3000ms"] {
            assert_eq!(
                Access::try_from(text.to_owned()).map(Access::name),
                Ok(text.to_owned())
            );
        }
        for text in [
            "",
            "paused",
            "paused:3s",
            "paused:0ms",
            "paused:600001ms",
            "paused:-1ms",
        ] {
            assert!(Access::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
