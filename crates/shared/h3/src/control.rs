//! The peer's control stream, before h3 sees it.
//!
//! h3 0.0.8 keeps every frame until its declared length has arrived, and does not report which streams a GOAWAY leaves
//! unprocessed. The receiving half of each unidirectional stream therefore follows the frames of the control stream
//! itself.

use tokio::sync::watch;

use crate::refused::Refused;
use crate::varint::VarInt;

/// The unidirectional stream that consists of frames, RFC 9114 section 6.2.1. h3 reads no frames from pushes, which
/// nobody here allows.
const CONTROL_STREAM: u64 = 0x00;
/// RFC 9114 section 7.2.6.
const GOAWAY: u64 = 0x07;

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
    expected: Expected,
    varint: VarInt,
    go_away: Sender,
    /// The integers of a GOAWAY that has not arrived whole: how many, and the last one.
    ids: usize,
    last_id: u64,
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
    /// Bytes that are no frames.
    Unframed,
}

impl Control {
    /// Follows a stream whose frames have at most `max_frame_bytes`.
    pub(crate) fn new(max_frame_bytes: u64, go_away: Sender) -> Self {
        Self {
            max_frame_bytes,
            expected: Expected::StreamType,
            varint: VarInt::default(),
            go_away,
            ids: 0,
            last_id: 0,
        }
    }

    /// Checks the next bytes of the stream.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), Refused> {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.expected {
                Expected::Unframed => return Ok(()),
                Expected::Payload {
                    frame_type,
                    missing_bytes,
                } => {
                    let taken = usize::try_from(missing_bytes).unwrap_or(usize::MAX);
                    let (part, rest) = bytes.split_at(taken.min(bytes.len()));
                    bytes = rest;
                    self.payload(frame_type, part, missing_bytes);
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

    fn payload(&mut self, frame_type: u64, part: &[u8], missing_bytes: u64) {
        if frame_type == GOAWAY {
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
            if is_whole && self.last_id.is_multiple_of(4) {
                self.go_away.send_replace(Some(self.last_id));
            }
            (self.ids, self.varint) = (0, VarInt::default());
            Expected::FrameType
        } else {
            Expected::Payload {
                frame_type,
                missing_bytes,
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 64 << 10;

    /// Returns what GOAWAY said last, in every split into two.
    fn follow(stream: &[u8]) -> Result<Option<u64>, Refused> {
        let in_chunks = |chunks: [&[u8]; 2]| {
            let (sender, receiver) = channel();
            let mut control = Control::new(LIMIT, sender);
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
        assert_eq!(Control::new(LIMIT, sender).push(&longest), Ok(()));
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
