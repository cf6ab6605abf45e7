//! The networks of the repository's `networks` folder, embedded when the crate is built.

use super::{
    Network,
    error::{NetworkError, hint},
};
use crate::text::clip;

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// Returns the name and the TOML of every built-in network, sorted by name.
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}

/// Returns the built-in network of this name.
pub fn find(name: &str) -> Result<Network, NetworkError> {
    match BUILTIN.iter().find(|(known, _)| *known == name) {
        Some((known, text)) => Network::parse(&format!("{known}.toml"), text),
        None => {
            let known: Vec<&str> = BUILTIN.iter().map(|(known, _)| *known).collect();
            Err(NetworkError::Unknown {
                name: clip(name),
                hint: match hint(name, &known) {
                    all if all.starts_with(';') => all + "; or the path of your own, FILE.toml",
                    nearest => nearest,
                },
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_makes_round_trips_shorter_too() {
        let network = find("android-edge").expect("it is built in");
        assert_eq!(network.rtt_ns(), 240_000_000);
        assert_eq!(network.least_rtt_ns(), 80_000_000);
    }

    #[test]
    fn every_built_in_network_parses() {
        assert!(!builtin().is_empty());
        for (name, _) in builtin() {
            let network = find(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(network.name, *name);
        }
    }

    #[test]
    fn unknown_names_get_a_hint() {
        assert_eq!(
            find("true-metr").unwrap_err().to_string(),
            "no network is named `true-metr` (did you mean `true-metro`?)"
        );
        assert!(find("%").unwrap_err().to_string().contains("; known: "));
    }
}
