//! Loops that encode and decode a sample, for a caller that has a clock.

use std::hint::black_box;

use wire::Compressor;

use crate::{CheckError, DecodeError, Dynamic, Sample, Schema, encodings};

/// Limit for decompressing what [`encodings`] compressed, which cannot exceed what it held.
const NO_LIMIT: usize = usize::MAX >> 1;

/// One operation of one codec, ready to be timed.
pub struct Benchmark {
    /// The codec's name, as [`Encoding::codec`](crate::Encoding::codec) returns it.
    pub codec: String,
    /// Whether it encodes objects to bytes; otherwise it decodes bytes to objects.
    pub encodes: bool,
    /// Runs the operation the given number of times.
    pub run: Box<dyn FnMut(u64)>,
}

/// Returns an encoding and a decoding loop for each encoding of a sample, with [`Dynamic`] objects.
/// Compression costs generated code the same.
pub fn benchmarks(schema: &Schema, sample: &Sample<'_>) -> Result<Vec<Benchmark>, CheckError> {
    let mut benchmarks = Vec::new();
    for encoding in encodings(schema, sample)? {
        let dynamic = Dynamic::of(encoding.format, schema);
        let codec = encoding.codec();
        let mut compressor = Compressor::new(encoding.compression);
        let plain = compressor
            .decompress(&encoding.bytes, NO_LIMIT)
            .map_err(|e| DecodeError::Malformed(e.to_string()))?;
        let objects = dynamic.decode(&plain)?;
        let encoder = dynamic.clone();
        benchmarks.push(Benchmark {
            codec: codec.clone(),
            encodes: true,
            run: repeated(move || compressor.compress(encoder.encode(&objects)).len()),
        });
        let mut compressor = Compressor::new(encoding.compression);
        benchmarks.push(Benchmark {
            codec,
            encodes: false,
            run: repeated(move || {
                let bytes = compressor.decompress(&encoding.bytes, NO_LIMIT);
                usize::from(bytes.is_ok_and(|bytes| dynamic.decode(&bytes).is_ok()))
            }),
        });
    }
    Ok(benchmarks)
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
    fn every_encoding_is_timed_in_both_directions() {
        let json = br#"{"name": "a sample", "numbers": [1, 2, 3], "price": 2.5}"#;
        let sample = Sample { name: "s", json };
        let benchmarks = benchmarks(&infer(&[sample]).unwrap(), &sample).unwrap();
        assert_eq!(benchmarks.len(), 20);
        for mut benchmark in benchmarks {
            (benchmark.run)(2);
        }
    }
}
