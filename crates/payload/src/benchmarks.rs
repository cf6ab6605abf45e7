//! Loops that encode and decode a sample, for a caller that has a clock.

use std::hint::black_box;
use std::rc::Rc;

use prost_reflect::DynamicMessage;
use prost_reflect::prost::Message;
use serde_json::Value;
use wire::Compressor;

use crate::encodings::Format;
use crate::{CheckError, DecodeError, Encoding, Sample, Schema, encodings};

/// Limit for decompressing what [`encodings`] compressed, which cannot exceed what it held.
const NO_LIMIT: usize = usize::MAX >> 1;

type Encode = Box<dyn Fn() -> Vec<u8>>;
/// Returns whether decoding succeeded.
type Decode = Box<dyn Fn(&[u8]) -> bool>;

/// One operation of one codec, ready to be timed.
pub struct Benchmark {
    /// The codec's name, as [`Encoding::codec`] returns it.
    pub codec: String,
    /// Whether it encodes objects to bytes; otherwise it decodes bytes to objects.
    pub encodes: bool,
    /// Runs the operation the given number of times.
    pub run: Box<dyn FnMut(u64)>,
}

/// Returns an encoding and a decoding loop for each encoding of a sample, with *dynamic* objects:
/// a tree of JSON values, a message of Protobuf's reflection.
///
/// Generated code is several times faster at Protobuf and somewhat faster at JSON; compression
/// costs both the same.
pub fn benchmarks(schema: &Schema, sample: &Sample<'_>) -> Result<Vec<Benchmark>, CheckError> {
    let tree: Rc<Value> = Rc::new(sample.read(std::marker::PhantomData)?);
    let mut benchmarks = Vec::new();
    for encoding in encodings(schema, sample)? {
        let (encode, decode) = operations(&encoding, schema, &tree)?;
        let codec = encoding.codec();
        let mut compressor = Compressor::new(encoding.compression);
        benchmarks.push(Benchmark {
            codec: codec.clone(),
            encodes: true,
            run: repeated(move || compressor.compress(encode()).len()),
        });
        let mut compressor = Compressor::new(encoding.compression);
        benchmarks.push(Benchmark {
            codec,
            encodes: false,
            run: repeated(move || {
                let bytes = compressor.decompress(&encoding.bytes, NO_LIMIT);
                usize::from(bytes.is_ok_and(|bytes| decode(&bytes)))
            }),
        });
    }
    Ok(benchmarks)
}

/// Returns the operations of a format, without compression.
fn operations(
    encoding: &Encoding,
    schema: &Schema,
    tree: &Rc<Value>,
) -> Result<(Encode, Decode), DecodeError> {
    let tree = Rc::clone(tree);
    Ok(match encoding.format {
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
            let bytes = Compressor::new(encoding.compression)
                .decompress(&encoding.bytes, NO_LIMIT)
                .map_err(|e| malformed(e.to_string()))?
                .into_owned();
            let descriptor = schema.descriptor().clone();
            let message = DynamicMessage::decode(descriptor.clone(), &bytes[..])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer;

    #[test]
    fn every_format_encodes_and_decodes() {
        let json = br#"{"name": "a sample", "numbers": [1, 2, 3], "price": 2.5, "none": null, "on": true}"#;
        let sample = Sample { name: "s", json };
        let schema = infer(&[sample]).unwrap();
        let tree = Rc::new(serde_json::from_slice(json).unwrap());
        for encoding in encodings(&schema, &sample).unwrap() {
            let (encode, decode) = operations(&encoding, &schema, &tree).unwrap();
            let bytes = encode();
            assert!(decode(&bytes), "{}", encoding.codec());
            assert!(!decode(&bytes[..bytes.len() - 1]), "{}", encoding.codec());
        }
        let benchmarks = benchmarks(&schema, &sample).unwrap();
        assert_eq!(benchmarks.len(), 20);
        for mut benchmark in benchmarks {
            (benchmark.run)(2);
        }
    }
}
