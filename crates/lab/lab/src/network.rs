//! Networks by name or by file, and those that doctor and conformance make up.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use link::{Network, NetworkError, PathSpec};
use study::StudyNetwork;

use crate::error::LabError;
use crate::files::{AllowedFiles, FileScope, Owner, read_to};
use crate::toml_file::{self, Kind};

/// Far above the longest trace that a network may have.
const MAX_TRACE_BYTES: u64 = 64 << 20;
/// How messages about a trace's file begin.
const OF_TRACE: [&str; 2] = ["up.trace: ", "down.trace: "];

/// Finds a built-in network by name, or reads the TOML file at the path `name`. Its traces are files below its folder,
/// or allowed ones.
pub fn find(name: &str, allowed: &AllowedFiles) -> Result<Network, LabError> {
    if !is_path(name) {
        return Ok(link::find(name)?);
    }
    let path = Path::new(name);
    let (text, file) = toml_file::read(path, Kind::Network)?;
    let scope = FileScope::of_file(Owner::Network, &file, allowed);
    Ok(parse(path, &text, &|trace| scope.open(trace))?)
}

/// Finds a network of a study: a built-in one, or the TOML file at the path `name` relative to the study's folder, as
/// far as the study may read it and its traces. `base` is that folder as messages name it.
pub(crate) fn of_study(
    name: &str,
    base: &Path,
    scope: &FileScope<'_>,
) -> Result<Network, LabError> {
    if !is_path(name) {
        return Ok(link::find(name)?);
    }
    let path = base.join(name);
    let opened = scope.open(name);
    let (file, real) = opened.map_err(|e| toml_file::failed(&path, Kind::Network, e))?;
    let text = toml_file::read_opened(&path, &file, Kind::Network)?;
    let folder = real.parent().unwrap_or(Path::new("/"));
    let opens_traces = Cell::new(false);
    let network = parse(&path, &text, &|trace| {
        opens_traces.set(true);
        scope.open_from(folder, trace)
    });
    Ok(network.map_err(|e| untold(e, opens_traces.get()))?)
}

/// Returns whether the name is that of a file, not of a built-in network.
fn is_path(name: &str) -> bool {
    name.contains(['/', '.'])
}

/// Parses a network's file, whose traces `open` opens by the names that they have there.
fn parse(
    path: &Path,
    text: &str,
    open: &dyn Fn(&str) -> io::Result<(File, PathBuf)>,
) -> Result<Network, NetworkError> {
    let trace_text = |name: &str| {
        let trace = open(name).map_err(|e| e.to_string());
        let trace = trace.and_then(|(file, _)| read_trace(file));
        trace.map_err(|why| format!("{}: {why}", path.with_file_name(name).display()))
    };
    Network::parse_with(&path.display().to_string(), text, &trace_text)
}

/// Returns the mistake in a network's file that a study names, without anything of the file: whoever wrote the study
/// chose what is read, and may see the messages, e.g. in the log of a pull request.
///
/// Once traces are opened, the file is known to have a network's keys, and messages about traces have only their paths.
fn untold(error: NetworkError, opens_traces: bool) -> NetworkError {
    let NetworkError::File(mistake) = error else {
        return error;
    };
    let is_of_trace = OF_TRACE.iter().any(|key| mistake.message.starts_with(key));
    let message = match opens_traces && is_of_trace {
        true => mistake.message.clone(),
        false => format!(
            "not a valid network; `commute networks {}` shows what is wrong",
            mistake.file
        ),
    };
    NetworkError::File(mistake.without_text(&message))
}

