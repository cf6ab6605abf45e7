//! A sample in every encoding that an app could take.

use wire::{Compression, Compressor};

use crate::{Sample, SampleError, Schema, transcode};

/// A sample in one encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// How it is written.
    pub format: Format,
    /// How that is made shorter.
    pub compression: Compression,
    /// What goes over the wire.
    pub bytes: Vec<u8>,
}

/// How a sample is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Without the white space between its parts: digits and escapes stay as its author's
    /// encoder wrote them.
    Json,
    /// After the schema that was inferred.
    Protobuf,
    /// Maps with names.
    Msgpack,
    /// Maps with names.
    Cbor,
}

/// The sample as JSON, Protobuf, MessagePack and CBOR, the first two also compressed.
///
/// All forms are held at once, about three times the sample.
pub fn forms(schema: &Schema, sample: &Sample<'_>) -> Result<Vec<Form>, SampleError> {
    let json = compact(sample.text()?);
    let protobuf = schema.encode(sample)?;
    let msgpack = plain(Format::Msgpack, transcode::msgpack(sample)?);
    let cbor = plain(Format::Cbor, transcode::cbor(sample)?);
    let compressed = [(Format::Json, json), (Format::Protobuf, protobuf)];
    let compressed = compressed.into_iter().flat_map(|(format, bytes)| {
        Compression::ALL.map(|compression| Form {
            format,
            compression,
            bytes: Compressor::new(compression).compress(bytes.clone()),
        })
    });
    Ok(compressed.chain([msgpack, cbor]).collect())
}

impl Form {
    /// Its name, as in the codec bench: `json`, `protobuf+gzip-6`, `msgpack`.
    pub fn codec(&self) -> String {
        self.compression.named(match self.format {
            Format::Json => "json",
            Format::Protobuf => "protobuf",
            Format::Msgpack => "msgpack",
            Format::Cbor => "cbor",
        })
    }
}

fn plain(format: Format, bytes: Vec<u8>) -> Form {
    Form {
        format,
        compression: Compression::None,
        bytes,
    }
}

/// JSON, known to be valid, without the white space between its parts.
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
    fn white_space_goes_only_between_the_parts() {
        let json = br#" { "a b" : [ 1.10 , "\" \\" , "x\\" ] } "#;
        assert_eq!(compact(json), br#"{"a b":[1.10,"\" \\","x\\"]}"#);
    }

    #[test]
    fn every_form_reads_back() {
        let json = br#"{"name": "a sample, a sample", "numbers": [1, 2, 3], "none": null}"#;
        let sample = Sample { name: "s", json };
        let schema = infer(&[sample]).unwrap();
        let forms = forms(&schema, &sample).unwrap();
        let value: serde_json::Value = serde_json::from_slice(json).unwrap();
        for form in &forms {
            let mut compressor = Compressor::new(form.compression);
            let bytes = compressor.decompress(&form.bytes, 1 << 20).unwrap();
            let back = match form.format {
                Format::Json => serde_json::from_slice(&bytes).unwrap(),
                Format::Protobuf => schema.decode(&bytes).unwrap(),
                Format::Msgpack => rmp_serde::from_slice(&bytes).unwrap(),
                Format::Cbor => minicbor_serde::from_slice(&bytes).unwrap(),
            };
            assert_eq!(back, value, "{}", form.codec());
        }
        let names: Vec<String> = forms.iter().map(Form::codec).collect();
        let compressed = ["json", "protobuf"].map(|f| [f.into(), format!("{f}+gzip-1")]);
        assert_eq!([&names[..2], &names[4..6]].concat(), compressed.concat());
        assert_eq!(names[8..], ["msgpack", "cbor"]);
    }
}
