//! The peer's unidirectional streams, before h3 sees them.
//!
//! h3 0.0.8 keeps every frame until its declared length has arrived, and does not report which streams a GOAWAY leaves
//! unprocessed. It ignores the pushes of a client and their IDs. The receiving half of each unidirectional stream therefore
//! follows the frames of the control stream itself.

use tokio::sync::watch;

use crate::qpack::Instructions;
use crate::refused::Refused;
use crate::varint::VarInt;

/// The unidirectional stream that consists of frames, RFC 9114 section 6.2.1. h3 reads no frames from pushes, which
/// nobody here allows.
const CONTROL_STREAM: u64 = 0x00;
const PUSH_STREAM: u64 = 0x01;
/// RFC 9204 section 4.2.
const ENCODER_STREAM: u64 = 0x02;
const DECODER_STREAM: u64 = 0x03;
/// RFC 9114 section 7.2.3.
const CANCEL_PUSH: u64 = 0x03;
/// RFC 9114 section 7.2.6.
const GOAWAY: u64 = 0x07;
/// RFC 9114 section 7.2.7.
const MAX_PUSH_ID: u64 = 0x0d;

/// The streams that the peer will not process.
///
/// A server's GOAWAY names the first of them (RFC 9114 section 5.2); it has done nothing for their requests.
#[derive(Clone, Debug)]
pub struct GoAway(watch::Receiver<Option<u64>>);

impl GoAway {
    pub(crate) fn of(sender: &Sender) -> Self {
        Self(sender.subscribe())
    }

    /// Reports whether the peer has said that it takes no more requests.
    pub fn has_come(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits until the peer says that it will not process this stream, or the connection has ended without that: false.
    pub async fn excludes_later(&mut self, stream: h3::quic::StreamId) -> bool {
        let id = stream.into_inner();
        let excluded = self
            .0
            .wait_for(|first| first.is_some_and(|first| first <= id));
        excluded.await.is_ok()
    }
}

/// Sends [`GoAway`] the ids in GOAWAY frames.
pub(crate) type Sender = watch::Sender<Option<u64>>;

pub(crate) fn channel() -> (Sender, GoAway) {
    let (sender, receiver) = watch::channel(None);
    (sender, GoAway(receiver))
}

/// Follows the frames of one unidirectional stream, chunk by chunk.
#[derive(Debug)]
pub(crate) struct Control {
    max_frame_bytes: u64,
    /// Whether the peer is a client, whose streams are checked further.
    is_of_client: bool,
    expected: Expected,
    varint: VarInt,
    go_away: Sender,
    /// The integers of a GOAWAY or MAX_PUSH_ID that has not arrived whole: how many, and the last one.
    ids: usize,
    last_id: u64,
    max_push_id: Option<u64>,
}

/// The use of a unidirectional stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// QPACK instructions of a client's encoder.
    Encoder,
    /// QPACK instructions of a client's decoder.
    Decoder,
    /// Any other stream, which is h3's.
    Other,
}

#[derive(Debug)]
enum Expected {
    StreamType,
    FrameType,
    Length {
        frame_type: u64,
    },
    Payload {
        frame_type: u64,
        missing_bytes: u64,
    },
    Instructions(Instructions),
    /// Bytes that are no frames.
    Unframed,
}

impl Control {
    /// Follows a stream whose frames have at most `max_frame_bytes`.
    pub(crate) fn new(max_frame_bytes: u64, go_away: Sender, is_of_client: bool) -> Self {
        Self {
            max_frame_bytes,
            is_of_client,
            expected: Expected::StreamType,
            varint: VarInt::default(),
            go_away,
            ids: 0,
            last_id: 0,
            max_push_id: None,
        }
    }

    /// Reports whether the peer is a client.
    pub(crate) fn is_of_client(&self) -> bool {
        self.is_of_client
    }

