//! `stacks/<folder>/stack.toml`: which drivers a folder offers, and how to start them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::protocol::Protocol;

/// One folder's drivers.
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
    /// What all its drivers share.
    pub stack: Stack,
    /// At least one.
    pub driver: Vec<Entry>,
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
    pub wire: Wire,
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

/// How driver and lab talk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
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
}

impl Manifest {
    /// Reads the text of a manifest.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self = toml::from_str(text)?;
        for (index, entry) in manifest.driver.iter().enumerate() {
            if let Some(problem) = entry.problem(&manifest.driver[..index]) {
                return Err(ManifestError::Entry {
                    name: entry.name.clone(),
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
        let fill = |word: &String| {
            word.replace("{stack}", &stack.to_string_lossy())
                .replace("{bin}", &bin.to_string_lossy())
        };
        self.command.iter().map(fill).collect()
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
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
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
