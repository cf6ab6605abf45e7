//! Counts the elements of an encoded message, before it is decoded.
//!
//! Elements are messages, lists and strings, which take far more memory decoded than encoded: an
//! empty message of two bytes becomes a structure of some 150. (Numbers need no count: they grow
//! to eight times their size at most.) The count is an upper bound, found without the schema in
//! one pass that allocates nothing.

use super::Format;

/// The deepest nesting that prost decodes (its `RECURSION_LIMIT`).
const PROTOBUF_DEPTH: u32 = 100;
/// The wire types of Protobuf that say how many bytes follow.
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const LENGTH_DELIMITED: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// Returns an upper bound of the number of elements that a decoder creates from these bytes.
/// Damaged bytes count up to the damage, because decoders get that far.
pub(super) fn count(format: Format, bytes: &[u8]) -> usize {
    match format {
        Format::Json => json(bytes),
        Format::Protobuf => protobuf(bytes, PROTOBUF_DEPTH),
        Format::Msgpack | Format::MsgpackArray | Format::MsgpackOld => msgpack(bytes),
    }
}

/// Counts the characters that open an element. Those inside strings count too, and the end of a
/// string opens another.
fn json(text: &[u8]) -> usize {
    let opens = |byte: &&u8| matches!(byte, b'[' | b'{' | b'"');
    text.iter().filter(opens).count()
}

/// Counts fields with a length. Without the schema, each may be a message, so that the text of a
/// string counts as fields as far as it resembles them.
fn protobuf(mut bytes: &[u8], depth: u32) -> usize {
    let mut count = 0;
    while let Some(key) = varint(&mut bytes) {
        let wire_type = key as u8 & 0x07;
        let length = match wire_type {
            VARINT => varint(&mut bytes).map(|_| 0),
            FIXED64 => Some(8),
            LENGTH_DELIMITED => varint(&mut bytes),
            START_GROUP | END_GROUP => Some(0),
            FIXED32 => Some(4),
            _ => None,
        };
        let Some(length) = length else { break };
        // The part of a truncated field that is there is decoded by nobody, but costs little here.
        let length = usize::try_from(length)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let (content, rest) = bytes.split_at(length);
        if wire_type == LENGTH_DELIMITED {
            count += 1;
            if depth > 0 {
                count += protobuf(content, depth - 1);
            }
        }
        bytes = rest;
    }
    count
}

/// Reads a base-128 integer of at most ten bytes.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let last = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let (digits, rest) = bytes.split_at(last + 1);
    *bytes = rest;
    let digits = digits.iter().rev();
    Some(digits.fold(0, |value, digit| value << 7 | u64::from(digit & 0x7f)))
}

/// Counts all markers but those of numbers, and skips contents.
fn msgpack(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some((&marker, rest)) = bytes.split_first() {
        let is_number = matches!(marker, 0x00..=0x7f | 0xc0..=0xc3 | 0xca..=0xd3 | 0xe0..=0xff);
        count += usize::from(!is_number);
        // How many bytes of length follow the marker, and how many bytes of content besides.
        let (length_bytes, content_bytes) = match marker {
            0xa0..=0xbf => (0, usize::from(marker & 0x1f)),
            0xc4 | 0xd9 => (1, 0),
            0xc5 | 0xda => (2, 0),
            0xc6 | 0xdb => (4, 0),
            0xc7 => (1, 1),
            0xc8 => (2, 1),
            0xc9 => (4, 1),
            0xcc | 0xd0 => (0, 1),
            0xcd | 0xd1 | 0xdc | 0xde => (0, 2),
            0xca | 0xce | 0xd2 | 0xdd | 0xdf => (0, 4),
            0xcb | 0xcf | 0xd3 => (0, 8),
            0xd4..=0xd8 => (0, 1 + (1 << (marker - 0xd4))),
            _ => (0, 0),
        };
        let Some((length, rest)) = rest.split_at_checked(length_bytes) else {
            break;
        };
        let length = length
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        bytes = rest.get(length + content_bytes..).unwrap_or_default();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_element_of_a_list() {
        // `Large.things`, 1,000 empty ones.
        let things = |item: &[u8], between: &[u8]| vec![item; 1000].join(between);
        let json = [&b"{\"things\":["[..], &things(b"{}", b","), b"]}"].concat();
        let protobuf = things(&[0x12, 0x00], b"");
        let msgpack = [&b"\x81\xa6things\xdc\x03\xe8"[..], &things(&[0x80], b"")].concat();
        for (format, bytes) in [
            (Format::Json, json),
            (Format::Protobuf, protobuf),
            (Format::Msgpack, msgpack),
        ] {
            let elements = count(format, &bytes);
            assert!((1000..=1004).contains(&elements), "{format}: {elements}");
            // A decoder gets as far as the damage, and so does the count.
            let damaged = [&bytes[..bytes.len() / 2], &[0xc1; 9]].concat();
            assert!(count(format, &damaged) >= 490, "{format}");
        }
    }

    #[test]
    fn counts_inside_nested_messages_but_no_numbers() {
        // Field 1, a message of two strings and a number.
        let nested = [0x0a, 0x06, 0x12, 0x00, 0x12, 0x00, 0x18, 0x01];
        assert_eq!(count(Format::Protobuf, &nested), 3);
        // [1.0 as a double, "ab", one byte, {}, nil, 1, -1].
        let numbers = b"\x97\xcb\x3f\xf0\0\0\0\0\0\0\xa2ab\xc4\x01\x00\x80\xc0\x01\xff";
        assert_eq!(count(Format::Msgpack, numbers), 4);
        assert_eq!(count(Format::Json, b"{\"a\":[1,2,3,null,true]}"), 4);
    }

    #[test]
    fn deepest_nesting_does_not_overflow_the_stack() {
        // Every level declares more than there is.
        let nested = [0x0a, 0xff, 0xff, 0xff, 0x7f].repeat(1 << 20);
        assert_eq!(count(Format::Protobuf, &nested), 101);
    }
}
