//! Protobuf by prost.

use super::{Library, Refused};

pub(crate) struct Prost;

impl<T: prost::Message + Default + Clone> Library<T> for Prost {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        Ok(message.encode_to_vec())
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(T::decode(bytes)?)
    }
}
