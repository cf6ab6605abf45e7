//! What stood in one place of the samples.

use indexmap::IndexMap;

/// More different keys than this in one place are no fields of a message but keys of a map.
pub(crate) const MAX_FIELDS: usize = 1000;

/// How often something was seen, and in which samples, in order.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
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

    fn absorb(&mut self, other: Tally) {
        self.count += other.count;
        self.samples.extend(other.samples);
        self.samples.sort_unstable();
        self.samples.dedup();
    }
}

/// One place, over all samples: how often each kind of value stood there.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) null: Tally,
    pub(crate) bool: Tally,
    pub(crate) integer: Integers,
    /// Written with a fraction or an exponent.
    pub(crate) fraction: Tally,
    /// Whole, but beyond 64 bits.
    pub(crate) huge: Tally,
    pub(crate) string: Tally,
    pub(crate) object: Option<Box<Object>>,
    pub(crate) array: Option<Box<Array>>,
}

/// The integers of a place.
#[derive(Default)]
pub(crate) struct Integers {
    pub(crate) all: Tally,
    /// Those below 0.
    pub(crate) negative: Tally,
    /// Those above what an `int64` holds.
    pub(crate) above_i64: Tally,
    /// Those that a double cannot tell from their neighbours.
    pub(crate) beyond_double: Tally,
}

/// The objects of a place.
#[derive(Default)]
pub(crate) struct Object {
    pub(crate) all: Tally,
    pub(crate) empty: Tally,
    pub(crate) members: Members,
}

/// What the objects of a place have inside.
pub(crate) enum Members {
    /// A place a key, in order of first appearance.
    Fields(IndexMap<String, Member>),
    /// So many keys that they must be those of a map: one place for all values.
    Entries(Box<Place>),
}

impl Default for Members {
    fn default() -> Self {
        Members::Fields(IndexMap::new())
    }
}

/// The place of one key.
#[derive(Default)]
pub(crate) struct Member {
    pub(crate) place: Place,
    /// The count of the object that had it last, to know a key that comes twice.
    pub(crate) last: u64,
}

/// The lists of a place.
#[derive(Default)]
pub(crate) struct Array {
    pub(crate) all: Tally,
    pub(crate) empty: Tally,
    pub(crate) element: Place,
}

/// Kinds of values that need types of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Number,
    String,
    Object,
    List,
}

impl Place {
    /// How many values stood here.
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

    /// The kinds seen here, `null` apart.
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

    /// The samples that had a kind here.
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

    /// Takes one kind out, as a place where nothing else ever stood.
    pub(crate) fn take(&mut self, kind: Kind) -> Place {
        let mut taken = Place::default();
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

    /// Adds what stood in another place.
    pub(crate) fn absorb(&mut self, other: Place) {
        self.null.absorb(other.null);
        self.bool.absorb(other.bool);
        self.integer.all.absorb(other.integer.all);
        self.integer.negative.absorb(other.integer.negative);
        self.integer.above_i64.absorb(other.integer.above_i64);
        self.integer
            .beyond_double
            .absorb(other.integer.beyond_double);
        self.fraction.absorb(other.fraction);
        self.huge.absorb(other.huge);
        self.string.absorb(other.string);
        if let Some(object) = other.object {
            self.object.get_or_insert_default().absorb(*object);
        }
        if let Some(array) = other.array {
            let mine = self.array.get_or_insert_default();
            mine.all.absorb(array.all);
            mine.empty.absorb(array.empty);
            mine.element.absorb(array.element);
        }
    }
}

impl Object {
    fn absorb(&mut self, other: Object) {
        self.all.absorb(other.all);
        self.empty.absorb(other.empty);
        if let Members::Entries(_) = other.members {
            self.members.become_entries();
        }
        match (&mut self.members, other.members) {
            (Members::Fields(mine), Members::Fields(theirs)) => {
                for member in mine.values_mut() {
                    // Counts of objects have changed their meaning.
                    member.last = 0;
                }
                for (key, member) in theirs {
                    mine.entry(key).or_default().place.absorb(member.place);
                }
                if mine.len() > MAX_FIELDS {
                    self.members.become_entries();
                }
            }
            (Members::Entries(mine), theirs) => mine.absorb(theirs.into_entries()),
            (Members::Fields(_), Members::Entries(_)) => {
                unreachable!("became entries above")
            }
        }
    }
}

impl Members {
    /// From here on, one place for the values of all keys.
    pub(crate) fn become_entries(&mut self) {
        let place = std::mem::take(self).into_entries();
        *self = Members::Entries(Box::new(place));
    }

    /// What stood at any key.
    pub(crate) fn into_entries(self) -> Place {
        match self {
            Members::Entries(place) => *place,
            Members::Fields(fields) => {
                let mut all = Place::default();
                for (_, member) in fields {
                    all.absorb(member.place);
                }
                all
            }
        }
    }
}

impl Kind {
    /// Several of them.
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
