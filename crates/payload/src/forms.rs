//! A sample in every encoding that an app could take.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{Sample, SampleError, Schema, transcode};

/// A sample in one encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its name, as in the codec bench: `json`, `protobuf+gzip-6`, `msgpack`.
    pub codec: &'static str,
    /// What goes over the wire.
    pub bytes: Vec<u8>,
}

/// The sample as JSON, Protobuf, MessagePack and CBOR, the first two also compressed: by gzip at
/// its fastest and its usual level, and by zstd at its usual one.
///
/// JSON is the sample without the white space between its parts: digits and escapes stay as its
/// author's encoder wrote them. All forms are held at once, about three times the sample.
pub fn forms(schema: &Schema, sample: &Sample<'_>) -> Result<Vec<Form>, SampleError> {
    let protobuf = schema.encode(sample)?;
    let json = compact(sample.text()?);
    let msgpack = transcode::msgpack(sample)?;
    let cbor = transcode::cbor(sample)?;
    let mut forms = with_compressed(JSON, json);
    forms.extend(with_compressed(PROTOBUF, protobuf));
    forms.push(form("msgpack", msgpack));
    forms.push(form("cbor", cbor));
    Ok(forms)
}

/// The plain form, and it by gzip 1, gzip 6 and zstd.
fn with_compressed(codecs: [&'static str; 4], plain: Vec<u8>) -> Vec<Form> {
    let [name, gzip_1, gzip_6, zstd_3] = codecs;
    let compressed = [
        form(gzip_1, gzip(&plain, 1)),
        form(gzip_6, gzip(&plain, 6)),
        form(zstd_3, zstd(&plain)),
    ];
    std::iter::once(form(name, plain))
        .chain(compressed)
        .collect()
}

fn form(codec: &'static str, bytes: Vec<u8>) -> Form {
    Form { codec, bytes }
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

pub(crate) fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes every byte")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, ZSTD_LEVEL).expect("the buffer is made for the worst case")
}

const JSON: [&str; 4] = ["json", "json+gzip-1", "json+gzip-6", "json+zstd-3"];
const PROTOBUF: [&str; 4] = [
    "protobuf",
    "protobuf+gzip-1",
    "protobuf+gzip-6",
    "protobuf+zstd-3",
];

/// The level that zstd's own command takes.
const ZSTD_LEVEL: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer;
    use std::io::Read;

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
        for Form { codec, bytes } in &forms {
            let (codec, compression) = codec.split_once('+').unwrap_or((codec, ""));
            let bytes = match compression.split_once('-') {
                None => bytes.clone(),
                Some(("gzip", _)) => {
                    let mut plain = Vec::new();
                    let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
                    decoder.read_to_end(&mut plain).unwrap();
                    plain
                }
                Some(_) => zstd::bulk::decompress(bytes, 1 << 20).unwrap(),
            };
            let back = match codec {
                "json" => serde_json::from_slice(&bytes).unwrap(),
                "protobuf" => schema.decode(&bytes).unwrap(),
                "msgpack" => rmp_serde::from_slice(&bytes).unwrap(),
                _ => minicbor_serde::from_slice(&bytes).unwrap(),
            };
            assert_eq!(back, value, "{codec} {compression}");
        }
        assert_eq!(forms.len(), 10);
    }
}
