//! Protobuf's wire format: <https://protobuf.dev/programming-guides/encoding/>.

/// Bytes written so far.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

/// A scalar in the form it has on the wire.
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed(u64),
    Text(&'a str),
}

/// What is begun and will be as long as what is written until it is closed.
#[derive(Clone, Copy)]
pub(super) struct Open {
    /// Before the tag.
    tag: usize,
    /// Behind the one byte kept free for the length.
    content: usize,
}

impl Writer {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Writes a value, behind a tag unless it shares that of its list.
    pub(super) fn value(&mut self, number: Option<u32>, value: &Wire<'_>) {
        if let Some(number) = number {
            self.tag(number, value.wire_type());
        }
        match value {
            Wire::Varint(value) => varint(&mut self.0, *value),
            Wire::Fixed(bits) => self.0.extend(bits.to_le_bytes()),
            Wire::Text(text) => {
                varint(&mut self.0, text.len() as u64);
                self.0.extend(text.as_bytes());
            }
        }
    }

    /// Begins a message or a list with one tag.
    pub(super) fn open(&mut self, number: u32) -> Open {
        let tag = self.0.len();
        self.tag(number, LENGTH_DELIMITED);
        self.0.push(0);
        Open {
            tag,
            content: self.0.len(),
        }
    }

    /// Ends it: the length goes before its content, which moves if one byte was too few.
    pub(super) fn close(&mut self, open: Open) {
        let mut length = Vec::new();
        varint(&mut length, (self.0.len() - open.content) as u64);
        self.0.splice(open.content - 1..open.content, length);
    }

    /// As if it had not been begun.
    pub(super) fn undo(&mut self, open: Open) {
        self.0.truncate(open.tag);
    }

    fn tag(&mut self, number: u32, wire_type: u64) {
        varint(&mut self.0, u64::from(number) << 3 | wire_type);
    }
}

impl Wire<'_> {
    pub(super) fn zigzag(value: i64) -> Self {
        Wire::Varint(((value << 1) ^ (value >> 63)).cast_unsigned())
    }

    pub(super) fn double(value: f64) -> Self {
        Wire::Fixed(value.to_bits())
    }

    /// Whether it is what its type has when nothing is sent; -0.0 is not.
    pub(super) fn is_default(&self) -> bool {
        match self {
            Wire::Varint(value) | Wire::Fixed(value) => *value == 0,
            Wire::Text(text) => text.is_empty(),
        }
    }

    fn wire_type(&self) -> u64 {
        match self {
            Wire::Varint(_) => 0,
            Wire::Fixed(_) => 1,
            Wire::Text(_) => LENGTH_DELIMITED,
        }
    }
}

/// Bytes the varint of a value has, seven bits in each.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

const LENGTH_DELIMITED: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_encoding_guide() {
        let mut writer = Writer::default();
        writer.value(Some(1), &Wire::Varint(150));
        writer.value(Some(2), &Wire::Text("testing"));
        let open = writer.open(6);
        for value in [3, 270, 86942] {
            writer.value(None, &Wire::Varint(value));
        }
        writer.close(open);
        let open = writer.open(7);
        writer.undo(open);
        let expected = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(writer.into_bytes(), expected);
    }

    #[test]
    fn a_long_content_makes_room_for_its_length() {
        let mut writer = Writer::default();
        let open = writer.open(1);
        writer.value(Some(1), &Wire::Text(&"x".repeat(300)));
        writer.close(open);
        let bytes = writer.into_bytes();
        assert_eq!(bytes[..6], [0x0a, 0xaf, 0x02, 0x0a, 0xac, 0x02]);
        assert_eq!(bytes.len(), 306);
    }
}
