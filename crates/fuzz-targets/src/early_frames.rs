use std::collections::HashSet;

// What is `pub(super)` in it is visible here.
#[path = "../../shared/server/src/early/frames.rs"]
mod frames;

/// Reads the frames in the decrypted payload of a 0-RTT packet.
pub fn early_frames(data: &[u8]) {
    frames::record_stream_starts(data, &mut HashSet::new());
}
