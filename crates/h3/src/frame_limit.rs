//! Refuses frames that are too long, as soon as their headers have arrived.
//!
//! h3 0.0.8 keeps every frame except DATA until its declared length has arrived, unknown ones too,
//! and scans what it has at each packet: a frame of a declared gigabyte would take that much
//! memory, and time in proportion to its square. Its `max_field_section_size` applies only to
//! frames that have arrived. Therefore the receiving half of each stream follows the frame headers
//! itself.

/// The longest frame that is accepted, other than DATA, bytes. h3 refuses requests whose heads are
/// longer than its `max_field_section_size` one by one; this is far above what servers commonly
/// set (8 to 16 KiB), so that a head somewhat too long does not cost the whole connection.
pub(crate) const MAX_FRAME_BYTES: u64 = 64 << 10;

/// Frame types, RFC 9114 section 7.2.
const DATA: u64 = 0x00;
/// Opens a WebTransport stream: no frame follows (draft-ietf-webtrans-http3). h3 refuses it.
const WEBTRANSPORT_STREAM: u64 = 0x41;
/// The unidirectional stream that consists of frames, RFC 9114 section 6.2.1. h3 reads no frames
/// from pushes, which nobody here allows.
const CONTROL_STREAM: u64 = 0x00;

/// Follows the frame headers of one stream, chunk by chunk.
#[derive(Debug)]
pub(crate) struct FrameLimit {
    expected: Expected,
    varint: VarInt,
}

/// A frame declares more than [`MAX_FRAME_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrameTooLong;

#[derive(Debug)]
enum Expected {
    /// The type of a unidirectional stream.
    StreamType,
    FrameType,
    Length {
        frame_type: u64,
    },
    Payload {
        missing_bytes: u64,
    },
    /// Bytes that are no frames.
    Unframed,
}

impl FrameLimit {
    /// For a bidirectional stream, which begins with a frame.
    pub(crate) fn bidirectional() -> Self {
        Self::expecting(Expected::FrameType)
    }

    /// For a unidirectional stream, which begins with its type.
    pub(crate) fn unidirectional() -> Self {
        Self::expecting(Expected::StreamType)
    }

    fn expecting(expected: Expected) -> Self {
        Self {
            expected,
            varint: VarInt::default(),
        }
    }

    /// Checks the next bytes of the stream.
    pub(crate) fn check(&mut self, mut bytes: &[u8]) -> Result<(), FrameTooLong> {
        loop {
            self.expected = match self.expected {
                Expected::Unframed => return Ok(()),
                Expected::Payload { missing_bytes } if missing_bytes > bytes.len() as u64 => {
                    let missing_bytes = missing_bytes - bytes.len() as u64;
                    self.expected = Expected::Payload { missing_bytes };
                    return Ok(());
                }
                Expected::Payload { missing_bytes } => {
                    bytes = &bytes[missing_bytes as usize..];
                    Expected::FrameType
                }
                Expected::StreamType | Expected::FrameType | Expected::Length { .. } => {
                    let Some(value) = self.varint.read(&mut bytes) else {
                        return Ok(());
                    };
                    self.after(value)?
                }
            };
        }
    }

    /// Returns what follows an integer.
    fn after(&self, value: u64) -> Result<Expected, FrameTooLong> {
        Ok(match self.expected {
            Expected::StreamType if value == CONTROL_STREAM => Expected::FrameType,
            Expected::FrameType if value != WEBTRANSPORT_STREAM => {
                Expected::Length { frame_type: value }
            }
            Expected::Length { frame_type } if frame_type != DATA && value > MAX_FRAME_BYTES => {
                return Err(FrameTooLong);
            }
            Expected::Length { .. } => Expected::Payload {
                missing_bytes: value,
            },
            _ => Expected::Unframed,
        })
    }
}

/// A variable-length integer (RFC 9000 section 16) that may arrive in parts.
#[derive(Debug, Default)]
struct VarInt {
    value: u64,
    missing_bytes: u8,
}

