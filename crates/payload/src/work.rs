//! The work of encoding and decoding, ready to be timed by whoever has a clock.

use std::hint::black_box;
use std::rc::Rc;

use prost_reflect::DynamicMessage;
use prost_reflect::prost::Message;
use serde_json::Value;
use wire::Compressor;

use crate::forms::Format;
use crate::{CheckError, DecodeError, Form, Sample, Schema, forms};

/// One thing to do, as often as wanted.
pub struct Work {
    /// The codec, named as in [`forms`].
    pub codec: String,
    /// Bytes from objects, or objects from bytes.
    pub encodes: bool,
    /// Does it so many times.
    pub run: Box<dyn FnMut(u64)>,
}

/// What each form of a sample costs to make and to read, with *dynamic* objects: a tree of JSON
/// values, a message of Protobuf's reflection. Generated code is several times faster at
/// Protobuf, and at JSON somewhat; compression costs the same for all.
pub fn work(schema: &Schema, sample: &Sample<'_>) -> Result<Vec<Work>, CheckError> {
    let tree: Rc<Value> = Rc::new(sample.read(std::marker::PhantomData)?);
    let mut work = Vec::new();
    for form in forms(schema, sample)? {
        let (encode, decode) = ways(&form, schema, &tree)?;
        let codec = form.codec();
        let mut compressor = Compressor::new(form.compression);
        work.push(Work {
            codec: codec.clone(),
            encodes: true,
            run: repeated(move || compressor.compress(encode()).len()),
        });
        let mut compressor = Compressor::new(form.compression);
        work.push(Work {
            codec,
            encodes: false,
            run: repeated(move || {
                let plain = compressor.decompress(&form.bytes, OWN_LIMIT);
                usize::from(plain.is_ok_and(|plain| decode(&plain)))
            }),
        });
    }
    Ok(work)
}

type Encode = Box<dyn Fn() -> Vec<u8>>;
/// Says whether it could.
type Decode = Box<dyn Fn(&[u8]) -> bool>;

/// From objects to the bytes of a form, compression aside, and back.
fn ways(form: &Form, schema: &Schema, tree: &Rc<Value>) -> Result<(Encode, Decode), DecodeError> {
    let tree = Rc::clone(tree);
    Ok(match form.format {
        Format::Json => (
            Box::new(move || serde_json::to_vec(&*tree).unwrap_or_default()),
            Box::new(|bytes| serde_json::from_slice::<Value>(bytes).is_ok()),
        ),
        Format::Msgpack => (
            Box::new(move || rmp_serde::to_vec_named(&*tree).unwrap_or_default()),
            Box::new(|bytes| rmp_serde::from_slice::<Value>(bytes).is_ok()),
        ),
        Format::Cbor => (
            Box::new(move || minicbor_serde::to_vec(&*tree).unwrap_or_default()),
            Box::new(|bytes| minicbor_serde::from_slice::<Value>(bytes).is_ok()),
        ),
        Format::Protobuf => {
            let malformed = |problem: String| DecodeError::Malformed(problem);
            let plain = Compressor::new(form.compression)
                .decompress(&form.bytes, OWN_LIMIT)
                .map_err(|e| malformed(e.to_string()))?
                .into_owned();
            let descriptor = schema.descriptor().clone();
            let message = DynamicMessage::decode(descriptor.clone(), &plain[..])
                .map_err(|e| malformed(e.to_string()))?;
            (
                Box::new(move || message.encode_to_vec()),
                Box::new(move |bytes| DynamicMessage::decode(descriptor.clone(), bytes).is_ok()),
            )
        }
    })
}

fn repeated(mut once: impl FnMut() -> usize + 'static) -> Box<dyn FnMut(u64)> {
    Box::new(move |n| {
        for _ in 0..n {
            black_box(once());
        }
    })
}

/// Bytes that [`forms`] made unfold to no more than it held.
const OWN_LIMIT: usize = usize::MAX >> 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer;

    #[test]
    fn every_form_can_be_made_and_read() {
        let json = br#"{"name": "a sample", "numbers": [1, 2, 3], "price": 2.5, "none": null, "on": true}"#;
        let sample = Sample { name: "s", json };
        let schema = infer(&[sample]).unwrap();
        let tree = Rc::new(serde_json::from_slice(json).unwrap());
        for form in forms(&schema, &sample).unwrap() {
            let (encode, decode) = ways(&form, &schema, &tree).unwrap();
            let plain = encode();
            assert!(decode(&plain), "{}", form.codec());
            assert!(!decode(&plain[..plain.len() - 1]), "{}", form.codec());
        }
        let work = work(&schema, &sample).unwrap();
        assert_eq!(work.len(), 20);
        for mut one in work {
            (one.run)(2);
        }
    }
}
