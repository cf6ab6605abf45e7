//! Reads a sample into places, as a stream: memory grows with the schema, not with the sample.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::path::Path;
use crate::place::{MAX_FIELDS, Member, Members, Place};

/// More different places than this are no schema.
const MAX_PLACES: usize = 100_000;

/// More keys than this in one object are refused: they are kept, to know one that comes twice.
const MAX_KEYS: usize = 1_000_000;

/// The largest integer up to which a double tells every integer from the next.
const MAX_SAFE: u64 = 1 << 53;

/// A key, without a copy where the text has it as it is.
#[derive(Deserialize)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The way through the samples.
#[derive(Default)]
pub(crate) struct Walk {
    /// The number of the sample at hand.
    pub(crate) sample: u32,
    path: Path,
    places: usize,
}

/// Reads one value into its place.
pub(crate) struct ReadPlace<'a> {
    pub(crate) walk: &'a mut Walk,
    pub(crate) place: &'a mut Place,
}

impl<'de> DeserializeSeed<'de> for ReadPlace<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadPlace<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.place.null.add(self.walk.sample);
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.place.bool.add(self.walk.sample);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        let (integer, sample) = (&mut self.place.integer, self.walk.sample);
        integer.all.add(sample);
        if value < 0 {
            integer.negative.add(sample);
        }
        if value.unsigned_abs() > MAX_SAFE {
            integer.beyond_double.add(sample);
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let (integer, sample) = (&mut self.place.integer, self.walk.sample);
        integer.all.add(sample);
        if i64::try_from(value).is_err() {
            integer.above_i64.add(sample);
        }
        if value > MAX_SAFE {
            integer.beyond_double.add(sample);
        }
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // From 2^53 on every double is whole: it was written as an integer, or might as well be.
        let huge = value.abs() >= i64::MAX as f64;
        let tally = if huge {
            &mut self.place.huge
        } else {
            &mut self.place.fraction
        };
        tally.add(self.walk.sample);
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.place.string.add(self.walk.sample);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let ReadPlace { walk, place } = self;
        let array = place.array.get_or_insert_default();
        array.all.add(walk.sample);
        let before = walk.path.enter_list();
        let mut empty = true;
        while let Some(()) = list.next_element_seed(ReadPlace {
            walk,
            place: &mut array.element,
        })? {
            empty = false;
        }
        walk.path.leave(before);
        if empty {
            array.empty.add(walk.sample);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let ReadPlace { walk, place } = self;
        let object = place.object.get_or_insert_default();
        object.all.add(walk.sample);
        let count = object.all.count;
        let mut keys = BTreeSet::new();
        let mut empty = true;
        while let Some(Key(key)) = map.next_key()? {
            empty = false;
            let before = walk.path.enter_key(&key);
            let place = match slot(walk, &mut object.members, &mut keys, key, count) {
                Ok(place) => place,
                Err(why) => return Err(Error::custom(format!("{}: {why}", walk.path.shown()))),
            };
            map.next_value_seed(ReadPlace { walk, place })?;
            walk.path.leave(before);
        }
        if empty {
            object.empty.add(walk.sample);
        }
        Ok(())
    }
}

/// The place of a key in the object that is being read, the `count`th here.
fn slot<'m>(
    walk: &mut Walk,
    members: &'m mut Members,
    keys: &mut BTreeSet<String>,
    key: Cow<'_, str>,
    count: u64,
) -> Result<&'m mut Place, String> {
    if let Members::Fields(fields) = &*members
        && fields.len() == MAX_FIELDS
        && !fields.contains_key(&*key)
    {
        let of_this = fields.iter().filter(|(_, member)| member.last == count);
        keys.extend(of_this.map(|(key, _)| key.clone()));
        members.become_entries();
    }
    match members {
        Members::Entries(place) => {
            if !keys.insert(key.into_owned()) {
                return Err(TWICE.to_owned());
            }
            if keys.len() > MAX_KEYS {
                return Err(format!("more than {MAX_KEYS} keys in one object"));
            }
            Ok(place)
        }
        Members::Fields(fields) => {
            if !fields.contains_key(&*key) {
                walk.places += 1;
                if walk.places > MAX_PLACES {
                    return Err(format!(
                        "more than {MAX_PLACES} different fields; this is data without a schema"
                    ));
                }
            }
            let member = fields.entry(key.into_owned()).or_default();
            let Member { place, last } = member;
            if std::mem::replace(last, count) == count {
                return Err(TWICE.to_owned());
            }
            Ok(place)
        }
    }
}

/// What is said of a key that comes twice: JSON readers differ in which of the two they keep.
pub(crate) const TWICE: &str = "this key comes twice in one object";
