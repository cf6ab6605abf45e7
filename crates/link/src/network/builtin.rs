//! The networks of the repository's `networks` folder, embedded when the crate is built.

use super::{
    Network,
    error::{NetworkError, clip, nearest},
};

include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// Every built-in network: its name and its TOML, in order of names.
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}

/// A built-in network by its name.
pub fn find(name: &str) -> Result<Network, NetworkError> {
    match BUILTIN.iter().find(|(known, _)| *known == name) {
        Some((known, text)) => Network::parse(&format!("{known}.toml"), text),
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> NetworkError {
    let names = || BUILTIN.iter().map(|(known, _)| *known);
    let way_out = match nearest(name, names()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
    };
    NetworkError::Unknown {
        name: clip(name),
        way_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_network_is_one() {
        assert!(!builtin().is_empty());
        for (name, _) in builtin() {
            let network = find(name).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(network.name, *name);
        }
    }

    #[test]
    fn a_wrong_name_is_told_the_nearest() {
        assert_eq!(
            find("true-metr").unwrap_err().to_string(),
            "no network is called \"true-metr\"; did you mean true-metro?"
        );
        assert!(find("%").unwrap_err().to_string().contains("; there are "));
    }
}
