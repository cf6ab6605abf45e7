//! Notes on the schema for the user.

use std::fmt;

use crate::path;

/// A place where samples disagree, or where Protobuf models JSON differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The path, e.g. `orders[].total`; empty for the top.
    pub path: String,
    /// What the samples have there.
    pub found: String,
    /// The names of the samples that have it; empty where `found` names them.
    pub samples: Vec<String>,
    /// How the schema models it.
    pub modelled: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Note {
            path,
            found,
            samples,
            modelled,
        } = self;
        write!(f, "{}: {found}", path::display(path))?;
        if !samples.is_empty() {
            // A name may hold anything, but a note is one line.
            let samples: Vec<String> = samples
                .iter()
                .map(|name| name.escape_debug().to_string())
                .collect();
            write!(f, " ({})", samples.join(", "))?;
        }
        write!(f, "; {modelled}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_one_line_whatever_samples_are_called() {
        let note = |path: &str, samples: &[&str]| Note {
            path: path.to_owned(),
            found: "only null".to_owned(),
            samples: samples.iter().map(|s| (*s).to_owned()).collect(),
            modelled: "a message without fields".to_owned(),
        };
        assert_eq!(
            note("a[].b", &["one.json", "two\n.json"]).to_string(),
            r"a[].b: only null (one.json, two\n.json); a message without fields"
        );
        assert_eq!(
            note("", &[]).to_string(),
            "(top): only null; a message without fields"
        );
    }
}
