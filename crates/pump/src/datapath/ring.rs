//! The mapped receive ring (TPACKET_V2; Documentation/networking/packet_mmap.rst).
//!
//! Its memory is the kernel's, so its size is bound by no socket buffer limit and an ordinary
//! user gets as much as root. Looking for the next frame costs a load, which is what makes
//! spinning on it cheap.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use super::socket;

/// Receives every frame that arrives at an interface.
pub(crate) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    len: usize,
    frame_room: usize,
    frames: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this object alone, and its only other writer, the kernel,
// hands frames over by the atomic status word.
unsafe impl Send for Ring {}

/// A frame in the ring.
pub(crate) struct Received<'a> {
    /// From the Ethernet header on; short when the frame did not fit.
    pub(crate) bytes: &'a [u8],
    /// Length of the frame on the interface.
    pub(crate) wire_len: usize,
    /// When the kernel took it, CLOCK_REALTIME.
    pub(crate) stamp_real_ns: u64,
    /// What the sender left to the hardware.
    pub(crate) offload: Offload,
}

/// `struct virtio_net_hdr`, read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offload {
    /// Where the checksum begins and, from there, where it is stored.
    pub(crate) checksum: Option<(usize, usize)>,
    /// It stands for several packets.
    pub(crate) segments: bool,
}

impl Ring {
    /// A ring of at least `frames` frames up to `frame_len` long, on interface `index`.
    pub(crate) fn new(index: u32, frames: usize, frame_len: usize) -> io::Result<Ring> {
        let frame_room = (frame_len + HEADROOM).next_power_of_two();
        let per_block = BLOCK_LEN / frame_room;
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
            tp_frame_size: frame_room as u32,
            tp_frame_nr: frames as u32,
        };
        socket::set_option(fd, libc::PACKET_RX_RING, &request)?;

        let len = blocks * BLOCK_LEN;
        let rw = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of the size just agreed; it replaces no other.
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
            frame_room,
            frames,
            next: 0,
        };
        // Bound last: every frame from here on has a place.
        socket::bind(ring.socket.as_fd(), index, libc::ETH_P_ALL)?;
        Ok(ring)
    }

    /// Is there a frame? One load.
    #[inline]
    pub(crate) fn has_next(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Shows the next frame to `look`, then gives its place back to the kernel.
    pub(crate) fn take<R>(&mut self, look: impl FnOnce(Received<'_>) -> R) -> Option<R> {
        if !self.has_next() {
            return None;
        }
        let start = self.next * self.frame_room;
        // SAFETY: `next` is below `frames`, so the whole room lies in the mapping, which lives
        // as long as `self`; the status word read above says that it is ours until it is
        // written again below, after the last use of the borrow.
        let room =
            unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(start), self.frame_room) };
        let result = look(parse(room));
        self.status()
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.frames;
        Some(result)
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: in bounds as in `take`; `frame_room` is a power of two above 32, so the word
        // is aligned; the kernel writes it as one word.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(self.next * self.frame_room).cast()) }
    }

    /// Readable when there is a frame.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Frames the kernel had no place for, since last asked.
    pub(crate) fn take_drops(&self) -> u32 {
        socket::take_drops(self.socket.as_fd()).unwrap_or(0)
    }

    /// Frames it has places for.
    pub(crate) fn frames(&self) -> usize {
        self.frames
    }

    /// Its size in memory.
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

/// Reads a `struct tpacket2_hdr` and what it points to. Its fields are bounded by the room.
fn parse(room: &[u8]) -> Received<'_> {
    let u16_at = |at: usize| usize::from(u16::from_ne_bytes([room[at], room[at + 1]]));
    let u32_at =
        |at: usize| u32::from_ne_bytes([room[at], room[at + 1], room[at + 2], room[at + 3]]);
    let (wire_len, kept_len, mac) = (u32_at(4) as usize, u32_at(8) as usize, u16_at(12));
    let bytes = room.get(mac..mac + kept_len).unwrap_or(&[]);
    let virtio = mac
        .checked_sub(VIRTIO_LEN)
        .and_then(|at| room.get(at..at + VIRTIO_LEN));
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

const BLOCK_LEN: usize = 1 << 18;
const VIRTIO_LEN: usize = 10;
/// Header, address and alignment before the frame: the kernel takes less than this.
const HEADROOM: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_headers_the_kernel_writes() {
        let mut room = vec![0u8; 256];
        room[4..8].copy_from_slice(&60u32.to_ne_bytes());
        room[8..12].copy_from_slice(&4u32.to_ne_bytes());
        room[12..14].copy_from_slice(&80u16.to_ne_bytes());
        room[16..20].copy_from_slice(&2u32.to_ne_bytes());
        room[20..24].copy_from_slice(&5u32.to_ne_bytes());
        room[70] = 1;
        room[76..78].copy_from_slice(&34u16.to_ne_bytes());
        room[78..80].copy_from_slice(&16u16.to_ne_bytes());
        room[80..84].copy_from_slice(b"abcd");
        let frame = parse(&room);
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
    fn a_header_that_points_outside_reads_as_an_empty_frame() {
        let mut room = vec![0u8; 64];
        room[8..12].copy_from_slice(&100u32.to_ne_bytes());
        room[12..14].copy_from_slice(&32u16.to_ne_bytes());
        assert!(parse(&room).bytes.is_empty());
    }
}
