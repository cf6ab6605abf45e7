//! Protobuf's wire format: <https://protobuf.dev/programming-guides/encoding/>.
//!
//! Written by hand because prost encodes only complete messages.

/// The wire type of strings, messages and packed lists.
const LENGTH_DELIMITED: u64 = 2;

/// The bytes written so far.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

/// A scalar as it appears on the wire.
pub(super) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Text(&'a str),
}

/// The start of a length-delimited field whose length is not known yet.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// The position of the tag.
    tag: usize,
    /// The position after the byte reserved for the length.
    content: usize,
}

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Writes a value, after a tag unless it is an element of a packed list.
    pub(super) fn value(&mut self, number: Option<u32>, value: &WireValue<'_>) {
        if let Some(number) = number {
            self.tag(number, value.wire_type());
        }
        match value {
            WireValue::Varint(value) => varint(&mut self.0, *value),
            WireValue::Fixed64(bits) => self.0.extend(bits.to_le_bytes()),
            WireValue::Text(text) => {
                varint(&mut self.0, text.len() as u64);
                self.0.extend(text.as_bytes());
            }
        }
    }

    /// Begins a message or a packed list.
    pub(super) fn begin(&mut self, number: u32) -> Start {
        let tag = self.0.len();
        self.tag(number, LENGTH_DELIMITED);
        self.0.push(0);
        Start {
            tag,
            content: self.0.len(),
        }
    }

    /// Ends a field and writes its length. The content moves if the length needs more than one byte.
    pub(super) fn finish(&mut self, start: Start) {
        let mut length = Vec::new();
        varint(&mut length, (self.0.len() - start.content) as u64);
        self.0.splice(start.content - 1..start.content, length);
    }

    /// Removes a field, as if it had not been begun.
    pub(super) fn discard(&mut self, start: Start) {
        self.0.truncate(start.tag);
    }

    fn tag(&mut self, number: u32, wire_type: u64) {
        varint(&mut self.0, u64::from(number) << 3 | wire_type);
    }
}

impl WireValue<'_> {
    pub(super) fn zigzag(value: i64) -> Self {
        WireValue::Varint(((value << 1) ^ (value >> 63)).cast_unsigned())
    }

    pub(super) fn double(value: f64) -> Self {
        WireValue::Fixed64(value.to_bits())
    }

    /// Returns whether it is the default of its type, which proto3 does not write; -0.0 is not.
    pub(super) fn is_default(&self) -> bool {
        match self {
            WireValue::Varint(value) | WireValue::Fixed64(value) => *value == 0,
            WireValue::Text(text) => text.is_empty(),
        }
    }

    fn wire_type(&self) -> u64 {
        match self {
            WireValue::Varint(_) => 0,
            WireValue::Fixed64(_) => 1,
            WireValue::Text(_) => LENGTH_DELIMITED,
        }
    }
}

/// Appends a varint: seven bits per byte, least significant first.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_encoding_guide() {
        let mut writer = Writer::default();
        writer.value(Some(1), &WireValue::Varint(150));
        writer.value(Some(2), &WireValue::Text("testing"));
        let start = writer.begin(6);
        for value in [3, 270, 86942] {
            writer.value(None, &WireValue::Varint(value));
        }
        writer.finish(start);
        let start = writer.begin(7);
        writer.discard(start);
        let expected = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(writer.into_bytes(), expected);
    }

    #[test]
    fn long_content_makes_room_for_its_length() {
        let mut writer = Writer::default();
        let start = writer.begin(1);
        writer.value(Some(1), &WireValue::Text(&"x".repeat(300)));
        writer.finish(start);
        let bytes = writer.into_bytes();
        assert_eq!(bytes[..6], [0x0a, 0xaf, 0x02, 0x0a, 0xac, 0x02]);
        assert_eq!(bytes.len(), 306);
    }

    #[test]
    fn zigzag_and_varints_at_their_edges() {
        let bytes = |value: &WireValue<'_>| {
            let mut writer = Writer::default();
            writer.value(None, value);
            writer.into_bytes()
        };
        assert_eq!(bytes(&WireValue::zigzag(0)), [0]);
        assert_eq!(bytes(&WireValue::zigzag(-1)), [1]);
        assert_eq!(bytes(&WireValue::zigzag(-64)), [0x7f]);
        assert_eq!(bytes(&WireValue::zigzag(64)), [0x80, 1]);
        for value in [i64::MIN, i64::MAX] {
            assert_eq!(bytes(&WireValue::zigzag(value)).len(), 10);
        }
        assert!(WireValue::double(0.0).is_default());
        assert!(!WireValue::double(-0.0).is_default());
    }
}
