//! The values observed at one path of the samples.

use indexmap::IndexMap;

/// An object with more distinct keys than this is taken for a map: its keys are data.
pub(crate) const MAX_FIELDS: usize = 1000;

/// How often something was seen, and in which samples.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    /// Indexes of the samples, ascending.
    pub(crate) samples: Vec<u32>,
}

impl Tally {
    pub(crate) fn add(&mut self, sample: u32) {
        self.count += 1;
        if self.samples.last() != Some(&sample) {
            self.samples.push(sample);
        }
    }

    pub(crate) fn seen(&self) -> bool {
        self.count > 0
    }

    fn merge(&mut self, other: Tally) {
        self.count += other.count;
        self.samples.extend(other.samples);
        self.samples.sort_unstable();
        self.samples.dedup();
    }
}

/// The values at one path, over all samples: how often each kind was seen.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) null: Tally,
    pub(crate) bool: Tally,
    pub(crate) integer: Integers,
    /// Numbers written with a fraction or an exponent.
    pub(crate) fraction: Tally,
    /// Whole numbers beyond 64 bits.
    pub(crate) huge: Tally,
    pub(crate) string: Tally,
    pub(crate) object: Option<Box<Object>>,
    pub(crate) array: Option<Box<Array>>,
}

/// The integers at one path.
#[derive(Default)]
pub(crate) struct Integers {
    pub(crate) all: Tally,
    pub(crate) negative: Tally,
    /// Above the range of `int64`.
    pub(crate) above_i64: Tally,
    /// Beyond ±2^53, where a double no longer represents every integer.
    pub(crate) beyond_double: Tally,
}

/// The objects at one path.
#[derive(Default)]
pub(crate) struct Object {
    pub(crate) all: Tally,
    pub(crate) empty: Tally,
    pub(crate) members: Members,
}

/// The members of the objects at one path.
pub(crate) enum Members {
    /// Observations per key, in order of first appearance.
    Fields(IndexMap<String, Member>),
    /// More than [`MAX_FIELDS`] keys, so those of a map: one set of observations for all values.
    Entries(Box<Observed>),
}

impl Default for Members {
    fn default() -> Self {
        Members::Fields(IndexMap::new())
    }
}

/// The values of one key.
#[derive(Default)]
pub(crate) struct Member {
    pub(crate) observed: Observed,
    /// The count of the last object that had the key, to find duplicates.
    pub(crate) last_object: u64,
}

/// The lists at one path.
#[derive(Default)]
pub(crate) struct Array {
    pub(crate) all: Tally,
    pub(crate) empty: Tally,
    pub(crate) element: Observed,
}

/// The kinds of values that need types of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Number,
    String,
    Object,
    List,
}

impl Observed {
    /// Returns the number of values seen.
    pub(crate) fn count(&self) -> u64 {
        let objects = self.object.as_ref().map_or(0, |object| object.all.count);
        let arrays = self.array.as_ref().map_or(0, |array| array.all.count);
        let scalars = [
            &self.null,
            &self.bool,
            &self.integer.all,
            &self.fraction,
            &self.huge,
            &self.string,
        ];
        scalars.map(|tally| tally.count).iter().sum::<u64>() + objects + arrays
    }

    /// Returns the kinds seen, without `null`.
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        let number = self.integer.all.seen() || self.fraction.seen() || self.huge.seen();
        [
            (Kind::Bool, self.bool.seen()),
            (Kind::Number, number),
            (Kind::String, self.string.seen()),
            (Kind::Object, self.object.is_some()),
            (Kind::List, self.array.is_some()),
        ]
        .into_iter()
        .filter_map(|(kind, seen)| seen.then_some(kind))
        .collect()
    }

    /// Returns the indexes of the samples that had this kind, ascending.
    pub(crate) fn samples(&self, kind: Kind) -> Vec<u32> {
        let tallies: Vec<&Tally> = match kind {
            Kind::Bool => vec![&self.bool],
            Kind::Number => vec![&self.integer.all, &self.fraction, &self.huge],
            Kind::String => vec![&self.string],
            Kind::Object => self.object.iter().map(|object| &object.all).collect(),
            Kind::List => self.array.iter().map(|array| &array.all).collect(),
        };
        let mut samples: Vec<u32> = tallies.iter().flat_map(|t| &t.samples).copied().collect();
        samples.sort_unstable();
        samples.dedup();
        samples
    }

    /// Removes the values of one kind and returns them alone.
    pub(crate) fn take(&mut self, kind: Kind) -> Observed {
        let mut taken = Observed::default();
        match kind {
            Kind::Bool => std::mem::swap(&mut taken.bool, &mut self.bool),
            Kind::Number => {
                std::mem::swap(&mut taken.integer, &mut self.integer);
                std::mem::swap(&mut taken.fraction, &mut self.fraction);
                std::mem::swap(&mut taken.huge, &mut self.huge);
            }
            Kind::String => std::mem::swap(&mut taken.string, &mut self.string),
            Kind::Object => taken.object = self.object.take(),
            Kind::List => taken.array = self.array.take(),
        }
        taken
    }

    /// Adds the values of another path.
    pub(crate) fn merge(&mut self, other: Observed) {
        self.null.merge(other.null);
        self.bool.merge(other.bool);
        self.integer.all.merge(other.integer.all);
        self.integer.negative.merge(other.integer.negative);
        self.integer.above_i64.merge(other.integer.above_i64);
        self.integer
            .beyond_double
            .merge(other.integer.beyond_double);
        self.fraction.merge(other.fraction);
        self.huge.merge(other.huge);
        self.string.merge(other.string);
        if let Some(object) = other.object {
            self.object.get_or_insert_default().merge(*object);
        }
        if let Some(array) = other.array {
            let own = self.array.get_or_insert_default();
            own.all.merge(array.all);
            own.empty.merge(array.empty);
            own.element.merge(array.element);
        }
    }
}