    /// Returns the use of the stream, once its type has come.
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self.expected {
            Expected::StreamType => None,
            Expected::Instructions(Instructions::Encoder) => Some(Kind::Encoder),
            Expected::Instructions(Instructions::Decoder { .. }) => Some(Kind::Decoder),
            _ => Some(Kind::Other),
        }
    }

    /// Checks the next bytes of the stream.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Refused> {
        while let Some((&byte, rest)) = bytes.split_first() {
            match &mut self.expected {
                Expected::Unframed => return Ok(()),
                Expected::Instructions(instructions) => return instructions.push(bytes),
                &mut Expected::Payload {
                    frame_type,
                    missing_bytes,
                } => {
                    let taken = usize::try_from(missing_bytes).unwrap_or(usize::MAX);
                    let (part, rest) = bytes.split_at(taken.min(bytes.len()));
                    bytes = rest;
                    self.payload(frame_type, part, missing_bytes)?;
                }
                Expected::StreamType | Expected::FrameType | Expected::Length { .. } => {
                    bytes = rest;
                    if let Some(value) = self.varint.push(byte) {
                        self.expected = self.after(value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns what follows an integer.
    fn after(&self, value: u64) -> Result<Expected, Refused> {
        Ok(match self.expected {
            Expected::StreamType if value == CONTROL_STREAM => Expected::FrameType,
            Expected::StreamType if self.is_of_client => match value {
                PUSH_STREAM => return Err(Refused::PushStream),
                ENCODER_STREAM => Expected::Instructions(Instructions::of_encoder()),
                DECODER_STREAM => Expected::Instructions(Instructions::of_decoder()),
                _ => Expected::Unframed,
            },
            Expected::FrameType => Expected::Length { frame_type: value },
            Expected::Length { .. } if value > self.max_frame_bytes => {
                return Err(Refused::FrameTooLong);
            }
            Expected::Length { .. } if value == 0 => Expected::FrameType,
            Expected::Length { frame_type } => Expected::Payload {
                frame_type,
                missing_bytes: value,
            },
            _ => Expected::Unframed,
        })
    }

    fn payload(&mut self, frame_type: u64, part: &[u8], missing_bytes: u64) -> Result<(), Refused> {
        if [GOAWAY, MAX_PUSH_ID].contains(&frame_type) {
            for byte in part {
                if let Some(id) = self.varint.push(*byte) {
                    (self.ids, self.last_id) = (self.ids + 1, id);
                }
            }
        }
        let missing_bytes = missing_bytes - part.len() as u64;
        self.expected = if missing_bytes == 0 {
            // Request streams are the client's bidirectional ones (RFC 9000 section 2.1). For everything else, and for
            // an id that is larger than an earlier one, h3 closes the connection.
            let is_whole = self.ids == 1 && !self.varint.is_begun();
            if frame_type == GOAWAY && is_whole && self.last_id.is_multiple_of(4) {
                self.go_away.send_replace(Some(self.last_id));
            }
            if self.is_of_client {
                self.check_push(frame_type, is_whole)?;
            }
            (self.ids, self.varint) = (0, VarInt::default());
            Expected::FrameType
        } else {
            Expected::Payload {
                frame_type,
                missing_bytes,
            }
        };
        Ok(())
    }

    /// Checks the push ID of a frame that has come to its end. No push is ever promised.
    fn check_push(&mut self, frame_type: u64, is_whole: bool) -> Result<(), Refused> {
        if frame_type == CANCEL_PUSH {
            return Err(Refused::PushId);
        }
        // h3 refuses a frame that is not one integer.
        if frame_type == MAX_PUSH_ID && is_whole {
            let reduced = self.max_push_id.replace(self.last_id) > Some(self.last_id);
            return if reduced {
                Err(Refused::PushId)
            } else {
                Ok(())
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 64 << 10;

    /// Returns what GOAWAY said last on a server's stream, in every split into two.
    fn follow(stream: &[u8]) -> Result<Option<u64>, Refused> {
        follow_of(false, stream)
    }

    fn follow_of(is_of_client: bool, stream: &[u8]) -> Result<Option<u64>, Refused> {
        let in_chunks = |chunks: [&[u8]; 2]| {
            let (sender, receiver) = channel();
            let mut control = Control::new(LIMIT, sender, is_of_client);
            chunks.iter().try_for_each(|chunk| control.push(chunk))?;
            let last = *receiver.0.borrow();
            Ok(last)
        };
        let whole = in_chunks([stream, &[]]);
        for at in 0..=stream.len() {
            assert_eq!(in_chunks(stream.split_at(at).into()), whole, "{at}");
        }
        whole
    }

    #[test]
    fn go_away_is_followed() {
        let settings = b"\x00\x04\x00\x21\x02\xff\xff";
        let with = |frames: &[u8]| follow(&[&settings[..], frames].concat());
        assert_eq!(with(b""), Ok(None));
        assert_eq!(with(b"\x07\x01\x08"), Ok(Some(8)));
        assert_eq!(with(b"\x07\x02\x7f\xfc\x07\x01\x04"), Ok(Some(4)));
        // Cut short, empty, in another frame, and on another stream.
        for frames in [&b"\x07\x02\x7f"[..], b"\x07\x00", b"\x21\x03\x07\x01\x08"] {
            assert_eq!(with(frames), Ok(None), "{frames:?}");
        }
        assert_eq!(follow(b"\x02\x07\x01\x08"), Ok(None));
        // Bytes behind the id, and ids of other streams.
        for frames in [
            &b"\x07\x02\x04\x7f"[..],
            b"\x07\x02\x04\x08",
            b"\x07\x01\x03",
            b"\x07\x01\x05",
        ] {
            assert_eq!(with(frames), Ok(None), "{frames:?}");
        }
        // What a frame lacks is not taken from the next one.
        assert_eq!(with(b"\x07\x01\x7f\x21\x00"), Ok(None));
    }

    #[test]
    fn pushes_of_clients_are_refused() {
        use Refused::{PushId, PushStream};
        let settings = b"\x00\x04\x00";
        let with = |frames: &[u8]| [&settings[..], frames].concat();
        for (stream, expected) in [
            (b"\x01\x00".to_vec(), Err(PushStream)),
            (with(b"\x03\x01\x00"), Err(PushId)),
            (with(b"\x0d\x01\x05\x0d\x01\x04"), Err(PushId)),
            (with(b"\x0d\x02\x41\x00\x0d\x01\x3f"), Err(PushId)),
            (with(b"\x0d\x01\x04\x0d\x01\x04\x0d\x02\x41\x00"), Ok(None)),
            // h3 refuses frames that are not one integer.
            (with(b"\x0d\x01\x05\x0d\x02\x04\x04"), Ok(None)),
            (with(b"\x0d\x01\x05\x07\x01\x04"), Ok(Some(4))),
            (b"\x02\x21".to_vec(), Err(Refused::EncoderInstruction)),
            (b"\x03\x80".to_vec(), Err(Refused::DecoderInstruction)),
            (b"\x21\x01".to_vec(), Ok(None)),
        ] {
            assert_eq!(follow_of(true, &stream), expected, "{stream:?}");
            // h3 checks what a server sends.
            assert!(follow(&stream).is_ok(), "{stream:?}");
        }
    }

    #[test]
    fn only_control_streams_consist_of_frames() {
        let bomb = b"\x04\x80\x01\x00\x01";
        for (stream_type, result) in [
            (0x00, Err(Refused::FrameTooLong)),
            (0x02, Ok(None)),
            (0x21, Ok(None)),
        ] {
            let stream = [&[stream_type][..], bomb].concat();
            assert_eq!(follow(&stream), result, "{stream_type:#x}");
        }
        let longest = [&b"\x00\x04\x80\x01\x00\x00"[..], &vec![7; 1 << 16]].concat();
        let (sender, _receiver) = channel();
        assert_eq!(Control::new(LIMIT, sender, false).push(&longest), Ok(()));
    }

    #[tokio::test]
    async fn excluded_streams_are_told() {
        let (sender, mut go_away) = channel();
        let stream = |id: u64| h3::quic::StreamId::try_from(id).expect("it fits");
        assert!(!go_away.has_come());
        sender.send_replace(Some(8));
        assert!(go_away.has_come() && go_away.excludes_later(stream(8)).await);
        drop(sender);
        assert!(
            go_away.excludes_later(stream(8)).await && !go_away.excludes_later(stream(4)).await
        );
    }
}
