//! What is said of a place where samples disagree, or say what Protobuf cannot.

use super::Lower;
use crate::Note;
use crate::place::{Kind, Place};
use crate::schema::Unset;

impl Lower {
    pub(super) fn note_union(&mut self, place: &Place, kinds: &[Kind], path: &str) {
        let null = place
            .null
            .seen()
            .then(|| self.listed("null", &place.null.samples));
        let found: Vec<String> = kinds
            .iter()
            .map(|kind| self.listed(kind.plural(), &place.samples(*kind)))
            .chain(null)
            .collect();
        let modelled = "a message of which one field is set, or for null none";
        self.note(path, &found.join(", "), &[], modelled);
    }

    pub(super) fn listed(&self, what: &str, samples: &[u32]) -> String {
        format!(
            "{what} in {}",
            self.sample_names(samples).join(", ").escape_debug()
        )
    }

    /// What a field that is not set reads back as.
    pub(super) fn unset(&mut self, absent: bool, null: bool, empty: bool, path: &str) -> Unset {
        let ways = [
            (empty, "empty", Unset::Empty),
            (absent, "absent", Unset::Absent),
            (null, "null", Unset::Null),
        ];
        let seen: Vec<_> = ways.into_iter().filter(|(seen, ..)| *seen).collect();
        let Some(&(_, word, unset)) = seen.first() else {
            // Never without a value.
            return Unset::Absent;
        };
        if seen.len() > 1 {
            let words: Vec<&str> = seen.iter().map(|(_, word, _)| *word).collect();
            let found = format!("sometimes {}", words.join(", sometimes "));
            let modelled = format!("Protobuf cannot tell them apart: read back as {word}");
            self.note(path, &found, &[], &modelled);
        }
        unset
    }

    pub(super) fn note(&mut self, path: &str, found: &str, samples: &[u32], modelled: &str) {
        self.notes.push(Note {
            path: path.to_owned(),
            found: found.to_owned(),
            samples: self.sample_names(samples),
            modelled: modelled.to_owned(),
        });
    }

    fn sample_names(&self, samples: &[u32]) -> Vec<String> {
        let named = |sample: &u32| self.samples[*sample as usize].clone();
        samples.iter().map(named).collect()
    }
}
