//! The frames of a request or a response, before h3 sees them.
//!
//! h3 0.0.8 ends a body at a DATA frame without bytes and keeps every other frame until its declared length has
//! arrived. It does not check where pseudo-fields are, and closes the whole connection where a single message is at
//! fault. The receiving half of each such stream therefore follows the frames itself. Empty DATA frames (RFC 9114
//! section 7.2.1) are dropped, long frames and malformed messages are refused.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::refused::Refused;
use crate::section::{self, Kind};
use crate::varint::VarInt;

/// Frame types, RFC 9114 section 7.2.
const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;
/// Frames that belong to the control stream or are reserved because HTTP/2 had them (RFC 9114 sections 7.2 and 11.2.1).
/// Pushes are refused, too: nobody here allows them.
const UNEXPECTED: [u64; 9] = [0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0d];
/// Opens a WebTransport stream: no frame follows (draft-ietf-webtrans-http3). h3 refuses it.
const WEBTRANSPORT_STREAM: u64 = 0x41;

/// Follows the frames of one stream, chunk by chunk.
#[derive(Debug)]
pub(crate) struct Messages {
    is_response: bool,
    max_frame_bytes: u64,
    expected: Expected,
    stage: Stage,
    varint: VarInt,
    /// The header of a frame that has not arrived whole.
    header: Vec<u8>,
    /// The field section that has not arrived whole.
    section: Vec<u8>,
}

#[derive(Debug)]
enum Expected {
    FrameType,
    Length {
        frame_type: u64,
    },
    Payload {
        frame_type: u64,
        missing_bytes: u64,
    },
    /// Bytes that are no frames.
    Unframed,
}

/// What has come of the message.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Nothing,
    Head,
    Trailers,
}

impl Messages {
    /// Follows a response, or else a request, whose frames other than DATA have at most `max_frame_bytes`.
    pub(crate) fn new(is_response: bool, max_frame_bytes: u64) -> Self {
        Self {
            is_response,
            max_frame_bytes,
            expected: Expected::FrameType,
            stage: Stage::Nothing,
            varint: VarInt::default(),
            header: Vec::new(),
            section: Vec::new(),
        }
    }

    /// Takes the next bytes of the stream, and appends what h3 is to see.
    pub(crate) fn push(
        &mut self,
        chunk: &Bytes,
        seen: &mut VecDeque<Bytes>,
    ) -> Result<(), Refused> {
        // What is before `passed` is seen or dropped; the header of the frame that begins in this chunk is at `header`.
        let (mut at, mut passed, mut header) = (0, 0, 0);
        while at < chunk.len() {
            match self.expected {
                Expected::Unframed => at = chunk.len(),
                Expected::Payload {
                    frame_type,
                    missing_bytes,
                } => {
                    let rest = &chunk[at..];
                    let taken = rest.len().min(clamp(missing_bytes));
                    self.payload(frame_type, &rest[..taken], missing_bytes)?;
                    at += taken;
                    header = at;
                }
                Expected::FrameType | Expected::Length { .. } => {
                    let value = self.varint.push(chunk[at]);
                    at += 1;
                    let Some(value) = value else { continue };
                    let Expected::Length { frame_type } = self.expected else {
                        self.expected = self.frame(value)?;
                        if matches!(self.expected, Expected::Unframed) {
                            push(seen, std::mem::take(&mut self.header).into());
                        }
                        continue;
                    };
                    let begun = std::mem::take(&mut self.header);
                    if frame_type == DATA && value == 0 {
                        push(seen, chunk.slice(passed..header));
                        passed = at;
                    } else {
                        push(seen, begun.into());
                    }
                    self.length(frame_type, value)?;
                    header = at;
                }
            }
        }
        let in_header = matches!(self.expected, Expected::Length { .. })
            || self.varint.is_begun() && matches!(self.expected, Expected::FrameType);
        if in_header {
            self.header.extend_from_slice(&chunk[header..]);
            push(seen, chunk.slice(passed..header));
        } else {
            push(seen, chunk.slice(passed..));
        }
        Ok(())
    }

    /// Checks whether the stream may end here.
    pub(crate) fn end(&self) -> Result<(), Refused> {
        match self.expected {
            Expected::FrameType if self.header.is_empty() => {}
            Expected::Unframed => return Ok(()),
            _ => return Err(Refused::IncompleteFrame),
        }
        // h3 says what a request without a head is.
        if self.is_response && self.stage == Stage::Nothing {
            return Err(Refused::NoResponse);
        }
        Ok(())
    }

