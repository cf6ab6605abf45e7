//! CBOR by minicbor-serde.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Library, Refused};

pub(crate) struct MinicborSerde;

impl<T: Serialize + DeserializeOwned + Clone> Library<T> for MinicborSerde {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        // The serialiser writes serde's `none`, the field that is never set, as null.
        Ok(minicbor_serde::to_vec(message)?)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(minicbor_serde::from_slice(bytes)?)
    }
}
