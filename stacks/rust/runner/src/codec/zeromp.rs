//! MessagePack by zerompk, which does not use serde: its derives are on types of our own. In an app
//! these would be the plain types, so converting to them is not timed.

use zerompk::{FromMessagePackOwned, ToMessagePack};

use super::{Library, Own, Refused};

/// zerompk, maps with names.
pub(crate) struct Named;

/// zerompk, fields by position.
pub(crate) struct Positional;

/// A plain type that has counterparts with zerompk's derives.
pub(crate) trait Mirrored: Sized {
    type Named: Own<Self> + ToMessagePack + FromMessagePackOwned;
    type Positional: Own<Self> + ToMessagePack + FromMessagePackOwned;
}

impl<T: Mirrored> Library<T> for Named {
    type Own = T::Named;

    fn encode(&mut self, own: &T::Named) -> Result<Vec<u8>, Refused> {
        Ok(zerompk::to_msgpack_vec(own)?)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T::Named, Refused> {
        Ok(zerompk::from_msgpack(bytes)?)
    }
}

impl<T: Mirrored> Library<T> for Positional {
    type Own = T::Positional;

    fn encode(&mut self, own: &T::Positional) -> Result<Vec<u8>, Refused> {
        Ok(zerompk::to_msgpack_vec(own)?)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T::Positional, Refused> {
        Ok(zerompk::from_msgpack(bytes)?)
    }
}

/// The types that `build/` generates from the schema.
#[allow(clippy::disallowed_names, reason = "the schema has a field named foo")]
mod generated {
    use super::{Mirrored, Own};

    include!(concat!(env!("OUT_DIR"), "/zerompk.rs"));
}
