use std::str;

use link::Network;

/// Parses a network's TOML.
pub fn network(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data)
        && let Ok(network) = Network::parse("network.toml", text)
    {
        network.numbers();
    }
}
