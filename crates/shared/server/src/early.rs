//! Finds the requests that arrived as early data: those whose first byte was in a 0-RTT packet.
//!
//! quinn reports whether the handshake was still in progress when a stream was *accepted*. On a
//! busy server that can be later than when it arrived. But the server provides the keys of 0-RTT
//! packets, so it can read what they decrypt.

mod frames;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::BytesMut;
use quinn::crypto::{CryptoError, PacketKey};

use self::frames::record_stream_starts;

/// The request streams of one connection that began in 0-RTT packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlyStreams(Arc<Mutex<HashSet<u64>>>);

impl EarlyStreams {
    /// Returns whether this stream did.
    pub(crate) fn contains(&self, stream: u64) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&stream)
    }

    /// Wraps a 0-RTT key so that it records the streams that begin in what it decrypts.
    pub(crate) fn recording_key(&self, key: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
        Box::new(RecordingKey {
            key,
            streams: self.clone(),
        })
    }
}

struct RecordingKey {
    key: Box<dyn PacketKey>,
    streams: EarlyStreams,
}

impl PacketKey for RecordingKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        self.key.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.key.decrypt(packet, header, payload)?;
        // Authenticated, so it comes from the client; quinn validates the frames next.
        let mut streams = self
            .streams
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        record_stream_starts(payload, &mut streams);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}