fn read_trace(file: File) -> Result<String, String> {
    let content = read_to(file, MAX_TRACE_BYTES).map_err(|e| e.to_string())?;
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

    const HEAD: &str = "about = \"a\"\nsource = \"b\"\n[up]\n[down]\nqueue_packets = 9\n";

    #[test]
    fn traces_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("up.trace");
        std::fs::write(&file, "1\n2\n").unwrap();
        let read = || read_trace(File::open(&file).unwrap());
        assert_eq!(read(), Ok("1\n2\n".to_owned()));
        let long = File::create(&file).unwrap();
        long.set_len(MAX_TRACE_BYTES + 1).unwrap();
        assert!(read().unwrap_err().contains("64 MiB"));
    }

    /// Writes a network with a trace, and what the trace would be outside its folder.
    fn folder_with(trace: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let networks = folder.path().join("study/networks");
        std::fs::create_dir_all(&networks).unwrap();
        let file = networks.join("net.toml");
        std::fs::write(&file, format!("{HEAD}trace = \"{trace}\"\n")).unwrap();
        std::fs::write(folder.path().join("study/study.toml"), "").unwrap();
        for trace in ["study/networks/in.trace", "study/up.trace", "out.trace"] {
            std::fs::write(folder.path().join(trace), "1\n2\n").unwrap();
        }
        (folder, file)
    }

    #[test]
    fn a_networks_traces_are_below_its_folder_or_allowed() {
        let found = |trace: &str, allowed: &[&str]| {
            let (folder, file) = folder_with(trace);
            let files: Vec<PathBuf> = allowed
                .iter()
                .map(|name| folder.path().join(name))
                .collect();
            let allowed = AllowedFiles::new(&files).unwrap();
            let network = find(file.to_str().unwrap(), &allowed);
            network.map(drop).map_err(|e| e.to_string())
        };
        assert_eq!(found("in.trace", &[]), Ok(()));
        for outside in ["../up.trace", "../../out.trace", "/etc/passwd", "/dev/zero"] {
            let error = found(outside, &[]).unwrap_err();
            assert!(error.contains("outside the network's folder"), "{error}");
            assert!(error.contains("--allow-file /"), "{error}");
        }
        assert_eq!(found("../up.trace", &["study/up.trace"]), Ok(()));
    }

    #[test]
    fn a_studys_networks_and_their_traces_are_below_the_studys_folder() {
        let found = |trace: &str, name: &str| {
            let (folder, _) = folder_with(trace);
            let study = folder.path().join("study");
            let file = File::open(study.join("study.toml")).unwrap();
            let allowed = AllowedFiles::default();
            let scope = FileScope::of_file(Owner::Study, &file, &allowed);
            std::os::unix::fs::symlink(study.join("networks/net.toml"), study.join("link.toml"))
                .unwrap();
            std::fs::write(folder.path().join("other.toml"), HEAD).unwrap();
            let network = of_study(name, &study, &scope);
            network.map(drop).map_err(|e| e.to_string())
        };
        for trace in ["in.trace", "../up.trace"] {
            assert_eq!(found(trace, "networks/net.toml"), Ok(()), "{trace}");
            // A trace is beside the file, not beside a link to it.
            assert_eq!(found(trace, "link.toml"), Ok(()), "{trace}");
        }
        for (trace, network) in [
            ("../../out.trace", "networks/net.toml"),
            ("in.trace", "../other.toml"),
        ] {
            let error = found(trace, network).unwrap_err();
            assert!(error.contains("outside the study's folder"), "{error}");
        }
    }

    /// Such a file may be any that the user of a stranger's study has.
    #[test]
    fn mistakes_in_a_studys_networks_show_nothing_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("study.toml"), "").unwrap();
        let file = File::open(folder.path().join("study.toml")).unwrap();
        let allowed = AllowedFiles::default();
        let scope = FileScope::of_file(Owner::Study, &file, &allowed);
        std::fs::write(folder.path().join("SECRET.trace"), "SECRET\n").unwrap();
        for text in [
            "root:SECRET:19000:0:99999:7:::",
            "token = \"SECRET\"",
            "[SECRET]\n",
            "about = [\"SECRET\"]",
            "about = \"a\"\nsource = \"b\"\n[up]\n[down]\ntrace = [\"SECRET\"]",
            "about = \"a\"\nsource = \"b\"\n[up]\n[down]\nrate_kbps = \"SECRET\"",
            "about = \"a\"\nsource = \"b\"\n[up]\n[down.SECRET]\n",
        ] {
            std::fs::write(folder.path().join("net.toml"), text).unwrap();
            let error = of_study("net.toml", Path::new(""), &scope).unwrap_err();
            let error = format!("{error:#}");
            assert!(!error.contains("SECRET"), "{error}");
            assert!(error.contains("`commute networks net.toml`"), "{error}");
        }
        let text = format!("{HEAD}trace = \"SECRET.trace\"");
        std::fs::write(folder.path().join("net.toml"), text).unwrap();
        let error = of_study("net.toml", Path::new(""), &scope).unwrap_err();
        assert_eq!(
            error.to_string(),
            "net.toml:6:9: down.trace: SECRET.trace: line 1 of the trace is not a whole number of milliseconds, e.g. \
             12"
        );
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
