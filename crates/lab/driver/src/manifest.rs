//! `stacks/<folder>/stack.toml`: the drivers, codec runners and servers in a folder, and how to
//! start them.

use std::collections::BTreeMap;
use std::path::Path;

use config::{ConfigError, Source};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::protocol::Protocol;

/// The name of the server that is part of commute.
pub const OWN_SERVER: &str = "commute";

/// The contents of a `stack.toml`.
///
/// ```
/// let manifest = driver::manifest::Manifest::parse("stack.toml", r#"
///     [stack]
///     needs = "nothing: part of commute"
///
///     [[driver]]
///     name = "hyper"
///     command = ["{commute}", "driver", "hyper"]
///     protocols = ["h1", "h2"]
/// "#).unwrap();
/// let argv = manifest.driver[0].argv("/stacks/rust".as_ref(), "/opt/commute".as_ref());
/// assert_eq!(argv, ["/opt/commute", "driver", "hyper"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// How to prepare the folder.
    pub stack: Stack,
    /// The folder's drivers.
    #[serde(default)]
    pub driver: Vec<DriverEntry>,
    /// The folder's runners for the codec bench.
    #[serde(default)]
    pub runner: Vec<RunnerEntry>,
    /// The folder's servers, which studies can name besides commute's own.
    #[serde(default)]
    pub server: Vec<ServerEntry>,
}

/// How to prepare a folder's drivers and runners.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// What the machine must have, described for the user.
    pub needs: String,
    /// A script that prepares everything inside the folder; absent when there is nothing to
    /// prepare.
    pub install: Option<String>,
    /// Debian packages that it needs, installed only when the user agrees.
    #[serde(default)]
    pub debian: Vec<String>,
}

/// A `[[driver]]` table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverEntry {
    /// Name that studies refer to.
    pub name: String,
    /// Program and arguments. `{stack}` stands for the manifest's folder, `{commute}` for the
    /// `commute` command, `{bin}` for its folder.
    pub command: Vec<String>,
    /// Protocols that the driver can use; those in its `hello` take precedence.
    pub protocols: Vec<Protocol>,
    /// How the driver talks to the lab.
    #[serde(default)]
    pub channel: ChannelKind,
    /// Kind of the server's keys, for libraries that accept only one.
    #[serde(default)]
    pub certificate: Certificate,
    /// Notes that must accompany every result, by protocol or for `all`.
    #[serde(default)]
    pub caveats: BTreeMap<String, String>,
    /// Conformance cases that the stack cannot pass by design, each with the reason. Keys are
    /// `CASE` or `PROTOCOL/CASE`.
    #[serde(default)]
    pub limits: BTreeMap<String, String>,
}

/// A `[[runner]]` table (`docs/codec-runner.md`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerEntry {
    /// Name of the runtime, for `commute codec --runtime`.
    pub runtime: String,
    /// Program and arguments, with the same placeholders as a driver's.
    pub command: Vec<String>,
}

/// A `[[server]]` table (`docs/reference/other-servers.md`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerEntry {
    /// Name that studies refer to.
    pub name: String,
    /// Program and arguments, with the same placeholders as a driver's.
    pub command: Vec<String>,
    /// Protocols it serves; all unless set.
    #[serde(default = "all_protocols")]
    pub protocols: Vec<Protocol>,
}

/// How a driver and the lab talk to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelKind {
    /// Two pipes.
    #[default]
    Pipes,
    /// One TCP connection that the driver makes, e.g. from a phone.
    Tcp,
}

/// Kind of the server's and the client's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// Returns its name for `commute serve --key` and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "p256",
            Self::Rsa2048 => "rsa-2048",
        }
    }
}

impl Manifest {
    /// Parses and checks the text of a manifest; `file` is used in messages only.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let source = Source::new(file, text);
        let manifest: Self = source.parse()?;
        let Self {
            driver,
            runner,
            server,
            ..
        } = &manifest;
        if driver.is_empty() && runner.is_empty() && server.is_empty() {
            return Err(source.error(
                &(0..0),
                "no [[driver]], [[runner]] or [[server]]: a stack needs at least one",
            ));
        }
        let refuse = |table: &str, index: usize, name: &str, problem: Option<&'static str>| {
            let at = format!("{table}.{index}");
            let error = |problem| source.error_at(&at, format!("{table} {name:?}: {problem}"));
            problem.map_or(Ok(()), |problem| Err(error(problem)))
        };
        for (index, entry) in driver.iter().enumerate() {
            refuse(
                "driver",
                index,
                &entry.name,
                entry.problem(&driver[..index]),
            )?;
        }
        for (index, entry) in runner.iter().enumerate() {
            refuse(
                "runner",
                index,
                &entry.runtime,
                entry.problem(&runner[..index]),
            )?;
        }
        for (index, entry) in server.iter().enumerate() {
            refuse(
                "server",
                index,
                &entry.name,
                entry.problem(&server[..index]),
            )?;
        }
        Ok(manifest)
    }
}

