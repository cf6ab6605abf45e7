//! Streams a sample into observations: memory grows with the schema, not with the sample.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::observed::{MAX_FIELDS, Member, Members, Observed};
use crate::path::Path;

/// The error for a repeated key: JSON readers disagree on which of the two values they keep.
pub(crate) const DUPLICATE_KEY: &str = "duplicate key in one object";

/// Samples with more distinct fields than this are refused: they have no schema.
const MAX_PATHS: usize = 100_000;

/// Objects with more keys than this are refused: the keys are kept in memory to find duplicates.
const MAX_KEYS: usize = 1_000_000;

/// The largest integer up to which a double can represent every integer.
const MAX_SAFE_INTEGER: u64 = 1 << 53;

/// A key, borrowed where the text has no escapes in it.
#[derive(Deserialize)]
pub(crate) struct Key<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The state of a traversal of all samples.
#[derive(Default)]
pub(crate) struct Traversal {
    /// The index of the current sample.
    pub(crate) sample: u32,
    path: Path,
    /// The number of distinct fields so far.
    paths: usize,
}

/// Adds one value to the observations at its path.
pub(crate) struct ObserveValue<'a> {
    pub(crate) traversal: &'a mut Traversal,
    pub(crate) observed: &'a mut Observed,
}

impl<'de> DeserializeSeed<'de> for ObserveValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObserveValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.observed.null.add(self.traversal.sample);
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.observed.bool.add(self.traversal.sample);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        let (integer, sample) = (&mut self.observed.integer, self.traversal.sample);
        integer.all.add(sample);
        if value < 0 {
            integer.negative.add(sample);
        }
        if value.unsigned_abs() > MAX_SAFE_INTEGER {
            integer.beyond_double.add(sample);
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let (integer, sample) = (&mut self.observed.integer, self.traversal.sample);
        integer.all.add(sample);
        if i64::try_from(value).is_err() {
            integer.above_i64.add(sample);
        }
        if value > MAX_SAFE_INTEGER {
            integer.beyond_double.add(sample);
        }
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // Every double of this size is whole: it was written as an integer, or might have been.
        let huge = value.abs() >= i64::MAX as f64;
        let tally = if huge {
            &mut self.observed.huge
        } else {
            &mut self.observed.fraction
        };
        tally.add(self.traversal.sample);
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.observed.string.add(self.traversal.sample);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let ObserveValue {
            traversal,
            observed,
        } = self;
        let array = observed.array.get_or_insert_default();
        array.all.add(traversal.sample);
        let before = traversal.path.enter_list();
        let mut empty = true;
        while let Some(()) = list.next_element_seed(ObserveValue {
            traversal,
            observed: &mut array.element,
        })? {
            empty = false;
        }
        traversal.path.leave(before);
        if empty {
            array.empty.add(traversal.sample);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let ObserveValue {
            traversal,
            observed,
        } = self;
        let object = observed.object.get_or_insert_default();
        object.all.add(traversal.sample);
        let count = object.all.count;
        let mut keys = BTreeSet::new();
        let mut empty = true;
        while let Some(Key(key)) = map.next_key()? {
            empty = false;
            let before = traversal.path.enter_key(&key);
            let observed = match member(traversal, &mut object.members, &mut keys, key, count) {
                Ok(observed) => observed,
                Err(reason) => {
                    let path = traversal.path.display();
                    return Err(Error::custom(format!("{path}: {reason}")));
                }
            };
            map.next_value_seed(ObserveValue {
                traversal,
                observed,
            })?;
            traversal.path.leave(before);
        }
        if empty {
            object.empty.add(traversal.sample);
        }
        Ok(())
    }
}

/// Returns the observations of a key in the current object, which is the `count`th at its path.
fn member<'m>(
    traversal: &mut Traversal,
    members: &'m mut Members,
    keys: &mut BTreeSet<String>,
    key: Cow<'_, str>,
    count: u64,
) -> Result<&'m mut Observed, String> {
    if let Members::Fields(fields) = &*members
        && fields.len() == MAX_FIELDS
        && !fields.contains_key(&*key)
    {
        let of_this_object = fields
            .iter()
            .filter(|(_, member)| member.last_object == count);
        keys.extend(of_this_object.map(|(key, _)| key.clone()));
        members.become_entries();
    }
    match members {
        Members::Entries(observed) => {
            if !keys.insert(key.into_owned()) {
                return Err(DUPLICATE_KEY.to_owned());
            }
            if keys.len() > MAX_KEYS {
                return Err(format!("more than {MAX_KEYS} keys in one object"));
            }
            Ok(observed)
        }
        Members::Fields(fields) => {
            if !fields.contains_key(&*key) {
                traversal.paths += 1;
                if traversal.paths > MAX_PATHS {
                    return Err(format!(
                        "more than {MAX_PATHS} different fields; this is data without a schema"
                    ));
                }
            }
            let member = fields.entry(key.into_owned()).or_default();
            let Member {
                observed,
                last_object,
            } = member;
            if std::mem::replace(last_object, count) == count {
                return Err(DUPLICATE_KEY.to_owned());
            }
            Ok(observed)
        }
    }
}
