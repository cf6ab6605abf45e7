//! A sample in every encoding that an app could use.

use messages::{Compression, Compressor};

use crate::{Sample, SampleError, Schema, transcode};

/// A sample in one encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The serialisation format.
    pub format: Format,
    /// The compression applied to it.
    pub compression: Compression,
    /// The sample as sent, compressed.
    pub bytes: Vec<u8>,
}

/// A serialisation format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The sample's own text without the white space between tokens: digits and escapes stay as
    /// its author's encoder wrote them.
    Json,
    /// Protobuf by the inferred schema.
    Protobuf,
    /// MessagePack, objects as maps with their keys.
    Msgpack,
    /// CBOR, objects as maps with their keys.
    Cbor,
}

/// Encodes the sample as JSON, Protobuf, MessagePack and CBOR, the first two also compressed.
///
/// All encodings are in memory at once: about three times the sample.
pub fn encodings(schema: &Schema, sample: &Sample<'_>) -> Result<Vec<Encoding>, SampleError> {
    let json = compact(sample.text()?);
    let protobuf = schema.encode(sample)?;
    let msgpack = uncompressed(Format::Msgpack, transcode::msgpack(sample)?);
    let cbor = uncompressed(Format::Cbor, transcode::cbor(sample)?);
    let compressed = [(Format::Json, json), (Format::Protobuf, protobuf)];
    let compressed = compressed.into_iter().flat_map(|(format, bytes)| {
        Compression::ALL.map(|compression| Encoding {
            format,
            compression,
            bytes: Compressor::new(compression).compress(bytes.clone()),
        })
    });
    Ok(compressed.chain([msgpack, cbor]).collect())
}

impl Encoding {
    /// Returns the codec's name as in `commute codec`, e.g. `json`, `protobuf+gzip-6`, `msgpack`.
    pub fn codec(&self) -> String {
        self.compression.codec_name(self.format.name())
    }
}

impl Format {
    /// Returns the name used in codec names.
    pub fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Protobuf => "protobuf",
            Format::Msgpack => "msgpack",
            Format::Cbor => "cbor",
        }
    }
}

fn uncompressed(format: Format, bytes: Vec<u8>) -> Encoding {
    Encoding {
        format,
        compression: Compression::None,
        bytes,
    }
}

/// Strips the white space between the tokens of valid JSON.
fn compact(json: &[u8]) -> Vec<u8> {
    let (mut in_string, mut escaped) = (false, false);
    let kept = json.iter().copied().filter(|&byte| {
        if !in_string {
            in_string = byte == b'"';
            return !byte.is_ascii_whitespace();
        }
        in_string = escaped || byte != b'"';
        escaped = !escaped && byte == b'\\';
        true
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer;

    #[test]
    fn compact_keeps_white_space_in_strings() {
        let json = br#" { "a b" : [ 1.10 , "\" \\" , "x\\" ] } "#;
        assert_eq!(compact(json), br#"{"a b":[1.10,"\" \\","x\\"]}"#);
    }

    #[test]
    fn every_encoding_reads_back() {
        let json = br#"{"name": "a sample, a sample", "numbers": [1, 2, 3], "none": null}"#;
        let sample = Sample { name: "s", json };
        let schema = infer(&[sample]).unwrap();
        let encodings = encodings(&schema, &sample).unwrap();
        let value: serde_json::Value = serde_json::from_slice(json).unwrap();
        for encoding in &encodings {
            let mut compressor = Compressor::new(encoding.compression);
            let bytes = compressor.decompress(&encoding.bytes, 1 << 20).unwrap();
            let back = match encoding.format {
                Format::Json => serde_json::from_slice(&bytes).unwrap(),
                Format::Protobuf => schema.decode(&bytes).unwrap(),
                Format::Msgpack => rmp_serde::from_slice(&bytes).unwrap(),
                Format::Cbor => minicbor_serde::from_slice(&bytes).unwrap(),
            };
            assert_eq!(back, value, "{}", encoding.codec());
        }
        let names: Vec<String> = encodings.iter().map(Encoding::codec).collect();
        let compressed = ["json", "protobuf"].map(|f| [f.into(), format!("{f}+gzip-1")]);
        assert_eq!([&names[..2], &names[4..6]].concat(), compressed.concat());
        assert_eq!(names[8..], ["msgpack", "cbor"]);
    }
}