impl DriverEntry {
    /// Returns the command line, for a manifest in the folder `stack` and the command `commute`.
    pub fn argv(&self, stack: &Path, commute: &Path) -> Vec<String> {
        expand(&self.command, stack, commute)
    }

    /// Returns the notes that results over `protocol` must carry, joined by semicolons.
    pub fn caveat(&self, protocol: Protocol) -> Option<String> {
        let caveats: Vec<&str> = [protocol.name(), "all"]
            .iter()
            .filter_map(|key| self.caveats.get(*key))
            .map(String::as_str)
            .collect();
        (!caveats.is_empty()).then(|| caveats.join("; "))
    }

    /// Returns why the stack cannot pass the conformance case `case` over `protocol`.
    pub fn limit(&self, protocol: Protocol, case: &str) -> Option<&str> {
        let for_protocol = format!("{}/{case}", protocol.name());
        let reason = self.limits.get(&for_protocol);
        reason.or_else(|| self.limits.get(case)).map(String::as_str)
    }

    fn has_protocol(&self, name: &str) -> bool {
        self.protocols.iter().any(|p| p.name() == name)
    }

    fn problem(&self, earlier: &[Self]) -> Option<&'static str> {
        if !is_valid_name(&self.name) {
            Some("a name has only lower-case letters, digits and dashes")
        } else if earlier.iter().any(|entry| entry.name == self.name) {
            Some("the name is used twice")
        } else if self.command.is_empty() {
            Some("`command` needs a program")
        } else if self.protocols.is_empty() {
            Some("`protocols` needs at least one of h1, h2, h3, grpc")
        } else if self
            .caveats
            .keys()
            .any(|key| !self.has_protocol(key) && key != "all")
        {
            Some("the keys of `caveats` must be its protocols or `all`")
        } else {
            None
        }
    }
}

impl RunnerEntry {
    /// Returns the command line, for a manifest in the folder `stack` and the command `commute`.
    pub fn argv(&self, stack: &Path, commute: &Path) -> Vec<String> {
        expand(&self.command, stack, commute)
    }

    fn problem(&self, earlier: &[Self]) -> Option<&'static str> {
        if !is_valid_name(&self.runtime) {
            Some("a runtime's name has only lower-case letters, digits and dashes")
        } else if earlier.iter().any(|r| r.runtime == self.runtime) {
            Some("the runtime is used twice")
        } else if self.command.is_empty() {
            Some("`command` needs a program")
        } else {
            None
        }
    }
}

fn all_protocols() -> Vec<Protocol> {
    vec![Protocol::H1, Protocol::H2, Protocol::H3, Protocol::Grpc]
}

impl ServerEntry {
    /// Returns the command line, for a manifest in the folder `stack` and the command `commute`.
    pub fn argv(&self, stack: &Path, commute: &Path) -> Vec<String> {
        expand(&self.command, stack, commute)
    }

    fn problem(&self, earlier: &[Self]) -> Option<&'static str> {
        if !is_valid_name(&self.name) {
            Some("a server's name has only lower-case letters, digits and dashes")
        } else if self.name == OWN_SERVER {
            Some("this is the name of commute's own server")
        } else if earlier.iter().any(|server| server.name == self.name) {
            Some("the name is used twice")
        } else if self.command.is_empty() {
            Some("`command` needs a program")
        } else {
            None
        }
    }
}

/// Replaces the placeholders in a command.
fn expand(command: &[String], stack: &Path, commute: &Path) -> Vec<String> {
    let bin = commute.parent().unwrap_or(Path::new("/"));
    let expand = |word: &String| {
        word.replace("{stack}", &stack.to_string_lossy())
            .replace("{commute}", &commute.to_string_lossy())
            .replace("{bin}", &bin.to_string_lossy())
    };
    command.iter().map(expand).collect()
}

