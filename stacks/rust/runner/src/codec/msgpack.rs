//! MessagePack through serde: rmp-serde, and our own serialiser for the format before 2013.

use messages::Format;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Library, Refused};

/// rmp-serde, maps with names.
pub(crate) struct RmpNamed;

impl<T: Serialize + DeserializeOwned + Clone> Library<T> for RmpNamed {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        Ok(rmp_serde::to_vec_named(message)?)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(rmp_serde::from_slice(bytes)?)
    }
}

/// rmp-serde, fields by position.
pub(crate) struct RmpArray;

impl<T: Serialize + DeserializeOwned + Clone> Library<T> for RmpArray {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        Ok(rmp_serde::to_vec(message)?)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(rmp_serde::from_slice(bytes)?)
    }
}

/// The format before 2013, by the serialiser in `crates/shared/messages`.
pub(crate) struct Old;

impl<T: Serialize + DeserializeOwned + prost::Message + Default + Clone> Library<T> for Old {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        Ok(Format::MsgpackOld.encode(message))
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(Format::MsgpackOld.decode(bytes)?)
    }
}
