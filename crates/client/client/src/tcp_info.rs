//! `TCP_INFO` of a connection: whether a segment arrived, and whether one is owed.

use std::time::{Duration, Instant};

use route::PathSample;
use socket2::Socket;

/// Counts the samples between which a segment came.
#[derive(Debug, Default)]
pub(crate) struct SegmentCounter {
    count: u64,
    last: Option<Instant>,
}

/// The kernel's figures.
struct Info {
    /// Since the last segment.
    silent_for: Duration,
    /// Whether data or a keep-alive is not acknowledged.
    owed: bool,
    rtt: Duration,
    rttvar: Duration,
}

impl SegmentCounter {
    /// Returns the count as of the last sample.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn sample(&mut self, socket: &Socket) -> PathSample {
        let info = read(socket).unwrap_or(Info {
            // If the kernel gives no information, a connection is never suspected.
            silent_for: Duration::ZERO,
            owed: false,
            rtt: Duration::ZERO,
            rttvar: Duration::ZERO,
        });
        let came = Instant::now().checked_sub(info.silent_for);
        // The kernel counts in milliseconds, so the same segment may seem to move by one.
        let newer = |last: Instant| came.is_some_and(|came| came > last + Duration::from_millis(5));
        if self.last.is_none_or(newer) {
            self.count += 1;
            self.last = came;
        }
        PathSample {
            received: self.count,
            owed: info.owed,
            srtt: info.rtt,
            rttvar: info.rttvar,
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn read(socket: &Socket) -> Option<Info> {
    use std::os::fd::AsRawFd;

    // SAFETY: all-zero bytes are a valid `tcp_info`, which consists of integers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
    // SAFETY: the pointers are to `info` and `length`, which outlive the call, and `length` is the
    // size of `info`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    (result == 0).then(|| {
        let silent_ms = info.tcpi_last_data_recv.min(info.tcpi_last_ack_recv);
        Info {
            silent_for: Duration::from_millis(u64::from(silent_ms)),
            owed: info.tcpi_unacked > 0 || info.tcpi_probes > answers_withheld(&info),
            rtt: Duration::from_micros(u64::from(info.tcpi_rtt)),
            rttvar: Duration::from_micros(u64::from(info.tcpi_rttvar)),
        }
    })
}

/// Returns how many probes a living peer may leave unanswered: one in a row if its window is closed. Linux acknowledges
/// such segments once in 500 ms (tcp_invalid_ratelimit). No keep-alive stays unanswered: those come once a second.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn answers_withheld(info: &libc::tcp_info) -> u8 {
    let window_is_closed = info.tcpi_unacked == 0 && info.tcpi_backoff > 0;
    u8::from(window_is_closed)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn read(_: &Socket) -> Option<Info> {
    None
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use super::*;

    #[test]
    fn only_a_peer_with_a_closed_window_may_leave_a_probe_unanswered() {
        for (unacked, backoff, withheld) in [(0, 1, 1), (0, 0, 0), (1, 1, 0), (1, 0, 0)] {
            // SAFETY: all-zero bytes are a valid `tcp_info`, which consists of integers.
            let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
            (info.tcpi_unacked, info.tcpi_backoff) = (unacked, backoff);
            assert_eq!(answers_withheld(&info), withheld, "{unacked} {backoff}");
        }
    }
}
