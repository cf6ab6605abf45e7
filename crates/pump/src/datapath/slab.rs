//! Frames inside the model, in memory set aside beforehand.

/// A fixed number of frames of fixed room, handed out by index. The hot loop neither allocates
/// nor frees.
pub(crate) struct Slab {
    bytes: Vec<u8>,
    room: usize,
    frames: Vec<FrameMeta>,
    free: Vec<u32>,
}

/// What is known of a held frame beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameMeta {
    /// Length of the frame with its Ethernet header.
    pub(crate) len: usize,
    /// Its record in the tap.
    pub(crate) record: Option<RecordRef>,
    /// Length of its IP packet.
    pub(crate) ip_bytes: u32,
    /// `link::Transport` as an index into the totals.
    pub(crate) kind: u8,
}

/// A record of the tap, valid in the window it was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordRef {
    pub(crate) window: u32,
    pub(crate) index: u32,
}

impl Slab {
    pub(crate) fn new(frames: usize, room: usize) -> Slab {
        Slab {
            bytes: vec![0; frames * room],
            room,
            frames: vec![FrameMeta::default(); frames],
            free: (0..frames as u32).rev().collect(),
        }
    }

    /// How many frames it can hold.
    pub(crate) fn capacity(&self) -> usize {
        self.frames.len()
    }

    /// How many it holds.
    pub(crate) fn len(&self) -> usize {
        self.frames.len() - self.free.len()
    }

    /// Room for one more?
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Keeps a frame and returns the token by which the model knows it; `None` when full or
    /// when the frame is longer than the room.
    pub(crate) fn insert(&mut self, frame: &[u8], held: FrameMeta) -> Option<u64> {
        if frame.len() > self.room {
            return None;
        }
        let index = self.free.pop()? as usize;
        let start = index * self.room;
        self.bytes[start..start + frame.len()].copy_from_slice(frame);
        self.frames[index] = FrameMeta {
            len: frame.len(),
            ..held
        };
        Some(index as u64)
    }

    /// The bytes of a held frame, to be finished in place.
    pub(crate) fn bytes_mut(&mut self, token: u64) -> &mut [u8] {
        let start = token as usize * self.room;
        let len = self.frames[token as usize].len;
        &mut self.bytes[start..start + len]
    }

    /// The bytes of a held frame.
    pub(crate) fn bytes(&self, token: u64) -> &[u8] {
        let start = token as usize * self.room;
        &self.bytes[start..start + self.frames[token as usize].len]
    }

    /// What is known of a held frame.
    pub(crate) fn held(&self, token: u64) -> FrameMeta {
        self.frames[token as usize]
    }

    /// Gives a frame's place back.
    pub(crate) fn remove(&mut self, token: u64) {
        debug_assert!(self.free.len() < self.frames.len());
        self.free.push(token as u32);
    }

    /// The memory frames lie in, to be locked.
    pub(crate) fn memory(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_frames_apart_and_gives_places_back() {
        let mut slab = Slab::new(2, 8);
        let a = slab.insert(b"aaaa", FrameMeta::default()).unwrap();
        let b = slab
            .insert(
                b"bb",
                FrameMeta {
                    ip_bytes: 7,
                    ..FrameMeta::default()
                },
            )
            .unwrap();
        assert!(slab.is_full());
        assert_eq!(slab.insert(b"c", FrameMeta::default()), None);
        assert_eq!((slab.bytes(a), slab.bytes(b)), (&b"aaaa"[..], &b"bb"[..]));
        assert_eq!(slab.held(b).ip_bytes, 7);
        slab.remove(a);
        let c = slab.insert(b"c", FrameMeta::default()).unwrap();
        assert_eq!((slab.bytes(c), slab.bytes(b)), (&b"c"[..], &b"bb"[..]));
    }

    #[test]
    fn a_frame_too_long_is_refused_not_cut() {
        assert_eq!(Slab::new(1, 4).insert(b"aaaaa", FrameMeta::default()), None);
    }
}
