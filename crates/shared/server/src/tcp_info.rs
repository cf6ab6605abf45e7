//! TCP_INFO: the kernel's figures of a TCP connection.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use server_log::Sender;

/// More than `struct tcp_info` has in any kernel so far (Linux 6.18: 280 bytes).
const CAPACITY: usize = 512;

/// Offsets of fields in `struct tcp_info` (include/uapi/linux/tcp.h), which only ever grows at its
/// end. Fields have 32 bits unless noted.
mod offset {
    pub(super) const SND_MSS: usize = 16;
    pub(super) const RTT_US: usize = 68;
    pub(super) const SND_CWND: usize = 80;
    pub(super) const TOTAL_RETRANS: usize = 100;
    /// 64 bits, bytes per second.
    pub(super) const PACING_RATE: usize = 104;
    pub(super) const SEGS_OUT: usize = 136;
    pub(super) const MIN_RTT_US: usize = 148;
    /// 64 bits, bytes per second.
    pub(super) const DELIVERY_RATE: usize = 160;
    /// 64 bits. Linux 4.19, as DSACK_DUPS and REORD_SEEN.
    pub(super) const BYTES_RETRANS: usize = 208;
    pub(super) const DSACK_DUPS: usize = 216;
    pub(super) const REORD_SEEN: usize = 220;
    /// 16 bits. Linux 6.7.
    pub(super) const TOTAL_RTO: usize = 240;
}

/// The kernel's answer, as long as that kernel has it.
pub(crate) struct TcpInfo(Vec<u8>);

impl TcpInfo {
    /// Reads a socket's.
    pub(crate) fn read(socket: &impl AsFd) -> io::Result<Self> {
        let mut bytes = vec![0_u8; CAPACITY];
        let mut len = CAPACITY as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, which is the size of `bytes`.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &mut len,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        bytes.truncate(len as usize);
        Ok(Self(bytes))
    }

    /// Returns the congestion window.
    pub(crate) fn window_bytes(&self) -> Option<u64> {
        Some(self.u32(offset::SND_CWND)? * self.u32(offset::SND_MSS)?)
    }

    /// Returns all of the kernel's figures of sending, except for the initial window.
    pub(crate) fn sender(&self) -> Sender {
        // No sample yet: 0, or for the least RTT all ones.
        let rtt_ns = |at| {
            let us = self.u32(at)?;
            (us > 0 && us < u64::from(u32::MAX)).then(|| us * 1000)
        };
        // Unknown: 0. Unlimited: all ones.
        let bps = |at| self.u64(at)?.checked_mul(8).filter(|bps| *bps > 0);
        Sender {
            sent_packets: self.u32(offset::SEGS_OUT),
            lost_packets: self.u32(offset::TOTAL_RETRANS),
            lost_bytes: self.u64(offset::BYTES_RETRANS),
            spurious_packets: self.u32(offset::DSACK_DUPS),
            reorderings: self.u32(offset::REORD_SEEN),
            timeouts: self
                .read_at(offset::TOTAL_RTO)
                .map(u16::from_ne_bytes)
                .map(u64::from),
            smoothed_rtt_ns: rtt_ns(offset::RTT_US),
            min_rtt_ns: rtt_ns(offset::MIN_RTT_US),
            window_bytes: self.window_bytes(),
            segment_bytes: self.u32(offset::SND_MSS),
            pacing_bps: bps(offset::PACING_RATE),
            delivery_bps: bps(offset::DELIVERY_RATE),
            ..Sender::default()
        }
    }

    fn u32(&self, at: usize) -> Option<u64> {
        self.read_at(at).map(u32::from_ne_bytes).map(u64::from)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.read_at(at).map(u64::from_ne_bytes)
    }

    /// Returns the bytes at an offset, if this kernel has them.
    fn read_at<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at + N)?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_an_older_kernel_does_not_tell_are_absent() {
        // Linux 4.18 ends before BYTES_RETRANS.
        let mut bytes = vec![0; offset::BYTES_RETRANS];
        bytes[offset::SND_CWND] = 10;
        bytes[offset::SND_MSS] = 100;
        bytes[offset::MIN_RTT_US..][..4].fill(0xff);
        bytes[offset::PACING_RATE..][..8].fill(0xff);
        let expected = Sender {
            sent_packets: Some(0),
            lost_packets: Some(0),
            window_bytes: Some(1000),
            segment_bytes: Some(100),
            ..Sender::default()
        };
        assert_eq!(TcpInfo(bytes).sender(), expected);
    }
}