impl Object {
    fn merge(&mut self, other: Object) {
        self.all.merge(other.all);
        self.empty.merge(other.empty);
        if let Members::Entries(_) = other.members {
            self.members.become_entries();
        }
        match (&mut self.members, other.members) {
            (Members::Fields(own), Members::Fields(others)) => {
                for member in own.values_mut() {
                    // The counts of the two objects' paths do not compare.
                    member.last_object = 0;
                }
                for (key, member) in others {
                    own.entry(key).or_default().observed.merge(member.observed);
                }
                if own.len() > MAX_FIELDS {
                    self.members.become_entries();
                }
            }
            (Members::Entries(own), others) => own.merge(others.into_entries()),
            (Members::Fields(_), Members::Entries(_)) => {
                unreachable!("became entries above")
            }
        }
    }
}

impl Members {
    /// Merges the values of all keys, from now on too.
    pub(crate) fn become_entries(&mut self) {
        let values = std::mem::take(self).into_entries();
        *self = Members::Entries(Box::new(values));
    }

    /// Returns the values of all keys together.
    pub(crate) fn into_entries(self) -> Observed {
        match self {
            Members::Entries(values) => *values,
            Members::Fields(fields) => {
                let mut all = Observed::default();
                for (_, member) in fields {
                    all.merge(member.observed);
                }
                all
            }
        }
    }
}

impl Kind {
    /// Returns the plural in notes.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Kind::Bool => "booleans",
            Kind::Number => "numbers",
            Kind::String => "strings",
            Kind::Object => "objects",
            Kind::List => "lists",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(samples: &[u32]) -> Tally {
        let mut tally = Tally::default();
        for &sample in samples {
            tally.add(sample);
        }
        tally
    }

    fn number(sample: u32) -> Observed {
        let mut observed = Observed::default();
        observed.integer.all.add(sample);
        observed
    }

    fn object(keys: &[&str], sample: u32) -> Object {
        let fields = keys.iter().map(|key| {
            let member = Member {
                observed: number(sample),
                last_object: 1,
            };
            ((*key).to_owned(), member)
        });
        Object {
            all: tally(&[sample]),
            empty: Tally::default(),
            members: Members::Fields(fields.collect()),
        }
    }

    fn field_count(object: &Object, key: &str) -> Option<u64> {
        match &object.members {
            Members::Fields(fields) => Some(fields.get(key)?.observed.count()),
            Members::Entries(_) => None,
        }
    }

    #[test]
    fn tally_counts_values_and_lists_each_sample_once() {
        let mut first = tally(&[0, 0, 2]);
        assert_eq!((first.count, &first.samples[..]), (3, &[0, 2][..]));
        first.merge(tally(&[1, 2]));
        assert_eq!((first.count, &first.samples[..]), (5, &[0, 1, 2][..]));
    }

    #[test]
    fn taking_a_kind_leaves_the_others() {
        let mut observed = number(0);
        observed.huge.add(1);
        observed.string.add(2);
        observed.null.add(3);
        let numbers = observed.take(Kind::Number);
        assert_eq!((numbers.count(), numbers.kinds()), (2, vec![Kind::Number]));
        assert_eq!(numbers.samples(Kind::Number), [0, 1]);
        assert_eq!(
            (observed.count(), observed.kinds()),
            (2, vec![Kind::String])
        );
    }

    #[test]
    fn merged_objects_share_their_fields() {
        let mut merged = object(&["a", "b"], 0);
        merged.merge(object(&["b", "c"], 1));
        let counts = ["a", "b", "c", "d"].map(|key| field_count(&merged, key));
        assert_eq!(counts, [Some(1), Some(2), Some(1), None]);
        assert_eq!(merged.all.samples, [0, 1]);
    }

    #[test]
    fn too_many_merged_fields_become_entries() {
        let names: Vec<String> = (0..MAX_FIELDS).map(|n| format!("word {n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut merged = object(&names, 0);
        merged.merge(object(&["word 7"], 1));
        assert_eq!(field_count(&merged, "word 7"), Some(2));
        merged.merge(object(&["another word"], 2));
        let Members::Entries(values) = &merged.members else {
            panic!("{MAX_FIELDS} + 1 keys are still fields");
        };
        assert_eq!(values.count(), MAX_FIELDS as u64 + 2);
        merged.merge(object(&["a", "b"], 3));
        assert_eq!(merged.members.into_entries().count(), MAX_FIELDS as u64 + 4);
    }
}
