//! The servers to test, from servers.toml, and how each is set up in a folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use crate::checks::{Check, Protocol};
use crate::child::{Start, free_port};

const DEFINITIONS: &str = include_str!("../servers.toml");

/// A server of servers.toml.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// Its name, also for `--servers`.
    pub(crate) name: String,
    /// Where it comes from, for the page.
    pub(crate) source: String,
    /// What `install` installs for it.
    pub(crate) install: Vec<String>,
    /// Program and arguments; `@NAME@` is replaced as in configuration files.
    command: Vec<String>,
    /// Prints its version.
    pub(crate) version: Vec<String>,
    /// Its configuration file in interop/configs, copied to its folder.
    #[serde(default)]
    config: Option<String>,
    /// The versions of HTTP that it is configured for.
    pub(crate) protocols: Vec<Protocol>,
    /// Whether the lab's short run has it.
    #[serde(default)]
    pub(crate) short: bool,
    /// Why a check does not apply, by the check's name, or by protocol and name ("h3 trailers").
    #[serde(default)]
    not_offered: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Definitions {
    server: Vec<Definition>,
}

/// What all servers of a run share.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// interop/ in the source tree.
    pub(crate) source: PathBuf,
    /// Where `install` puts programs.
    pub(crate) cache: PathBuf,
    /// The run's temporary folder: certificates, and `files` with what is served.
    pub(crate) folder: PathBuf,
    /// The port of the application behind proxies.
    pub(crate) upstream: u16,
}

/// Reads servers.toml.
pub(crate) fn definitions() -> anyhow::Result<Vec<Definition>> {
    let all: Definitions = toml::from_str(DEFINITIONS).context("interop/servers.toml")?;
    Ok(all.server)
}

impl Definition {
    /// Returns why this check does not apply to this protocol of the server.
    pub(crate) fn not_offered(&self, protocol: Protocol, check: Check) -> Option<&str> {
        let both = format!("{} {}", protocol.name(), check.name());
        let reason = self.not_offered.get(&both);
        reason
            .or_else(|| self.not_offered.get(check.name()))
            .map(String::as_str)
    }

    /// Writes the server's configuration, and returns how to start it.
    pub(crate) fn set_up(&self, site: &Site) -> anyhow::Result<Start> {
        let folder = site.folder.join(&self.name);
        fs::create_dir_all(&folder)?;
        let port = free_port()?;
        if let Some(name) = &self.config {
            let path = site.source.join("configs").join(name);
            let text =
                fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            fs::write(folder.join(name), fill(&text, site, &folder, port))?;
        }
        let fill = |word: &String| fill(word, site, &folder, port);
        Ok(Start {
            command: self.command.iter().map(fill).collect(),
            port,
            over_tcp: self
                .protocols
                .iter()
                .any(|&protocol| protocol != Protocol::H3),
            folder,
        })
    }

    /// Returns the command that prints the version.
    pub(crate) fn version_command(&self, site: &Site) -> Vec<String> {
        let fill = |word: &String| fill(word, site, &site.folder, 0);
        self.version.iter().map(fill).collect()
    }
}

/// Replaces `@NAME@` by what it stands for.
fn fill(text: &str, site: &Site, folder: &Path, port: u16) -> String {
    let is_root = nobody_can_read_own_files();
    let pairs = [
        ("@port@", port.to_string()),
        ("@upstream@", site.upstream.to_string()),
        ("@dir@", folder.display().to_string()),
        ("@site@", site.folder.display().to_string()),
        ("@files@", site.folder.join("files").display().to_string()),
        ("@bin@", site.cache.join("bin").display().to_string()),
        ("@cache@", site.cache.display().to_string()),
        ("@apps@", site.source.join("apps").display().to_string()),
        ("@user@", if is_root { "root" } else { "nobody" }.to_owned()),
    ];
    let mut text = text.to_owned();
    for (name, value) in pairs {
        text = text.replace(name, &value);
    }
    text
}

/// Reports whether this process is root's, whose servers must not change to a user that cannot read their files.
fn nobody_can_read_own_files() -> bool {
    // SAFETY: reads the process's user id, and touches no memory.
    unsafe { libc::geteuid() == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_names_known_checks_and_existing_configurations() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for server in definitions().unwrap() {
            for key in server.not_offered.keys() {
                let check = key.rsplit(' ').next().unwrap();
                let known = Check::ALL.iter().any(|known| known.name() == check);
                assert!(known, "{}: {key}", server.name);
            }
            if let Some(config) = &server.config {
                let path = root.join("configs").join(config);
                assert!(path.exists(), "{}: {config}", server.name);
            }
            assert!(!server.protocols.is_empty(), "{}", server.name);
        }
    }

    #[test]
    fn a_reason_for_one_protocol_goes_before_one_for_all() {
        let text = r#"
            [[server]]
            name = "x"
            source = ""
            install = []
            command = []
            version = []
            protocols = ["h1", "h3"]
            not_offered = { trailers = "all", "h3 trailers" = "h3" }
        "#;
        let all: Definitions = toml::from_str(text).unwrap();
        let of = |protocol| all.server[0].not_offered(protocol, Check::Trailers);
        assert_eq!(of(Protocol::H1), Some("all"));
        assert_eq!(of(Protocol::H3), Some("h3"));
        assert_eq!(all.server[0].not_offered(Protocol::H1, Check::Head), None);
    }
}
