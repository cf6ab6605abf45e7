//! The work of encoding and decoding, ready to be timed by whoever has a clock.

use std::hint::black_box;
use std::io::Read;

use flate2::read::GzDecoder;
use prost_reflect::DynamicMessage;
use prost_reflect::prost::Message;
use serde_json::Value;

use crate::forms::{gzip, zstd};
use crate::{Form, Sample, Schema, forms};

/// One thing to do, as often as wanted.
pub struct Work {
    /// The codec, named as in [`forms`].
    pub codec: &'static str,
    /// Bytes from objects, or objects from bytes.
    pub encodes: bool,
    /// Does it so many times.
    pub run: Box<dyn FnMut(u64)>,
}

/// What each form of a sample costs to make and to read, with *dynamic* objects: a tree of JSON
/// values, a message of Protobuf's reflection. Generated code is several times faster at
/// Protobuf, and at JSON somewhat; compression costs the same for all.
pub fn work(schema: &Schema, sample: &Sample<'_>) -> Result<Vec<Work>, crate::CheckError> {
    let forms = forms(schema, sample)?;
    let tree: Value = sample.read(std::marker::PhantomData)?;
    let mut work = Vec::new();
    for Form { codec, bytes } in forms {
        let (plain, level) = codec.split_once('+').unwrap_or((codec, ""));
        let mut both = match plain {
            "protobuf" => protobuf(schema, codec, bytes.clone(), level)?,
            _ => of_tree(codec, plain, bytes.clone(), level, &tree),
        };
        work.append(&mut both);
    }
    Ok(work)
}

fn protobuf(
    schema: &Schema,
    codec: &'static str,
    bytes: Vec<u8>,
    level: &str,
) -> Result<Vec<Work>, crate::DecodeError> {
    let descriptor = schema.descriptor().clone();
    let unpacked = unpack(&bytes, level);
    let message = DynamicMessage::decode(descriptor.clone(), &unpacked[..])
        .map_err(|e| crate::DecodeError::Malformed(e.to_string()))?;
    let (pack, unpack_level) = (level.to_owned(), level.to_owned());
    let encode = move || compress(message.encode_to_vec(), &pack).len();
    let decode = move || {
        let plain = unpack(&bytes, &unpack_level);
        let message = DynamicMessage::decode(descriptor.clone(), &plain[..]);
        usize::from(message.is_ok())
    };
    Ok(vec![
        repeated(codec, true, encode),
        repeated(codec, false, decode),
    ])
}

fn of_tree(
    codec: &'static str,
    plain: &str,
    bytes: Vec<u8>,
    level: &str,
    tree: &Value,
) -> Vec<Work> {
    let (tree, pack, unpack_level) = (tree.clone(), level.to_owned(), level.to_owned());
    let write: fn(&Value) -> Vec<u8> = match plain {
        "msgpack" => |tree| rmp_serde::to_vec_named(tree).unwrap_or_default(),
        "cbor" => |tree| minicbor_serde::to_vec(tree).unwrap_or_default(),
        _ => |tree| serde_json::to_vec(tree).unwrap_or_default(),
    };
    let read: fn(&[u8]) -> bool = match plain {
        "msgpack" => |bytes| rmp_serde::from_slice::<Value>(bytes).is_ok(),
        "cbor" => |bytes| minicbor_serde::from_slice::<Value>(bytes).is_ok(),
        _ => |bytes| serde_json::from_slice::<Value>(bytes).is_ok(),
    };
    let encode = move || compress(write(&tree), &pack).len();
    let decode = move || usize::from(read(&unpack(&bytes, &unpack_level)));
    vec![
        repeated(codec, true, encode),
        repeated(codec, false, decode),
    ]
}

fn repeated(codec: &'static str, encodes: bool, mut once: impl FnMut() -> usize + 'static) -> Work {
    let run = Box::new(move |n: u64| {
        for _ in 0..n {
            black_box(once());
        }
    });
    Work {
        codec,
        encodes,
        run,
    }
}

fn compress(plain: Vec<u8>, level: &str) -> Vec<u8> {
    match level {
        "gzip-1" => gzip(&plain, 1),
        "gzip-6" => gzip(&plain, 6),
        "zstd-3" => zstd(&plain),
        _ => plain,
    }
}

/// Of bytes that [`compress`] made.
fn unpack(bytes: &[u8], level: &str) -> Vec<u8> {
    let mut plain = Vec::new();
    let read = match level {
        "gzip-1" | "gzip-6" => GzDecoder::new(bytes).read_to_end(&mut plain),
        "zstd-3" => return ::zstd::stream::decode_all(bytes).unwrap_or_default(),
        _ => return bytes.to_vec(),
    };
    match read {
        Ok(_) => plain,
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer;

    #[test]
    fn every_form_can_be_made_and_read() {
        let json = br#"{"name": "a sample", "numbers": [1, 2, 3], "price": 2.5, "none": null, "on": true}"#;
        let sample = Sample { name: "s", json };
        let schema = infer(&[sample]).unwrap();
        let work = work(&schema, &sample).unwrap();
        assert_eq!(work.len(), 20);
        for mut one in work {
            (one.run)(2);
        }
        let value: Value = serde_json::from_slice(json).unwrap();
        for Form { codec, bytes } in forms(&schema, &sample).unwrap() {
            let (plain, level) = codec.split_once('+').unwrap_or((codec, ""));
            let unpacked = unpack(&bytes, level);
            let back: Value = match plain {
                "json" => serde_json::from_slice(&unpacked).unwrap(),
                "msgpack" => rmp_serde::from_slice(&unpacked).unwrap(),
                "cbor" => minicbor_serde::from_slice(&unpacked).unwrap(),
                _ => schema.decode(&unpacked).unwrap(),
            };
            assert_eq!(back, value, "{codec}");
        }
    }
}
