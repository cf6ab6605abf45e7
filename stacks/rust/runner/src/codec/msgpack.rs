//! MessagePack through serde: rmp-serde, and our own serializer for the old form.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wire::Form;

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

/// The form before 2013, by the serializer of `crates/wire`.
pub(crate) struct Old;

impl<T: Serialize + DeserializeOwned + prost::Message + Default + Clone> Library<T> for Old {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        Ok(Form::MsgpackOld.encode(message))
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(Form::MsgpackOld.decode(bytes)?)
    }
}
