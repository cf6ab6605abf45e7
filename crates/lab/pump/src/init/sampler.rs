//! Samples the CPU time and memory of both endpoints while a window is open.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use link::window::{Sample, Timeline};

use super::costs;
use super::endpoint::Endpoint;
use super::reaper::Reaper;
use crate::facts::Side;
use crate::sys;

const INTERVAL_NS: u64 = 100_000_000;
/// Ten minutes.
const SAMPLES_MAX: usize = 6000;

/// A thread that samples until it is stopped or dropped.
pub(super) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Timeline>,
}

impl Sampler {
    /// Starts to sample, at whole intervals after `from_ns` (CLOCK_MONOTONIC).
    pub(super) fn start(
        from_ns: u64,
        endpoints: &[Endpoint; 2],
        reaper: &Reaper,
    ) -> io::Result<Sampler> {
        let [client, server] = endpoints;
        let source = Source {
            netns: [client.netns.inode()?, server.netns.inode()?],
            reaper: reaper.clone(),
        };
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || {
                // Where that fails, packets may be late, which the audit sees.
                let _kept_off = sys::keep_off_last_core();
                let wait = |time| stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
                sample_until(from_ns, || source.read(), wait)
            })?;
        Ok(Sampler { stop, thread })
    }

    /// Stops after a last sample, and returns all of them.
    pub(super) fn stop(self) -> Timeline {
        drop(self.stop);
        // Cannot panic; if it did, the window would be as good without it.
        self.thread.join().unwrap_or_default()
    }
}

/// Where the readings come from.
struct Source {
    /// Inodes of the endpoints' network namespaces, client first.
    netns: [u64; 2],
    reaper: Reaper,
}

impl Source {
    /// Returns CPU time so far, and memory.
    fn read(&self) -> Sample {
        let [client, server] = costs::footprints(self.netns).unwrap_or_default();
        Sample {
            at_ns: sys::monotonic_ns(),
            client_cpu_ns: client.cpu_ns + self.reaper.ended_cpu_ns(Side::Client),
            server_cpu_ns: server.cpu_ns + self.reaper.ended_cpu_ns(Side::Server),
            client_rss_bytes: client.rss_bytes,
            server_rss_bytes: server.rss_bytes,
        }
    }
}

/// Samples at whole intervals after `from_ns` for as long as `wait` returns true, and once more then.
fn sample_until(
    from_ns: u64,
    read: impl Fn() -> Sample,
    wait: impl Fn(Duration) -> bool,
) -> Timeline {
    let before = read();
    let mut samples: Vec<Sample> = Vec::new();
    let mut open = true;
    while open && samples.len() < SAMPLES_MAX {
        // An interval that was slept through is not made up for.
        let next_ns = until_next_ns(from_ns, sys::monotonic_ns());
        open = wait(Duration::from_nanos(next_ns));
        samples.push(read().since(&before));
    }
    Timeline {
        samples,
        sampler_cpu_ns: sys::thread_cpu_ns(),
    }
}

/// Returns the time from `now_ns` to the next whole interval after `from_ns`.
fn until_next_ns(from_ns: u64, now_ns: u64) -> u64 {
    INTERVAL_NS - now_ns.saturating_sub(from_ns) % INTERVAL_NS
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn samples_are_taken_at_whole_intervals() {
        assert_eq!(until_next_ns(1_000, 1_000), INTERVAL_NS);
        assert_eq!(until_next_ns(1_000, 31_000), INTERVAL_NS - 30_000);
        let late = 1_000 + 3 * INTERVAL_NS + 7;
        assert_eq!(until_next_ns(1_000, late), INTERVAL_NS - 7);
    }

    #[test]
    fn sampling_ends_with_a_sample_and_is_bounded() {
        let used = Cell::new(40);
        let read = || {
            used.set(used.get() + 1);
            Sample {
                client_cpu_ns: used.get(),
                ..Sample::default()
            }
        };
        let left = Cell::new(3);
        let timeline = sample_until(0, read, |_| {
            left.set(left.get() - 1);
            left.get() > 0
        });
        let cpu: Vec<u64> = timeline.samples.iter().map(|s| s.client_cpu_ns).collect();
        assert_eq!(cpu, [1, 2, 3]);
        assert_eq!(sample_until(0, read, |_| true).samples.len(), SAMPLES_MAX);
    }
}
