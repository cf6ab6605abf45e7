//! The mapped receive ring (TPACKET_V2; Documentation/networking/packet_mmap.rst).
//!
//! Its memory is the kernel's, so no socket buffer limit applies and an unprivileged user gets as
//! much as root. Checking for the next frame costs one load, which makes spinning on it cheap.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::socket;

const BLOCK_LEN: usize = 1 << 18;
const VIRTIO_LEN: usize = 10;
/// Upper bound of the header, address and alignment that the kernel puts before a frame.
const HEADROOM: usize = 128;

/// Receives every frame that arrives at an interface.
pub(crate) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    len: usize,
    slot_len: usize,
    frames: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this object alone, and its only other writer, the kernel,
// hands frames over by the atomic status word.
unsafe impl Send for Ring {}

/// A frame in the ring.
pub(crate) struct Received<'a> {
    /// From the Ethernet header on; truncated when the frame did not fit.
    pub(crate) bytes: &'a [u8],
    /// Length of the frame on the interface.
    pub(crate) wire_len: usize,
    /// When the kernel received it, CLOCK_REALTIME.
    pub(crate) stamp_real_ns: u64,
    /// Work that the sender left to the hardware.
    pub(crate) offload: Offload,
}

/// The parts of a `struct virtio_net_hdr` that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offload {
    /// Where the checksummed bytes start and, from there, where the checksum is stored.
    pub(crate) checksum: Option<(usize, usize)>,
    /// The frame holds several packets.
    pub(crate) segments: bool,
}

impl Ring {
    /// Opens a ring for at least `frames` frames of up to `frame_len` bytes, on interface `index`.
    pub(crate) fn new(index: u32, frames: usize, frame_len: usize) -> io::Result<Ring> {
        let slot_len = (frame_len + HEADROOM).next_power_of_two();
        let per_block = BLOCK_LEN / slot_len;
        if per_block == 0 {
            return Err(io::Error::other(format!(
                "frames of {frame_len} bytes are too long"
            )));
        }
        let blocks = frames.div_ceil(per_block);
        let frames = blocks * per_block;

        let socket = socket::open()?;
        let fd = socket.as_fd();
        socket::set_option(
            fd,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as i32),
        )?;
        socket::set_option(fd, libc::PACKET_VNET_HDR, &1i32)?;
        socket::set_option(fd, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_LEN as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_len as u32,
            tp_frame_nr: frames as u32,
        };
        socket::set_option(fd, libc::PACKET_RX_RING, &request)?;

        let len = blocks * BLOCK_LEN;
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of the size just requested; it replaces no other.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                rw,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).expect("a mapping is never at null");
        let ring = Ring {
            socket,
            memory,
            len,
            slot_len,
            frames,
            next: 0,
        };
        // Bound last: from here on every frame goes into the ring.
        socket::bind(ring.socket.as_fd(), index, libc::ETH_P_ALL)?;
        Ok(ring)
    }

    /// Returns whether there is a frame, at the cost of one load.
    #[inline]
    pub(crate) fn has_next(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Passes the next frame to `read`, then returns its slot to the kernel.
    pub(crate) fn take<R>(&mut self, read: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        if !self.has_next() {
            return None;
        }
        let start = self.next * self.slot_len;
        // SAFETY: `next` is below `frames`, so the whole slot lies in the mapping, which lives
        // as long as `self`; the status word read above says that it is ours until it is
        // written again below, after the last use of the borrow.
        let slot =
            unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), self.slot_len) };
        let result = read(parse(slot));
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.frames;
        Some(result)
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: in bounds as in `take`; `slot_len` is a power of two above 32, so the word
        // is aligned; the kernel writes it as one word.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(self.next * self.slot_len).cast()) }
    }

    /// Returns a descriptor that is readable when there is a frame.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Returns the frames dropped because the ring was full, since the last call.
    pub(crate) fn take_drops(&self) -> u32 {
        socket::take_drops(self.socket.as_fd()).unwrap_or(0)
    }

    /// Returns the number of slots.
    pub(crate) fn frames(&self) -> usize {
        self.frames
    }

    /// Returns its size in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.len
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this length and is used by nothing else.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.len) };
    }
}

/// Reads a `struct tpacket2_hdr` and the frame that it points to. Offsets beyond the slot give an
/// empty frame.
fn parse(slot: &[u8]) -> Received<'_> {
    let u16_at = |at: usize| usize::from(u16::from_ne_bytes([slot[at], slot[at + 1]]));
    let u32_at =
        |at: usize| u32::from_ne_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
    let (wire_len, captured_len, mac) = (u32_at(4) as usize, u32_at(8) as usize, u16_at(12));
    let bytes = slot.get(mac..mac + captured_len).unwrap_or(&[]);
    let virtio = mac
        .checked_sub(VIRTIO_LEN)
        .and_then(|at| slot.get(at..at + VIRTIO_LEN));
    Received {
        bytes,
        wire_len,
        stamp_real_ns: u64::from(u32_at(16)) * 1_000_000_000 + u64::from(u32_at(20)),
        offload: virtio.map(offload).unwrap_or_default(),
    }
}

/// Reads a `struct virtio_net_hdr` (linux/virtio_net.h).
fn offload(header: &[u8]) -> Offload {
    let u16_at = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let needs_checksum = header[0] & 1 != 0;
    Offload {
        checksum: needs_checksum.then(|| (u16_at(6), u16_at(8))),
        segments: header[1] != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_kernel_headers() {
        let mut slot = vec![0u8; 256];
        slot[4..8].copy_from_slice(&60u32.to_ne_bytes());
        slot[8..12].copy_from_slice(&4u32.to_ne_bytes());
        slot[12..14].copy_from_slice(&80u16.to_ne_bytes());
        slot[16..20].copy_from_slice(&2u32.to_ne_bytes());
        slot[20..24].copy_from_slice(&5u32.to_ne_bytes());
        slot[70] = 1;
        slot[76..78].copy_from_slice(&34u16.to_ne_bytes());
        slot[78..80].copy_from_slice(&16u16.to_ne_bytes());
        slot[80..84].copy_from_slice(b"abcd");
        let frame = parse(&slot);
        assert_eq!((frame.bytes, frame.wire_len), (&b"abcd"[..], 60));
        assert_eq!(frame.stamp_real_ns, 2_000_000_005);
        assert_eq!(
            frame.offload,
            Offload {
                checksum: Some((34, 16)),
                segments: false
            }
        );
    }

    #[test]
    fn header_beyond_the_slot_gives_an_empty_frame() {
        let mut slot = vec![0u8; 64];
        slot[8..12].copy_from_slice(&100u32.to_ne_bytes());
        slot[12..14].copy_from_slice(&32u16.to_ne_bytes());
        assert!(parse(&slot).bytes.is_empty());
    }
}
