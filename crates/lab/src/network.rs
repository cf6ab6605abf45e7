//! Networks by name or by file, and those that doctor and conformance make up.

use std::path::Path;

use link::{Network, PathSpec};

use crate::error::LabError;
use crate::study::StudyNetwork;
use crate::toml_file;

/// Finds a built-in network by name, or reads the TOML file at the path `name`, relative to `base`.
pub fn find(name: &str, base: &Path) -> Result<Network, LabError> {
    let is_path = name.contains(['/', '.']);
    if !is_path {
        return Ok(link::find(name)?);
    }
    let path = base.join(name);
    let text = toml_file::read(&path, toml_file::Kind::Network)?;
    let trace_text = |file: &str| {
        let trace = path.with_file_name(file);
        std::fs::read_to_string(&trace).map_err(|e| format!("{}: {e}", trace.display()))
    };
    let file = path.display().to_string();
    Ok(Network::parse_with(&file, &text, &trace_text)?)
}

/// Returns a network with the same path in both directions.
pub(crate) fn symmetric(name: &str, path: PathSpec) -> Network {
    Network {
        name: name.to_owned(),
        about: "made for a check of the lab".to_owned(),
        source: "made for a check of the lab".to_owned(),
        mtu: 1500,
        up: path.clone(),
        down: path,
        nat: None,
    }
}

/// Returns the network as it is recorded in `run.json`.
pub(crate) fn recorded(network: &StudyNetwork) -> record::Network {
    let n = &network.link;
    record::Network {
        base: (!network.levels.is_empty()).then(|| network.base.clone()),
        levels: network.levels.clone(),
        name: n.name.clone(),
        numbers: n.numbers(),
        rtt_ns: n.rtt_ns(),
        down_bps: n.down.rate.mean_bps(),
        up_bps: n.up.rate.mean_bps(),
        toml: toml::to_string(n).unwrap_or_default(),
    }
}

/// Reads a network as it is recorded in `run.json`.
pub(crate) fn from_record(n: &record::Network) -> Result<StudyNetwork, LabError> {
    let link: Network = toml::from_str(&n.toml).map_err(|source| LabError::Recorded {
        network: n.name.clone(),
        source,
    })?;
    Ok(StudyNetwork {
        base: n.base.clone().unwrap_or_else(|| link.name.clone()),
        levels: n.levels.clone(),
        link,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run is continued with the networks of its record.
    #[test]
    fn recorded_networks_are_read_back_unchanged() {
        for (name, _) in link::builtin() {
            let network = StudyNetwork::from(link::find(name).unwrap());
            let read = from_record(&recorded(&network)).unwrap();
            assert_eq!(read, network, "{name}");
        }
    }
}
