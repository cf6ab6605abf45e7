//! The user's own server.

use schemars::JsonSchema;
use serde::Serialize;

/// The user's own server, and the way to it from the far end of the link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct External {
    /// The URL that clients were given, without a path.
    pub url: String,
    /// The addresses that were connected to.
    pub addresses: Vec<String>,
    /// The round trip between relay and server, by the time that TCP connections took; absent if no cell
    /// was measured.
    pub round_trip: Option<RoundTrip>,
}

/// How a round trip varies over cells, each of which has its median.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoundTrip {
    /// The smallest.
    pub least_ns: u64,
    /// The median.
    pub median_ns: u64,
    /// The largest.
    pub most_ns: u64,
}
