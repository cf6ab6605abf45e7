//! Notes on samples that disagree, and on JSON that Protobuf models differently.

use super::Lower;
use crate::Note;
use crate::observed::{Kind, Observed};
use crate::schema::Unset;

impl Lower {
    pub(super) fn note_union(&mut self, observed: &Observed, kinds: &[Kind], path: &str) {
        let null = observed
            .null
            .seen()
            .then(|| self.found_in("null", &observed.null.samples));
        let found: Vec<String> = kinds
            .iter()
            .map(|kind| self.found_in(kind.plural(), &observed.samples(*kind)))
            .chain(null)
            .collect();
        let modelled = "a message with one field set, or none for null";
        self.note(path, &found.join(", "), &[], modelled);
    }

    /// Formats e.g. `strings in a.json, b.json`.
    pub(super) fn found_in(&self, what: &str, samples: &[u32]) -> String {
        format!(
            "{what} in {}",
            self.sample_names(samples).join(", ").escape_debug()
        )
    }

    /// Chooses the JSON that an unset field reads back as, from what the samples had there.
    pub(super) fn unset(&mut self, absent: bool, null: bool, empty: bool, path: &str) -> Unset {
        let candidates = [
            (empty, "empty", Unset::Empty),
            (absent, "absent", Unset::Absent),
            (null, "null", Unset::Null),
        ];
        let seen: Vec<_> = candidates.into_iter().filter(|(seen, ..)| *seen).collect();
        let Some(&(_, word, unset)) = seen.first() else {
            // The field always has a value.
            return Unset::Absent;
        };
        if seen.len() > 1 {
            let words: Vec<&str> = seen.iter().map(|(_, word, _)| *word).collect();
            let found = format!("sometimes {}", words.join(", sometimes "));
            let modelled = format!("Protobuf cannot tell them apart, so it reads back as {word}");
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