    /// Checks whether a frame may be here.
    fn frame(&self, frame_type: u64) -> Result<Expected, Refused> {
        match (frame_type, &self.stage) {
            (WEBTRANSPORT_STREAM, _) => return Ok(Expected::Unframed),
            (DATA, Stage::Nothing | Stage::Trailers) | (HEADERS, Stage::Trailers) => {
                return Err(Refused::UnexpectedFrame);
            }
            (other, _) if UNEXPECTED.contains(&other) => return Err(Refused::UnexpectedFrame),
            _ => {}
        }
        Ok(Expected::Length { frame_type })
    }

    /// Begins the payload of a frame.
    fn length(&mut self, frame_type: u64, length: u64) -> Result<(), Refused> {
        if frame_type != DATA && length > self.max_frame_bytes {
            return Err(Refused::FrameTooLong);
        }
        self.expected = Expected::Payload {
            frame_type,
            missing_bytes: length,
        };
        if length == 0 {
            self.payload(frame_type, &[], 0)?;
        }
        Ok(())
    }

    /// Takes a part of a payload that had `missing_bytes` left before.
    fn payload(&mut self, frame_type: u64, part: &[u8], missing_bytes: u64) -> Result<(), Refused> {
        let missing_bytes = missing_bytes - part.len() as u64;
        if missing_bytes > 0 {
            if frame_type == HEADERS {
                self.section.extend_from_slice(part);
            }
            self.expected = Expected::Payload {
                frame_type,
                missing_bytes,
            };
            return Ok(());
        }
        self.expected = Expected::FrameType;
        if frame_type != HEADERS {
            return Ok(());
        }
        if self.section.is_empty() {
            return self.fields(part);
        }
        let mut section = std::mem::take(&mut self.section);
        section.extend_from_slice(part);
        self.fields(&section)
    }

    /// Examines a field section.
    fn fields(&mut self, section: &[u8]) -> Result<(), Refused> {
        let kind = match self.stage {
            Stage::Nothing if self.is_response => Kind::ResponseHead,
            Stage::Nothing => Kind::RequestHead,
            _ => Kind::Trailers,
        };
        let interim = section::check(section, kind)?;
        match kind {
            Kind::ResponseHead if interim => {}
            Kind::RequestHead | Kind::ResponseHead => self.stage = Stage::Head,
            Kind::Trailers => self.stage = Stage::Trailers,
        }
        Ok(())
    }
}

fn push(seen: &mut VecDeque<Bytes>, bytes: Bytes) {
    if !bytes.is_empty() {
        seen.push_back(bytes);
    }
}

