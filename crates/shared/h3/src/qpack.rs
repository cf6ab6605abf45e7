//! Streams of QPACK instructions (RFC 9204 sections 4.3 and 4.4), where no side uses the dynamic table.
//!
//! h3 0.0.8 offers no dynamic table and uses none of its peer. It accepts these streams and reads nothing of them.

use crate::refused::Refused;

/// Sets the table's capacity to 0, the only one that is offered.
const SET_CAPACITY_0: u8 = 0b0010_0000;
/// The most bytes of an integer of 62 bits after its prefix.
const MAX_INTEGER_BYTES: u8 = 9;

/// Follows the instructions of one stream.
#[derive(Debug)]
pub(crate) enum Instructions {
    /// Those of an encoder.
    Encoder,
    /// Those of a decoder, which may cancel streams.
    Decoder {
        /// How many bytes of a stream ID have come after its prefix; none between instructions.
        id_bytes: Option<u8>,
    },
}

impl Instructions {
    /// Begins a stream of an encoder.
    pub(crate) fn of_encoder() -> Self {
        Self::Encoder
    }

    /// Begins a stream of a decoder.
    pub(crate) fn of_decoder() -> Self {
        Self::Decoder { id_bytes: None }
    }

    /// Checks the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        match self {
            Self::Encoder => match bytes.iter().all(|byte| *byte == SET_CAPACITY_0) {
                true => Ok(()),
                false => Err(Refused::EncoderInstruction),
            },
            Self::Decoder { id_bytes } => bytes.iter().try_for_each(|byte| {
                *id_bytes = after(*id_bytes, *byte)?;
                Ok(())
            }),
        }
    }
}

/// Takes a byte of a decoder's stream. Returns how many bytes of a stream ID have come after its prefix.
fn after(id_bytes: Option<u8>, byte: u8) -> Result<Option<u8>, Refused> {
    match (id_bytes, byte) {
        // Stream Cancellation; the ID fits its prefix unless all bits are set.
        (None, 0b0111_1111) => Ok(Some(0)),
        (None, 0b0100_0000..=0b0111_1110) => Ok(None),
        (Some(_), ..0x80) => Ok(None),
        (Some(bytes), _) if bytes + 1 < MAX_INTEGER_BYTES => Ok(Some(bytes + 1)),
        // Section Acknowledgment and Insert Count Increment are about entries of the dynamic table.
        _ => Err(Refused::DecoderInstruction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether instructions are accepted, in every split into two.
    fn follow(new: fn() -> Instructions, bytes: &[u8]) -> Result<(), Refused> {
        let in_two = |at: usize| {
            let mut instructions = new();
            let (first, second) = bytes.split_at(at);
            instructions.push(first)?;
            instructions.push(second)
        };
        for at in 0..bytes.len() {
            assert_eq!(in_two(at), in_two(bytes.len()), "{at}");
        }
        in_two(bytes.len())
    }

    #[test]
    fn an_encoder_may_only_offer_no_table() {
        for (bytes, is_allowed) in [
            (&b""[..], true),
            (b"\x20", true),
            (b"\x20\x20", true),
            (b"\x21", false),
            (b"\x3f\x00", false),
            // An insertion with a name of the static table, one with a literal name, a duplicate.
            (b"\xc0\x01a", false),
            (b"\x41a\x01b", false),
            (b"\x00", false),
        ] {
            let expected = match is_allowed {
                true => Ok(()),
                false => Err(Refused::EncoderInstruction),
            };
            assert_eq!(
                follow(Instructions::of_encoder, bytes),
                expected,
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_decoder_may_only_cancel_streams() {
        let endless = [&[0x7f][..], &[0xff; 9]].concat();
        let longest = [&[0x7f][..], &[0xff; 8], &[0x7f]].concat();
        for (bytes, is_allowed) in [
            (&b""[..], true),
            (b"\x40\x7e", true),
            (b"\x7f\x85\x01\x44", true),
            (&longest, true),
            (&endless, false),
            (b"\x80", false),
            (b"\x44\xff", false),
            (b"\x00", false),
            (b"\x01", false),
            (b"\x7f\x00\x01", false),
        ] {
            let expected = match is_allowed {
                true => Ok(()),
                false => Err(Refused::DecoderInstruction),
            };
            assert_eq!(
                follow(Instructions::of_decoder, bytes),
                expected,
                "{bytes:?}"
            );
        }
    }
}