impl VarInt {
    /// Returns the integer once it is complete.
    fn read(&mut self, bytes: &mut &[u8]) -> Option<u64> {
        while let Some((&byte, rest)) = bytes.split_first() {
            *bytes = rest;
            if self.missing_bytes == 0 {
                self.value = u64::from(byte & 0x3f);
                self.missing_bytes = 1 << (byte >> 6);
            } else {
                self.value = self.value << 8 | u64::from(byte);
            }
            self.missing_bytes -= 1;
            if self.missing_bytes == 0 {
                return Some(self.value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest frame allowed, and a byte more, as integers of four bytes.
    const LONGEST: [u8; 4] = [0x80, 0x01, 0x00, 0x00];
    const TOO_LONG: [u8; 4] = [0x80, 0x01, 0x00, 0x01];
    /// The largest integer.
    const HUGE: [u8; 8] = [0xff; 8];

    fn frame(frame_type: &[u8], length: &[u8]) -> Vec<u8> {
        [frame_type, length].concat()
    }

    /// Checks these bytes in every split into two, and byte by byte.
    fn check(new: fn() -> FrameLimit, bytes: &[u8]) -> Result<(), FrameTooLong> {
        let mut whole = new();
        let result = whole.check(bytes);
        for at in 0..=bytes.len() {
            let mut halves = new();
            let (first, second) = bytes.split_at(at);
            let halves = halves.check(first).and_then(|()| halves.check(second));
            assert_eq!(halves, result, "split at {at}");
        }
        let mut limit = new();
        let single = bytes.iter().try_for_each(|byte| limit.check(&[*byte]));
        assert_eq!(single, result);
        result
    }

    #[test]
    fn only_data_may_be_long() {
        let bidirectional = FrameLimit::bidirectional;
        for frame_type in [
            &[0x01][..],
            &[0x04],
            &[0x05],
            &[0x21],
            &[0xc0, 0, 0, 0, 0, 0, 1, 0],
        ] {
            assert_eq!(check(bidirectional, &frame(frame_type, &LONGEST)), Ok(()));
            for length in [&TOO_LONG[..], &HUGE] {
                let frame = frame(frame_type, length);
                assert_eq!(check(bidirectional, &frame), Err(FrameTooLong), "{frame:?}");
            }
        }
        assert_eq!(check(bidirectional, &frame(&[DATA as u8], &HUGE)), Ok(()));
    }

    #[test]
    fn follows_frames_over_payloads() {
        let short = [
            &[0x01, 0x02, 0xff, 0xff][..],
            &[0x00, 0x00],
            &[0x21, 0x01, 0x01],
        ]
        .concat();
        let bidirectional = FrameLimit::bidirectional;
        assert_eq!(check(bidirectional, &short.repeat(2)), Ok(()));
        let bomb = [short, frame(&[0x01], &TOO_LONG)].concat();
        assert_eq!(check(bidirectional, &bomb), Err(FrameTooLong));
        // A DATA frame whose content looks like a bomb.
        let data = [&[0x00, 0x05][..], &frame(&[0x01], &TOO_LONG)].concat();
        assert_eq!(check(bidirectional, &data), Ok(()));
    }

    #[test]
    fn only_control_streams_consist_of_frames() {
        let unidirectional = FrameLimit::unidirectional;
        let bomb = frame(&[0x04], &TOO_LONG);
        for (stream_type, result) in [(0x00, Err(FrameTooLong)), (0x02, Ok(())), (0x21, Ok(()))] {
            let stream = [&[stream_type][..], &bomb].concat();
            assert_eq!(check(unidirectional, &stream), result, "{stream_type:#x}");
        }
        let webtransport = [&[0x40, 0x41, 0x00][..], &bomb].concat();
        assert_eq!(check(FrameLimit::bidirectional, &webtransport), Ok(()));
    }
}