fn clamp(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 64 << 10;
    /// Frames with `:status: 200`, `:status: 103` and the trailer `a: b`; the head of a GET.
    const HEAD: &[u8] = b"\x01\x03\x00\x00\xd9";
    const INTERIM: &[u8] = b"\x01\x03\x00\x00\xd8";
    const TRAILERS: &[u8] = b"\x01\x06\x00\x00\x21a\x01b";
    const REQUEST: &[u8] = b"\x01\x06\x00\x00\xd1\xd7\xc1\xc0";
    const HELLO: &[u8] = b"\x00\x05hello";
    const EMPTY: &[u8] = b"\x00\x00";
    /// The same with the longest forms of type and length.
    const LONG_EMPTY: &[u8] = b"\xc0\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0";
    const UNKNOWN: &[u8] = b"\x21\x03\x00\x00\x00";

    /// Returns what h3 sees of a stream, or why it is refused, in every split into two and byte by byte.
    fn follow(is_response: bool, stream: &[u8]) -> Result<Vec<u8>, Refused> {
        let in_chunks = |chunks: &[&[u8]]| {
            let mut messages = Messages::new(is_response, LIMIT);
            let mut seen = VecDeque::new();
            for chunk in chunks {
                messages.push(&Bytes::copy_from_slice(chunk), &mut seen)?;
            }
            messages.end()?;
            assert!(seen.iter().all(|bytes| !bytes.is_empty()));
            Ok(seen.into_iter().flatten().collect())
        };
        let whole = in_chunks(&[stream]);
        for at in 0..=stream.len() {
            let (first, second) = stream.split_at(at);
            assert_eq!(in_chunks(&[first, second]), whole, "split at {at}");
        }
        let bytes: Vec<_> = stream.chunks(1).collect();
        assert_eq!(in_chunks(&bytes), whole);
        whole
    }

    fn response(frames: &[&[u8]]) -> Result<Vec<u8>, Refused> {
        follow(true, &frames.concat())
    }

    #[test]
    fn empty_data_is_dropped_wherever_it_is() {
        for empty in [EMPTY, LONG_EMPTY] {
            let frames = [
                HEAD, empty, HELLO, empty, empty, UNKNOWN, HELLO, empty, TRAILERS,
            ];
            let rest = [HEAD, HELLO, UNKNOWN, HELLO, TRAILERS];
            assert_eq!(response(&frames), Ok(rest.concat()));
            assert_eq!(response(&[HEAD, empty]), Ok(HEAD.to_vec()));
            let request = [REQUEST, empty, HELLO, empty].concat();
            assert_eq!(follow(false, &request), Ok([REQUEST, HELLO].concat()));
        }
        // Data that looks like an empty frame.
        let data = [HEAD, b"\x00\x04\x00\x00\x00\x00"].concat();
        assert_eq!(response(&[&data]), Ok(data));
    }

    #[test]
    fn whole_messages_are_left_as_they_are() {
        for frames in [
            &[HEAD][..],
            &[INTERIM, INTERIM, HEAD],
            &[UNKNOWN, HEAD, UNKNOWN, HELLO, UNKNOWN, TRAILERS, UNKNOWN],
            &[HEAD, TRAILERS],
            // An empty frame of another type, and WebTransport's, which h3 refuses.
            &[HEAD, b"\x21\x00", HELLO],
            &[b"\x40\x41\x00\x01\x80"],
        ] {
            assert_eq!(response(frames), Ok(frames.concat()), "{frames:?}");
        }
    }

    #[test]
    fn frames_out_of_place_are_refused() {
        for frames in [
            &[HELLO][..],
            &[EMPTY, HEAD],
            &[INTERIM, HELLO],
            &[HEAD, TRAILERS, HELLO],
            &[HEAD, TRAILERS, EMPTY],
            &[HEAD, TRAILERS, TRAILERS],
        ] {
            let refused = response(frames);
            assert_eq!(refused, Err(Refused::UnexpectedFrame), "{frames:?}");
        }
        for frame_type in UNEXPECTED {
            let frame = [u8::try_from(frame_type).expect("below 64"), 0];
            for frames in [&[HEAD, &frame][..], &[&frame]] {
                assert_eq!(response(frames), Err(Refused::UnexpectedFrame));
            }
        }
    }

    #[test]
    fn pseudo_fields_out_of_place_are_refused() {
        let pseudo_trailers: &[u8] = b"\x01\x03\x00\x00\xd9";
        for frames in [
            &[TRAILERS][..],
            &[HEAD, HEAD],
            &[HEAD, HELLO, pseudo_trailers],
            &[HEAD, INTERIM],
        ] {
            assert_eq!(response(frames), Err(Refused::PseudoField), "{frames:?}");
        }
        let request = [REQUEST, HELLO, pseudo_trailers].concat();
        assert_eq!(follow(false, &request), Err(Refused::PseudoField));
    }

    #[test]
    fn a_response_that_ends_early_is_refused() {
        use Refused::{IncompleteFrame, NoResponse};
        assert_eq!(response(&[]), Err(NoResponse));
        assert_eq!(response(&[INTERIM]), Err(NoResponse));
        // A type in two bytes may be cut short, too.
        let long_type: &[u8] = b"\x40\x21\x00";
        let stream = [HEAD, HELLO, long_type, TRAILERS].concat();
        let frames = [HEAD, HELLO, long_type];
        let ends = frames.iter().scan(0, |end, frame| {
            *end += frame.len();
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        for at in 1..stream.len() {
            let expected = match ends.contains(&at) {
                true => Ok(stream[..at].to_vec()),
                false => Err(IncompleteFrame),
            };
            assert_eq!(follow(true, &stream[..at]), expected, "{at}");
        }
        // h3 says what a request without a head is.
        assert_eq!(follow(false, &[]), Ok(Vec::new()));
    }

    #[test]
    fn only_data_may_be_long() {
        let too_long = [0x80, 0x01, 0x00, 0x01];
        for frame_type in [&[0x01][..], &[0x21], &[0xc0, 0, 0, 0, 0, 0, 1, 0]] {
            for length in [&too_long[..], &[0xff; 8]] {
                let frames = [HEAD, frame_type, length];
                assert_eq!(response(&frames), Err(Refused::FrameTooLong));
            }
        }
        let longest = [&[0x21, 0x80, 0x01, 0x00, 0x00][..], &vec![7; 1 << 16]].concat();
        let mut messages = Messages::new(true, LIMIT);
        let mut seen = VecDeque::new();
        assert_eq!(messages.push(&longest.into(), &mut seen), Ok(()));
        let long_data = [HEAD, &[0x00], &[0xff; 8]].concat();
        let mut messages = Messages::new(true, LIMIT);
        assert_eq!(messages.push(&long_data.into(), &mut seen), Ok(()));
    }
}
