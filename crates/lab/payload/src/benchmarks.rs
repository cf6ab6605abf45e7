//! Loops that encode and decode a sample, for a caller that has a clock.

use std::hint::black_box;
use std::rc::Rc;

use messages::{Compression, Compressor};

use crate::{DecodeError, Dynamic, Encoding, Objects, Schema};

/// Limit for decompressing what [`encodings`](crate::encodings) compressed, which cannot exceed what it held.
const NO_LIMIT: usize = usize::MAX >> 1;

/// One operation of one codec, ready to be timed.
pub struct Benchmark<'a> {
    /// The codec's name, as [`Encoding::codec`] returns it.
    pub codec: String,
    /// Whether it encodes objects to bytes; otherwise it decodes bytes to objects.
    pub encodes: bool,
    /// Runs the operation the given number of times.
    pub run: Box<dyn FnMut(u64) + 'a>,
}

/// Returns an encoding and a decoding loop for each encoding of a sample, with [`Dynamic`] objects. Each format is
/// decoded once. Compression costs generated code the same.
pub fn benchmarks<'a>(
    schema: &Schema,
    encodings: &'a [Encoding],
) -> Result<Vec<Benchmark<'a>>, DecodeError> {
    let mut benchmarks = Vec::new();
    let plain = |encoding: &&Encoding| encoding.compression == Compression::None;
    for of_format in encodings.iter().filter(plain) {
        let dynamic = Dynamic::of(of_format.format, schema);
        let objects = Rc::new(dynamic.decode(&of_format.bytes)?);
        for encoding in encodings.iter().filter(|e| e.format == of_format.format) {
            benchmarks.push(encoder(encoding, dynamic.clone(), Rc::clone(&objects)));
            benchmarks.push(decoder(encoding, dynamic.clone()));
        }
    }
    Ok(benchmarks)
}

fn encoder<'a>(encoding: &Encoding, dynamic: Dynamic, objects: Rc<Objects>) -> Benchmark<'a> {
    let mut compressor = Compressor::new(encoding.compression);
    Benchmark {
        codec: encoding.codec(),
        encodes: true,
        run: repeated(move || compressor.compress(dynamic.encode(&objects)).len()),
    }
}

fn decoder(encoding: &Encoding, dynamic: Dynamic) -> Benchmark<'_> {
    let mut compressor = Compressor::new(encoding.compression);
    Benchmark {
        codec: encoding.codec(),
        encodes: false,
        run: repeated(move || {
            let bytes = compressor.decompress(&encoding.bytes, NO_LIMIT);
            usize::from(bytes.is_ok_and(|bytes| dynamic.decode(&bytes).is_ok()))
        }),
    }
}

fn repeated<'a>(mut once: impl FnMut() -> usize + 'a) -> Box<dyn FnMut(u64) + 'a> {
    Box::new(move |n| {
        for _ in 0..n {
            black_box(once());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, encodings, infer};

    #[test]
    fn every_encoding_is_timed_in_both_directions() {
        let json = br#"{"name": "a sample", "numbers": [1, 2, 3], "price": 2.5}"#;
        let sample = Sample { name: "s", json };
        let schema = infer(&[sample]).unwrap();
        let encodings = encodings(&schema, &sample).unwrap();
        let benchmarks = benchmarks(&schema, &encodings).unwrap();
        assert_eq!(benchmarks.len(), 20);
        for mut benchmark in benchmarks {
            (benchmark.run)(2);
        }
    }
}
