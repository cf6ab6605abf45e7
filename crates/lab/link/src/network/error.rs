//! Errors of networks that cannot be loaded, and hints for names that do not exist.

use config::{ConfigError, did_you_mean};

/// An error in a network file or in a network's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The text is not a network.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// No built-in network has this name.
    #[error("no network is named `{name}`{hint}")]
    Unknown {
        /// The name that was asked for, shortened to 80 characters.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
}

/// Returns the nearest of the known names, or all of them if none is near.
pub(super) fn hint(wanted: &str, known: &[&str]) -> String {
    match did_you_mean(wanted, known.iter().copied()) {
        nothing if nothing.is_empty() => format!("; known: {}", known.join(", ")),
        nearest => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_near_name_all_are_listed() {
        assert_eq!(hint("lam", &["lan", "wifi"]), " (did you mean `lan`?)");
        assert_eq!(hint("xyz", &["lan", "wifi"]), "; known: lan, wifi");
    }
}
