//! `stacks/<folder>/stack.toml`: which drivers a folder offers, and how to start them.

use std::path::Path;

use serde::Deserialize;

use crate::protocol::Protocol;

/// One folder's drivers.
///
/// ```
/// let manifest = driver::manifest::Manifest::parse(r#"
///     [[driver]]
///     name = "hyper"
///     command = ["{bin}/commute-driver-hyper"]
///     protocols = ["h1", "h2"]
///     install = "built with the commute command"
/// "#).unwrap();
/// let argv = manifest.driver[0].argv("/stacks/rust".as_ref(), "/opt".as_ref());
/// assert_eq!(argv, ["/opt/commute-driver-hyper"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// At least one.
    pub driver: Vec<Entry>,
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
    /// How to get it, shown when its program is not there.
    pub install: String,
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
    fn drivers_that_cannot_start_are_refused() {
        let entry = |name: &str, command: &str, protocols: &str| {
            format!(
                "[[driver]]\nname = {name:?}\ncommand = {command}\n\
                 protocols = {protocols}\ninstall = \"\"\n"
            )
        };
        let good = entry("a", "[\"x\"]", "[\"h2\"]");
        assert!(Manifest::parse(&good).is_ok());
        assert!(refused(&format!("{good}{good}")).contains("twice"));
        assert!(refused(&entry("a b", "[\"x\"]", "[\"h2\"]")).contains("lower-case"));
        assert!(refused(&entry("a", "[]", "[\"h2\"]")).contains("needs a program"));
        assert!(refused(&entry("a", "[\"x\"]", "[]")).contains("at least one of"));
        assert!(refused(&entry("a", "[\"x\"]", "[\"h9\"]")).contains("line 4"));
    }
}
