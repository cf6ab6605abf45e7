//! What the user should know of the schema.

use std::fmt;

use crate::path;

/// Something that the samples disagree on, or that Protobuf says in another way than JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where: `orders[].total`; empty for the top.
    pub path: String,
    /// What was found there.
    pub found: String,
    /// The samples that have it, by name.
    pub samples: Vec<String>,
    /// What the schema makes of it.
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
        write!(f, "{}: {found}", path::shown(path))?;
        if !samples.is_empty() {
            // A name may hold anything; a note is one line.
            let samples: Vec<String> = samples
                .iter()
                .map(|name| name.escape_debug().to_string())
                .collect();
            write!(f, " ({})", samples.join(", "))?;
        }
        write!(f, "; {modelled}")
    }
}
