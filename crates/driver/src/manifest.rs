//! `stacks/<folder>/stack.toml`: which drivers and codec runners a folder offers, and how to
//! start them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::protocol::Protocol;

/// One folder's drivers and runners.
///
/// ```
/// let manifest = driver::manifest::Manifest::parse(r#"
///     [stack]
///     needs = "nothing: built with the commute command"
///
///     [[driver]]
///     name = "hyper"
///     command = ["{bin}/commute-driver-hyper"]
///     protocols = ["h1", "h2"]
/// "#).unwrap();
/// let argv = manifest.driver[0].argv("/stacks/rust".as_ref(), "/opt".as_ref());
/// assert_eq!(argv, ["/opt/commute-driver-hyper"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What all of them share.
    pub stack: Stack,
    /// Its drivers.
    #[serde(default)]
    pub driver: Vec<Entry>,
    /// Its runners for the codec bench.
    #[serde(default)]
    pub runner: Vec<Runner>,
}

/// How to prepare a folder's drivers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// What the machine must have, in words.
    pub needs: String,
    /// A script in this folder that prepares everything inside it; absent when there is
    /// nothing to prepare.
    pub install: Option<String>,
    /// Debian packages it wants, installed only when the user agrees.
    #[serde(default)]
    pub debian: Vec<String>,
}

/// One driver.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The name studies use.
    pub name: String,
    /// Program and arguments. `{stack}` stands for the manifest's folder, `{bin}` for the
    /// folder of the `commute` command.
    pub command: Vec<String>,
    /// What it can speak; `hello` has the last word.
    pub protocols: Vec<Protocol>,
    /// How it talks with the lab.
    #[serde(default)]
    pub channel: ChannelKind,
    /// Kind of the server's keys, where the library knows one only.
    #[serde(default)]
    pub certificate: Certificate,
    /// What every result of it must say, by protocol or for `all`.
    #[serde(default)]
    pub caveats: BTreeMap<String, String>,
    /// Conformance cases that it cannot pass by its nature, each with the reason. Keys are
    /// `CASE` or `PROTOCOL/CASE`.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
}

/// One runner (`docs/codec-runner.md`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runner {
    /// The name of its runtime, as `commute codec --runtime` knows it.
    pub runtime: String,
    /// Program and arguments, as of a driver.
    pub command: Vec<String>,
}

/// How driver and lab talk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelKind {
    /// Two pipes.
    #[default]
    Pipes,
    /// One TCP connection that the driver makes, as from a phone.
    Tcp,
}

/// Kind of the keys of server and client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certificate {
    /// ECDSA on P-256.
    #[default]
    P256,
    /// RSA of 2048 bits.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
}

impl Certificate {
    /// As `commute serve --key` and records name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "p256",
            Self::Rsa2048 => "rsa-2048",
        }
    }
}

/// Why a manifest was refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not TOML, a key missing or unknown; the message has line and column.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A driver that cannot be named or started.
    #[error("driver {name:?}: {problem}")]
    Entry {
        /// Its name.
        name: String,
        /// What to change.
        problem: &'static str,
    },
    /// A runner that cannot be named or started.
    #[error("runner {runtime:?}: {problem}")]
    Runner {
        /// Its runtime.
        runtime: String,
        /// What to change.
        problem: &'static str,
    },
    /// A folder that offers nothing.
    #[error("no [[driver]] and no [[runner]]: a stack offers at least one")]
    Empty,
}

impl Manifest {
    /// Reads the text of a manifest.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = toml::from_str(text)?;
        if manifest.driver.is_empty() && manifest.runner.is_empty() {
            return Err(ManifestError::Empty);
        }
        for (index, entry) in manifest.driver.iter().enumerate() {
            if let Some(problem) = entry.problem(&manifest.driver[..index]) {
                return Err(ManifestError::Entry {
                    name: entry.name.clone(),
                    problem,
                });
            }
        }
        for (index, runner) in manifest.runner.iter().enumerate() {
            if let Some(problem) = runner.problem(&manifest.runner[..index]) {
                return Err(ManifestError::Runner {
                    runtime: runner.runtime.clone(),
                    problem,
                });
            }
        }
        Ok(manifest)
    }
}

impl Entry {
    /// Its command line, for a manifest in `stack` and a `commute` command in `bin`.
    pub fn argv(&self, stack: &Path, bin: &Path) -> Vec<String> {
        filled(&self.command, stack, bin)
    }

    fn speaks(&self, name: &str) -> bool {
        self.protocols.iter().any(|p| p.name() == name)
    }

