//! Storage for the frames inside the model, allocated up front.

/// A fixed number of slots of fixed size, addressed by token. The hot loop neither allocates nor
/// frees.
pub(crate) struct Slab {
    bytes: Vec<u8>,
    slot_len: usize,
    frames: Vec<FrameMeta>,
    free: Vec<u32>,
}

/// A stored frame's data beside its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameMeta {
    /// Length of the frame with its Ethernet header; set by [`Slab::insert`].
    pub(crate) len: usize,
    /// Its tap record; `None` when the tap was full.
    pub(crate) record: Option<RecordRef>,
    /// Length of its IP packet.
    pub(crate) ip_bytes: u32,
    /// Its place in the ledger's counts.
    pub(crate) class: usize,
    /// Port of the client that the NAT sends it to; `None` without a mapping.
    pub(crate) client_port: Option<u16>,
}

/// Refers to a tap record; valid in the window that it was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordRef {
    pub(crate) window: u32,
    pub(crate) index: u32,
}

impl Slab {
    pub(crate) fn new(slots: usize, slot_len: usize) -> Slab {
        Slab {
            bytes: vec![0; slots * slot_len],
            slot_len,
            frames: vec![FrameMeta::default(); slots],
            free: (0..slots as u32).rev().collect(),
        }
    }

    /// Returns the number of slots.
    pub(crate) fn capacity(&self) -> usize {
        self.frames.len()
    }

    /// Returns the number of stored frames.
    pub(crate) fn len(&self) -> usize {
        self.frames.len() - self.free.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Stores a frame and returns the token by which the model knows it; `None` when the slab is
    /// full or the frame is longer than a slot.
    pub(crate) fn insert(&mut self, frame: &[u8], meta: FrameMeta) -> Option<u64> {
        if frame.len() > self.slot_len {
            return None;
        }
        let index = self.free.pop()? as usize;
        let start = index * self.slot_len;
        self.bytes[start..start + frame.len()].copy_from_slice(frame);
        self.frames[index] = FrameMeta {
            len: frame.len(),
            ..meta
        };
        Some(index as u64)
    }

    pub(crate) fn bytes_mut(&mut self, token: u64) -> &mut [u8] {
        let start = token as usize * self.slot_len;
        let len = self.frames[token as usize].len;
        &mut self.bytes[start..start + len]
    }

    pub(crate) fn bytes(&self, token: u64) -> &[u8] {
        let start = token as usize * self.slot_len;
        &self.bytes[start..start + self.frames[token as usize].len]
    }

    pub(crate) fn meta(&self, token: u64) -> FrameMeta {
        self.frames[token as usize]
    }

    /// Frees a frame's slot.
    pub(crate) fn remove(&mut self, token: u64) {
        debug_assert!(self.free.len() < self.frames.len());
        self.free.push(token as u32);
    }

    /// Returns the memory of all slots, to be locked.
    pub(crate) fn memory(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_apart_and_slots_are_reused() {
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
        assert_eq!(slab.meta(b).ip_bytes, 7);
        slab.remove(a);
        let c = slab.insert(b"c", FrameMeta::default()).unwrap();
        assert_eq!((slab.bytes(c), slab.bytes(b)), (&b"c"[..], &b"bb"[..]));
    }

    #[test]
    fn oversize_frame_is_refused() {
        assert_eq!(Slab::new(1, 4).insert(b"aaaaa", FrameMeta::default()), None);
    }
}
