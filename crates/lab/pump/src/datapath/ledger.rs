//! The packet accounting of one direction in one window.

use link::tap::{Fate, TapRecord};
use link::window::Count;
use link::{Cause, Transport};

use super::histogram::Histogram;
use super::slab::RecordRef;

/// Place in the counts of a packet whose flow has no number.
pub(crate) const STRAY: usize = 3;
/// The three transports, and [`STRAY`].
const CLASSES: usize = 4;
const CAUSES: usize = 5;
/// Capture bytes per entry of the capture's index. A TCP frame with timestamps has at least 66.
const BYTES_PER_FRAME: usize = 64;

/// The counts of a window and its tap. All memory is allocated on creation.
pub(crate) struct PacketLedger {
    /// Number of the window; 0 before the first.
    pub(crate) window: u32,
    /// Frames from the sender, by [`transport_index`] or [`STRAY`].
    pub(crate) sent: [Count; CLASSES],
    /// Frames handed to the receiver, by [`transport_index`] or [`STRAY`].
    pub(crate) delivered: [Count; CLASSES],
    /// Packets dropped by the model, by [`cause_index`], without stray ones.
    pub(crate) dropped: [u64; CAUSES],
    /// Packets to a mapping that the NAT had dropped, or from or to an address that the client had left, without stray
    /// ones.
    pub(crate) unmapped: u64,
    /// Stray packets dropped by the model or the NAT.
    pub(crate) stray_dropped: u64,
    /// Departure minus ideal departure, in ns.
    pub(crate) lateness: Histogram,
    /// Packets later than `late_bound_ns`.
    pub(crate) late: u64,
    pub(crate) late_bound_ns: u64,
    /// Frames that were not TCP, UDP or ICMP errors.
    pub(crate) foreign_frames: u64,
    /// Frames above the MTU, or holding several packets.
    pub(crate) oversize_frames: u64,
    /// Frames lost because the receive ring was full.
    pub(crate) ring_drops: u64,
    /// Frames that the receiver's interface rejected.
    pub(crate) lost_frames: u64,
    /// Times the receiver's interface was full at first.
    pub(crate) retries: u64,
    /// Times the loop iterated without progress and was put to sleep.
    pub(crate) stalls: u64,
    /// Time spent spinning.
    pub(crate) spin_ns: u64,
    /// During the window, the thread's CPU time at its start; afterwards, the CPU time it used.
    pub(crate) cpu_ns: u64,
    records: Vec<TapRecord>,
    /// Packets that the tap had no room for.
    pub(crate) unrecorded: u64,
    /// Whole frames, when a capture was requested.
    pub(crate) frames: Option<FrameStore>,
}

impl PacketLedger {
    /// Allocates a ledger for `records` packets and `frame_bytes` of whole frames.
    pub(crate) fn new(records: usize, frame_bytes: usize) -> PacketLedger {
        PacketLedger {
            window: 0,
            sent: [Count::default(); CLASSES],
            delivered: [Count::default(); CLASSES],
            dropped: [0; CAUSES],
            unmapped: 0,
            stray_dropped: 0,
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

    /// Resets the ledger for the next window, keeping its memory.
    pub(crate) fn clear(&mut self, window: u32, late_bound_ns: u64) {
        (self.window, self.late_bound_ns) = (window, late_bound_ns);
        self.sent = [Count::default(); CLASSES];
        self.delivered = [Count::default(); CLASSES];
        self.dropped = [0; CAUSES];
        (self.unmapped, self.stray_dropped) = (0, 0);
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

    /// Adds a packet to the tap; `None` when the tap is full.
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

    /// Completes a packet's record. Does nothing for a packet of an earlier window.
    pub(crate) fn complete(&mut self, at: Option<RecordRef>, departure_ns: u64, fate: Fate) {
        if let Some(at) = at.filter(|at| at.window == self.window)
            && let Some(record) = self.records.get_mut(at.index as usize)
        {
            record.departure_ns = departure_ns;
            record.fate = fate;
        }
    }

    /// Returns the tap of this window, in order of arrival.
    pub(crate) fn records(&self) -> &[TapRecord] {
        &self.records
    }
}

/// Whole frames for a capture file, one after another in preallocated memory.
pub(crate) struct FrameStore {
    bytes: Vec<u8>,
    index: Vec<StoredFrame>,
    /// Frames that there was no room for, on arrival and on leaving.
    pub(crate) missed: [u64; 2],
}

/// When and where a frame was seen, and its place in the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredFrame {
    pub(crate) at_ns: u64,
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// Seen at the receiver's end (`true`) or the sender's.
    pub(crate) leaving: bool,
}

impl FrameStore {
    fn new(bytes: usize) -> FrameStore {
        FrameStore {
            bytes: Vec::with_capacity(bytes),
            index: Vec::with_capacity(bytes / BYTES_PER_FRAME),
            missed: [0; 2],
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.index.clear();
        self.missed = [0; 2];
    }

    pub(crate) fn push(&mut self, at_ns: u64, leaving: bool, frame: &[u8]) {
        let start = self.bytes.len();
        let fits = start + frame.len() <= self.bytes.capacity()
            && self.index.len() < self.index.capacity();
        if !fits {
            self.missed[usize::from(leaving)] += 1;
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

/// Returns the index of a transport in the counts.
pub(crate) fn transport_index(transport: Transport) -> usize {
    match transport {
        Transport::Tcp => 0,
        Transport::Udp => 1,
        Transport::Other => 2,
    }
}

/// Returns the index of a cause in the counts.
pub(crate) fn cause_index(cause: Cause) -> usize {
    match cause {
        Cause::Policy => 0,
        Cause::Gate => 1,
        Cause::Queue => 2,
        Cause::Loss => 3,
        Cause::Aqm => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_do_not_fit_are_counted() {
        let mut store = FrameStore::new(128);
        store.push(1, false, &[7; 100]);
        store.push(2, true, &[8; 100]);
        store.push(3, true, &[9; 28]);
        let kept: Vec<_> = store
            .iter()
            .map(|(f, bytes)| (f.at_ns, bytes.len()))
            .collect();
        assert_eq!((kept, store.missed), (vec![(1, 100), (3, 28)], [0, 1]));
    }
}
