//! What one direction counted in one window.

use link::{Cause, Transport};

use super::histogram::Histogram;
use super::slab::RecordRef;
use crate::tap::{Fate, TapRecord};
use crate::window::Count;

/// The books of a window. Everything in it is allocated when it is made.
pub(crate) struct PacketLedger {
    /// Number of the window; 0 before the first.
    pub(crate) window: u32,
    /// What the sender sent, by transport.
    pub(crate) sent: [Count; KINDS],
    /// What was handed to the receiver, by transport.
    pub(crate) delivered: [Count; KINDS],
    /// What the model dropped, by cause.
    pub(crate) dropped: [u64; CAUSES],
    /// How long after their time packets left.
    pub(crate) lateness: Histogram,
    /// Packets later than `late_bound_ns`.
    pub(crate) late: u64,
    pub(crate) late_bound_ns: u64,
    /// Frames that were not TCP, UDP or ICMP errors.
    pub(crate) foreign_frames: u64,
    /// Frames above the MTU, or standing for several packets.
    pub(crate) oversize_frames: u64,
    /// Frames the ring had no place for.
    pub(crate) ring_drops: u64,
    /// Frames that an interface refused for good.
    pub(crate) lost_frames: u64,
    /// Times the receiver's interface had no room at first.
    pub(crate) retries: u64,
    /// Times the loop turned without progress and was put to sleep.
    pub(crate) stalls: u64,
    /// Time spent spinning.
    pub(crate) spin_ns: u64,
    /// CPU time of the thread when the window began; afterwards, what it used.
    pub(crate) cpu_ns: u64,
    records: Vec<TapRecord>,
    /// Packets for which there was no place in the tap.
    pub(crate) unrecorded: u64,
    pub(crate) frames: Option<FrameStore>,
}

impl PacketLedger {
    /// Books with room for `records` packets and `frame_bytes` of whole frames.
    pub(crate) fn new(records: usize, frame_bytes: usize) -> PacketLedger {
        PacketLedger {
            window: 0,
            sent: [Count::default(); KINDS],
            delivered: [Count::default(); KINDS],
            dropped: [0; CAUSES],
            lateness: Histogram::new(),
            late: 0,
            late_bound_ns: u64::MAX,
            foreign_frames: 0,
            oversize_frames: 0,
            ring_drops: 0,
            lost_frames: 0,
            retries: 0,
            stalls: 0,
            spin_ns: 0,
            cpu_ns: 0,
            records: Vec::with_capacity(records),
            unrecorded: 0,
            frames: (frame_bytes > 0).then(|| FrameStore::new(frame_bytes)),
        }
    }

    /// Empties the books for the next window, keeping their memory.
    pub(crate) fn clear(&mut self, window: u32, late_bound_ns: u64) {
        (self.window, self.late_bound_ns) = (window, late_bound_ns);
        (self.sent, self.delivered) = ([Count::default(); KINDS], [Count::default(); KINDS]);
        self.dropped = [0; CAUSES];
        self.lateness.clear();
        (self.late, self.foreign_frames, self.oversize_frames) = (0, 0, 0);
        (self.ring_drops, self.lost_frames) = (0, 0);
        (self.retries, self.stalls, self.spin_ns, self.cpu_ns) = (0, 0, 0, 0);
        self.records.clear();
        self.unrecorded = 0;
        if let Some(frames) = &mut self.frames {
            frames.clear();
        }
    }

    /// Enters a packet into the tap.
    pub(crate) fn record(&mut self, record: TapRecord) -> Option<RecordRef> {
        if self.records.len() == self.records.capacity() {
            self.unrecorded += 1;
            return None;
        }
        self.records.push(record);
        Some(RecordRef {
            window: self.window,
            index: self.records.len() as u32 - 1,
        })
    }

    /// Completes a record, if it is of this window.
    pub(crate) fn settle(&mut self, at: Option<RecordRef>, departure_ns: u64, fate: Fate) {
        if let Some(at) = at.filter(|at| at.window == self.window)
            && let Some(record) = self.records.get_mut(at.index as usize)
        {
            record.departure_ns = departure_ns;
            record.fate = fate;
        }
    }

    /// The tap of this window.
    pub(crate) fn records(&self) -> &[TapRecord] {
        &self.records
    }
}

/// Whole frames, one after another in memory set aside, for a capture file.
pub(crate) struct FrameStore {
    bytes: Vec<u8>,
    index: Vec<StoredFrame>,
    /// Frames for which there was no room.
    pub(crate) missed: u64,
}

/// Where a frame lies, when it was seen, and at which end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredFrame {
    pub(crate) at_ns: u64,
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// At the receiver's end (`true`) or the sender's.
    pub(crate) leaving: bool,
}

impl FrameStore {
    fn new(bytes: usize) -> FrameStore {
        let frames = bytes / 64;
        FrameStore {
            bytes: Vec::with_capacity(bytes),
            index: Vec::with_capacity(frames),
            missed: 0,
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.index.clear();
        self.missed = 0;
    }

    pub(crate) fn push(&mut self, at_ns: u64, leaving: bool, frame: &[u8]) {
        let start = self.bytes.len();
        let room = start + frame.len() <= self.bytes.capacity()
            && self.index.len() < self.index.capacity();
        if !room {
            self.missed += 1;
            return;
        }
        self.bytes.extend_from_slice(frame);
        self.index.push(StoredFrame {
            at_ns,
            start,
            len: frame.len(),
            leaving,
        });
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (StoredFrame, &[u8])> {
        self.index
            .iter()
            .map(|f| (*f, &self.bytes[f.start..f.start + f.len]))
    }
}

/// The place of a transport in the books.
pub(crate) fn kind(transport: Transport) -> u8 {
    match transport {
        Transport::Tcp => 0,
        Transport::Udp => 1,
        Transport::Other => 2,
    }
}

/// The place of a cause in the books.
pub(crate) fn cause_index(cause: Cause) -> usize {
    match cause {
        Cause::Policy => 0,
        Cause::Gate => 1,
        Cause::Queue => 2,
        Cause::Loss => 3,
    }
}

const KINDS: usize = 3;
const CAUSES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_beyond_the_room_are_counted_not_kept() {
        let mut store = FrameStore::new(128);
        store.push(1, false, &[7; 100]);
        store.push(2, true, &[8; 100]);
        store.push(3, true, &[9; 28]);
        let kept: Vec<_> = store
            .iter()
            .map(|(f, bytes)| (f.at_ns, bytes.len()))
            .collect();
        assert_eq!((kept, store.missed), (vec![(1, 100), (3, 28)], 1));
    }
}