fn is_valid_name(name: &str) -> bool {
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Manifest::parse("stack.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn unknown_keys_are_rejected_with_line_and_name() {
        let text = "[[driver]]\nname = \"a\"\ncolour = \"red\"\n";
        let message = error(text);
        assert!(
            message.starts_with("stack.toml:3:1: ") && message.contains("colour"),
            "{message}"
        );
    }

    #[test]
    fn caveats_and_limits_are_looked_up_by_protocol() {
        let text = "[stack]\nneeds = \"\"\n[[driver]]\nname = \"a\"\ncommand = [\"x\"]\n\
                    protocols = [\"h2\", \"h3\"]\ncaveats = { h3 = \"no chain\", all = \"old\" }\n\
                    limits = { \"h3/wrong-ca\" = \"no chain\", cancel = \"no API\" }\n";
        let entry = Manifest::parse("stack.toml", text)
            .unwrap()
            .driver
            .remove(0);
        assert_eq!(entry.caveat(Protocol::H2).as_deref(), Some("old"));
        assert_eq!(entry.caveat(Protocol::H3).as_deref(), Some("no chain; old"));
        assert_eq!(entry.limit(Protocol::H2, "wrong-ca"), None);
        assert_eq!(entry.limit(Protocol::H3, "wrong-ca"), Some("no chain"));
        assert_eq!(entry.limit(Protocol::H2, "cancel"), Some("no API"));
    }

    #[test]
    fn folder_needs_a_driver_or_a_runner() {
        let head = "[stack]\nneeds = \"\"\n";
        let runner = |runtime: &str| {
            format!("[[runner]]\nruntime = {runtime:?}\ncommand = [\"{{bin}}/x\"]\n")
        };
        let manifest = Manifest::parse("stack.toml", &format!("{head}{}", runner("perl"))).unwrap();
        let argv = manifest.runner[0].argv("/s".as_ref(), "/b/commute".as_ref());
        assert_eq!(argv, ["/b/x"]);
        assert!(error(head).contains("at least one"));
        assert!(error(&format!("{head}{}", runner("Perl 5"))).contains("lower-case"));
        let twice = format!("{head}{}{}", runner("go"), runner("go"));
        assert!(error(&twice).contains("twice"));
    }

    #[test]
    fn servers_that_cannot_start_are_rejected() {
        let server = |name: &str, command: &str| {
            format!("[stack]\nneeds = \"\"\n[[server]]\nname = {name:?}\ncommand = {command}\n")
        };
        let manifest = Manifest::parse("stack.toml", &server("go", "[\"{stack}/x\"]")).unwrap();
        assert_eq!(
            manifest.server[0].argv("/s".as_ref(), "/b/commute".as_ref()),
            ["/s/x"]
        );
        assert_eq!(manifest.server[0].protocols, all_protocols());
        let http = server("go", "[\"x\"]") + "protocols = [\"h1\", \"h2\"]\n";
        let manifest = Manifest::parse("stack.toml", &http).unwrap();
        assert_eq!(manifest.server[0].protocols, [Protocol::H1, Protocol::H2]);
        assert!(error(&server("Go", "[\"x\"]")).contains("lower-case"));
        assert!(error(&server("commute", "[\"x\"]")).contains("commute's own"));
        assert!(error(&server("go", "[]")).contains("needs a program"));
    }

    #[test]
    fn drivers_that_cannot_start_are_rejected() {
        let entry = |name: &str, command: &str, protocols: &str| {
            format!("[[driver]]\nname = {name:?}\ncommand = {command}\nprotocols = {protocols}\n")
        };
        let head = "[stack]\nneeds = \"\"\n";
        let error = |text: &str| error(&format!("{head}{text}"));
        let good = entry("a", "[\"x\"]", "[\"h2\"]");
        assert!(Manifest::parse("stack.toml", &format!("{head}{good}")).is_ok());
        assert!(error(&format!("{good}{good}")).contains("twice"));
        assert!(error(&entry("a b", "[\"x\"]", "[\"h2\"]")).contains("lower-case"));
        assert!(error(&entry("a", "[]", "[\"h2\"]")).contains("needs a program"));
        assert!(error(&entry("a", "[\"x\"]", "[]")).contains("at least one of"));
        assert!(error(&entry("a", "[\"x\"]", "[\"h9\"]")).starts_with("stack.toml:6:"));
        assert!(error(&format!("{good}caveats = {{ h3 = \"x\" }}\n")).contains("caveats"));
    }
}
