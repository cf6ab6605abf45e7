//! Networks by name or by file, and those that doctor and conformance make up.

use std::path::Path;

use link::{Network, PathSpec};
use study::StudyNetwork;

use crate::error::LabError;
use crate::files::read_file;
use crate::toml_file;

/// Far above the longest trace that a network may have.
const MAX_TRACE_BYTES: u64 = 64 << 20;

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
        read_trace(&trace).map_err(|why| format!("{}: {why}", trace.display()))
    };
    let file = path.display().to_string();
    Ok(Network::parse_with(&file, &text, &trace_text)?)
}

fn read_trace(file: &Path) -> Result<String, String> {
    let content = read_file(file, MAX_TRACE_BYTES).map_err(|e| e.to_string())?;
    if content.len() as u64 > MAX_TRACE_BYTES {
        return Err(format!(
            "more than {} MiB, the limit; shorten the trace",
            MAX_TRACE_BYTES >> 20
        ));
    }
    String::from_utf8(content).map_err(|_| "not a text of whole numbers".to_owned())
}

/// Returns a network with the same path in both directions.
pub(crate) fn symmetric(name: &str, path: PathSpec) -> Network {
    Network {
        name: name.to_owned(),
        about: "made for a check of the lab".to_owned(),
        source: "made for a check of the lab".to_owned(),
        basis: None,
        mtu: 1500,
        up: path.clone(),
        down: path,
        nat: None,
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
    use study::plan::recorded;

    use super::*;

    /// A device or a pipe may have no end.
    #[test]
    fn only_regular_files_are_traces() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            read_trace(Path::new("/dev/zero")),
            Err("not a regular file".to_owned())
        );
        let file = folder.path().join("up.trace");
        std::fs::write(&file, "1\n2\n").unwrap();
        assert_eq!(read_trace(&file), Ok("1\n2\n".to_owned()));
        let long = std::fs::File::create(&file).unwrap();
        long.set_len(MAX_TRACE_BYTES + 1).unwrap();
        assert!(read_trace(&file).unwrap_err().contains("64 MiB"));
    }

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