    /// What results of it over `protocol` must say.
    pub fn caveat(&self, protocol: Protocol) -> Option<String> {
        let said = [protocol.name(), "all"].map(|key| self.caveats.get(key));
        let said: Vec<&str> = said.into_iter().flatten().map(String::as_str).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Why it cannot pass the conformance case `case` over `protocol`.
    pub fn limit(&self, protocol: Protocol, case: &str) -> Option<&str> {
        let own = format!("{}/{case}", protocol.name());
        let reason = self.limits.get(&own).or_else(|| self.limits.get(case));
        reason.map(String::as_str)
    }

    fn problem(&self, earlier: &[Self]) -> Option<&'static str> {
        if !plain(&self.name) {
            Some("a name is lower-case letters, digits and dashes")
        } else if earlier.iter().any(|entry| entry.name == self.name) {
            Some("the name stands twice")
        } else if self.command.is_empty() {
            Some("`command` needs a program")
        } else if self.protocols.is_empty() {
            Some("`protocols` needs at least one of h1, h2, h3, grpc")
        } else if self
            .caveats
            .keys()
            .any(|key| !self.speaks(key) && key != "all")
        {
            Some("a key of `caveats` is one of its protocols or `all`")
        } else {
            None
        }
    }
}

impl Runner {
    /// Its command line, for a manifest in `stack` and a `commute` command in `bin`.
    pub fn argv(&self, stack: &Path, bin: &Path) -> Vec<String> {
        filled(&self.command, stack, bin)
    }

    fn problem(&self, earlier: &[Self]) -> Option<&'static str> {
        if !plain(&self.runtime) {
            Some("a runtime's name is lower-case letters, digits and dashes")
        } else if earlier.iter().any(|r| r.runtime == self.runtime) {
            Some("the runtime stands twice")
        } else if self.command.is_empty() {
            Some("`command` needs a program")
        } else {
            None
        }
    }
}

fn filled(command: &[String], stack: &Path, bin: &Path) -> Vec<String> {
    let fill = |word: &String| {
        word.replace("{stack}", &stack.to_string_lossy())
            .replace("{bin}", &bin.to_string_lossy())
    };
    command.iter().map(fill).collect()
}

fn plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Manifest::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn unknown_keys_are_refused_with_their_place() {
        let text = "[[driver]]\nname = \"a\"\ncolour = \"red\"\n";
        let message = refused(text);
        assert!(
            message.contains("line 3") && message.contains("colour"),
            "{message}"
        );
    }

    #[test]
    fn caveats_and_limits_are_found_by_protocol() {
        let text = "[stack]\nneeds = \"\"\n[[driver]]\nname = \"a\"\ncommand = [\"x\"]\n\
                    protocols = [\"h2\", \"h3\"]\ncaveats = { h3 = \"no chain\", all = \"old\" }\n\
                    limits = { \"h3/wrong-ca\" = \"no chain\", cancel = \"no way\" }\n";
        let entry = Manifest::parse(text).unwrap().driver.remove(0);
        assert_eq!(entry.caveat(Protocol::H2).as_deref(), Some("old"));
        assert_eq!(entry.caveat(Protocol::H3).as_deref(), Some("no chain; old"));
        assert_eq!(entry.limit(Protocol::H2, "wrong-ca"), None);
        assert_eq!(entry.limit(Protocol::H3, "wrong-ca"), Some("no chain"));
        assert_eq!(entry.limit(Protocol::H2, "cancel"), Some("no way"));
    }

    #[test]
    fn a_folder_may_have_runners_only_but_not_nothing() {
        let head = "[stack]\nneeds = \"\"\n";
        let runner = |runtime: &str| {
            format!("[[runner]]\nruntime = {runtime:?}\ncommand = [\"{{bin}}/x\"]\n")
        };
        let manifest = Manifest::parse(&format!("{head}{}", runner("perl"))).unwrap();
        let argv = manifest.runner[0].argv("/s".as_ref(), "/b".as_ref());
        assert_eq!(argv, ["/b/x"]);
        assert!(refused(head).contains("at least one"));
        assert!(refused(&format!("{head}{}", runner("Perl 5"))).contains("lower-case"));
        let twice = format!("{head}{}{}", runner("go"), runner("go"));
        assert!(refused(&twice).contains("twice"));
    }

    #[test]
    fn drivers_that_cannot_start_are_refused() {
        let entry = |name: &str, command: &str, protocols: &str| {
            format!("[[driver]]\nname = {name:?}\ncommand = {command}\nprotocols = {protocols}\n")
        };
        let head = "[stack]\nneeds = \"\"\n";
        let refused = |text: &str| refused(&format!("{head}{text}"));
        let good = entry("a", "[\"x\"]", "[\"h2\"]");
        assert!(Manifest::parse(&format!("{head}{good}")).is_ok());
        assert!(refused(&format!("{good}{good}")).contains("twice"));
        assert!(refused(&entry("a b", "[\"x\"]", "[\"h2\"]")).contains("lower-case"));
        assert!(refused(&entry("a", "[]", "[\"h2\"]")).contains("needs a program"));
        assert!(refused(&entry("a", "[\"x\"]", "[]")).contains("at least one of"));
        assert!(refused(&entry("a", "[\"x\"]", "[\"h9\"]")).contains("line 6"));
        assert!(refused(&format!("{good}caveats = {{ h3 = \"x\" }}\n")).contains("caveats"));
    }
}
