//! Encodings of a HAR and of the texts in it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Reports what a file is that is not JSON in UTF-8, and how to convert it.
pub(super) fn check(file: &[u8]) -> Result<(), &'static str> {
    match file {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, _, 0, ..] | [0, _, 0, _, ..] => {
            Err("this is UTF-16; save it as UTF-8")
        }
        [0x1f, 0x8b, ..] => Err("this is compressed by gzip; unpack it first, e.g. with gunzip"),
        [b'P', b'K', 3, 4, ..] => Err("this is a zip archive; unpack it first"),
        _ => Ok(()),
    }
}

pub(super) fn is_base64(encoding: &str) -> bool {
    encoding.eq_ignore_ascii_case("base64")
}

/// Decodes base64, whose lines some programs break. None if it is no base64.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(text).ok()
}

/// Replaces escapes of half a surrogate pair, which are in texts that were cut. JSON allows them (RFC 8259 section
/// 8.2); strings in Rust cannot have them.
pub(super) fn without_half_pairs(json: &[u8]) -> Cow<'_, [u8]> {
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < json.len() {
        let length = match json[at] {
            b'\\' => match (unit(json, at), unit(json, at + 6)) {
                (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
                (Some(0xd800..0xe000), _) => {
                    let out = out.get_or_insert_with(|| json.to_vec());
                    out[at..at + 6].copy_from_slice(b"\\ufffd");
                    6
                }
                _ => 2,
            },
            _ => 1,
        };
        at += length;
    }
    out.map_or(Cow::Borrowed(json), Cow::Owned)
}

/// Returns the UTF-16 unit of an escape that begins here.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_pairs_are_replaced_and_nothing_else() {
        for (json, whole) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ude00 \uD83D\n""#, r#""\ufffd \ufffd\n""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \u00e9""#, r#""\\ud83d \u00e9""#),
            (r#""\ud83"#, r#""\ud83"#),
        ] {
            assert_eq!(
                without_half_pairs(json.as_bytes()),
                whole.as_bytes(),
                "{json}"
            );
        }
    }

    #[test]
    fn other_files_are_named() {
        for (file, name) in [
            (&b"\xff\xfe{\0"[..], "UTF-16"),
            (b"{\0\"\0", "UTF-16"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"PK\x03\x04", "zip"),
        ] {
            assert!(check(file).unwrap_err().contains(name), "{name}");
        }
        assert_eq!(check(b"{}"), Ok(()));
    }
}
