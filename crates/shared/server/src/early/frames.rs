//! Finds the starts of streams in the payload of a 0-RTT packet.

use std::collections::HashSet;

use bytes::Buf;

// Frame types, RFC 9000 section 19; DATAGRAM is RFC 9221.
const PADDING: u64 = 0x00;
const PING: u64 = 0x01;
const RESET_STREAM: u64 = 0x04;
const STOP_SENDING: u64 = 0x05;
const STREAM: u64 = 0x08;
const STREAM_LAST: u64 = 0x0f;
const STREAM_LEN: u64 = 0x02;
const STREAM_OFF: u64 = 0x04;
const MAX_DATA: u64 = 0x10;
const MAX_STREAM_DATA: u64 = 0x11;
const MAX_STREAMS_BIDI: u64 = 0x12;
const MAX_STREAMS_UNI: u64 = 0x13;
const DATA_BLOCKED: u64 = 0x14;
const STREAM_DATA_BLOCKED: u64 = 0x15;
const STREAMS_BLOCKED_BIDI: u64 = 0x16;
const STREAMS_BLOCKED_UNI: u64 = 0x17;
const NEW_CONNECTION_ID: u64 = 0x18;
const RETIRE_CONNECTION_ID: u64 = 0x19;
const PATH_CHALLENGE: u64 = 0x1a;
const DATAGRAM: u64 = 0x30;
const DATAGRAM_WITH_LENGTH: u64 = 0x31;
/// Bytes of a stateless reset token.
const RESET_TOKEN_BYTES: u64 = 16;
/// The low bits of a stream id; both are 0 on bidirectional streams opened by the client.
const CLIENT_BIDI_MASK: u64 = 0x03;

/// Records the client's bidirectional streams whose first byte is in this payload. Stops and
/// returns `None` at the first frame that is cut short or not allowed in a 0-RTT packet (RFC 9000
/// section 12.4). quinn closes the connection over either.
pub(super) fn record_stream_starts(mut frames: &[u8], streams: &mut HashSet<u64>) -> Option<()> {
    while frames.has_remaining() {
        match varint(&mut frames)? {
            PADDING | PING => {}
            RESET_STREAM => skip_varints(&mut frames, 3)?,
            STOP_SENDING | MAX_STREAM_DATA | STREAM_DATA_BLOCKED => skip_varints(&mut frames, 2)?,
            MAX_DATA | MAX_STREAMS_BIDI | MAX_STREAMS_UNI | DATA_BLOCKED | STREAMS_BLOCKED_BIDI
            | STREAMS_BLOCKED_UNI | RETIRE_CONNECTION_ID => skip_varints(&mut frames, 1)?,
            NEW_CONNECTION_ID => {
                skip_varints(&mut frames, 2)?;
                let id = frames.try_get_u8().ok()?;
                skip(&mut frames, u64::from(id) + RESET_TOKEN_BYTES)?;
            }
            PATH_CHALLENGE => skip(&mut frames, 8)?,
            DATAGRAM => return Some(()),
            DATAGRAM_WITH_LENGTH => {
                let len = varint(&mut frames)?;
                skip(&mut frames, len)?;
            }
            kind @ STREAM..=STREAM_LAST => {
                let stream = varint(&mut frames)?;
                let offset = if kind & STREAM_OFF == 0 {
                    0
                } else {
                    varint(&mut frames)?
                };
                if offset == 0 && stream & CLIENT_BIDI_MASK == 0 {
                    streams.insert(stream);
                }
                if kind & STREAM_LEN == 0 {
                    return Some(());
                }
                let len = varint(&mut frames)?;
                skip(&mut frames, len)?;
            }
            _ => return None,
        }
    }
    Some(())
}

fn skip_varints(frames: &mut &[u8], count: usize) -> Option<()> {
    (0..count).try_for_each(|_| varint(frames).map(drop))
}

fn skip(frames: &mut &[u8], len: u64) -> Option<()> {
    *frames = frames.get(usize::try_from(len).ok()?..)?;
    Some(())
}

/// Reads a variable-length integer, RFC 9000 section 16.
fn varint(frames: &mut &[u8]) -> Option<u64> {
    let len = 1 << (frames.first()? >> 6);
    let (bytes, rest) = frames.split_at_checked(len)?;
    *frames = rest;
    let first = u64::from(bytes[0] & 0x3f);
    Some(
        bytes[1..]
            .iter()
            .fold(first, |sum, byte| sum << 8 | u64::from(*byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream_starts(payload: &[u8]) -> (Vec<u64>, bool) {
        let mut streams = HashSet::new();
        let complete = record_stream_starts(payload, &mut streams).is_some();
        let mut streams: Vec<_> = streams.into_iter().collect();
        streams.sort_unstable();
        (streams, complete)
    }

    #[test]
    fn finds_starts_of_request_streams_only() {
        let payload = [
            &[0x00, 0x00, 0x01][..],               // PADDING, PING
            &[0x0a, 0x04, 0x02, b'h', b'i'],       // STREAM 4 with length, from 0
            &[0x0e, 0x08, 0x05, 0x01, b'x'],       // STREAM 8 from 5: not its start
            &[0x0a, 0x02, 0x01, b'c'],             // STREAM 2: unidirectional
            &[0x0f, 0x0c, 0x00, 0x00],             // STREAM 12, empty, with FIN, from 0
            &[0x10, 0x80, 0x01, 0x00, 0x00],       // MAX_DATA, four bytes
            &[0x18, 0x01, 0x00, 0x02, 0xaa, 0xbb], // NEW_CONNECTION_ID ...
            &[0x11; 16],                           // ... and its token
            &[0x31, 0x02, 0x08, 0x00],             // DATAGRAM whose content looks like a STREAM
            &[0x08, 0x40, 0x64, b'r', b'e', b's'], // STREAM 100 to the packet's end
        ];
        assert_eq!(stream_starts(&payload.concat()), (vec![4, 12, 100], true));
    }

    #[test]
    fn stops_at_a_forbidden_or_cut_frame() {
        // ACK is not allowed here; the STREAM after it is ignored.
        assert_eq!(
            stream_starts(&[0x0a, 0x00, 0x00, 0x02, 0x0a, 0x04, 0x00]),
            (vec![0], false)
        );
        // A length beyond the packet; a cut integer.
        assert_eq!(stream_starts(&[0x0a, 0x00, 0x09, 0x01]), (vec![0], false));
        assert_eq!(stream_starts(&[0x0a, 0xc0, 0x01]), (vec![], false));
        assert_eq!(stream_starts(&[]), (vec![], true));
    }
}
