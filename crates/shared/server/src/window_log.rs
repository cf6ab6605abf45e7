//! Writes down what a QUIC connection's congestion control knows whenever acknowledgements arrive.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;
use server_log::WindowSample;

use crate::clock::monotonic_ns;

/// At most so many samples are kept of a connection.
const MOST: usize = 1_024;
/// Samples that tell nothing new are at first so far apart.
const SPACING_NS: u64 = 1_000_000;

/// Makes congestion controllers whose windows are written down.
pub(crate) struct LoggedFactory<F>(pub(crate) Arc<F>);

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for LoggedFactory<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(LoggedController {
            inner: self.0.clone().build(now, current_mtu),
            samples: Arc::default(),
        })
    }
}

/// Returns the samples of a connection, in the order of time.
pub(crate) fn samples(connection: &quinn::Connection) -> Vec<WindowSample> {
    let controller = connection.congestion_state().into_any();
    let logged = controller.downcast::<LoggedController>();
    logged.map_or(Vec::new(), |logged| logged.samples().kept.clone())
}

/// A congestion controller whose window is written down; clones share the samples.
struct LoggedController {
    inner: Box<dyn Controller>,
    samples: Arc<Mutex<Samples>>,
}

#[derive(Debug)]
struct Samples {
    kept: Vec<WindowSample>,
    spacing_ns: u64,
}

impl LoggedController {
    fn samples(&self) -> std::sync::MutexGuard<'_, Samples> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Samples {
    fn default() -> Self {
        Samples {
            kept: Vec::new(),
            spacing_ns: SPACING_NS,
        }
    }
}

impl Samples {
    /// Keeps a sample unless it follows one of its kind closely. When there are too many, every second is dropped.
    fn add(&mut self, sample: WindowSample) {
        let is_news = self.kept.last().is_none_or(|last| {
            last.app_limited != sample.app_limited
                || sample.at_ns.saturating_sub(last.at_ns) >= self.spacing_ns
        });
        if !is_news {
            return;
        }
        if self.kept.len() == MOST {
            let mut is_second = true;
            self.kept.retain(|_| {
                is_second = !is_second;
                !is_second
            });
            self.spacing_ns *= 2;
        }
        self.kept.push(sample);
    }
}

impl Controller for LoggedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let largest = largest_packet_num_acked;
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        let window_bytes = self.inner.window();
        self.samples().add(WindowSample {
            at_ns: monotonic_ns(),
            window_bytes,
            in_flight_bytes: in_flight,
            app_limited,
        });
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let is_persistent = is_persistent_congestion;
        self.inner
            .on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(LoggedController {
            inner: self.inner.clone_box(),
            samples: self.samples.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, app_limited: bool) -> WindowSample {
        WindowSample {
            at_ns: at_ms * 1_000_000,
            window_bytes: 1,
            in_flight_bytes: 2,
            app_limited,
        }
    }

    fn kept(samples: &Samples) -> Vec<u64> {
        samples.kept.iter().map(|s| s.at_ns / 1_000_000).collect()
    }

    #[test]
    fn what_follows_closely_is_kept_only_if_it_is_of_another_kind() {
        let mut samples = Samples::default();
        let close = |at_ns, app_limited| WindowSample {
            at_ns,
            ..sample(0, app_limited)
        };
        for (at_ns, app_limited) in [(0, false), (1, false), (2, true), (3, true), (4, false)] {
            samples.add(close(at_ns, app_limited));
        }
        samples.add(close(4 + SPACING_NS - 1, false));
        samples.add(close(4 + SPACING_NS, false));
        let times: Vec<u64> = samples.kept.iter().map(|s| s.at_ns).collect();
        assert_eq!(times, [0, 2, 4, 4 + SPACING_NS]);
    }

    #[test]
    fn too_many_samples_are_thinned_out() {
        let mut samples = Samples::default();
        (0..MOST as u64).for_each(|ms| samples.add(sample(ms, false)));
        assert_eq!(samples.kept.len(), MOST);
        samples.add(sample(MOST as u64, false));
        assert_eq!(samples.kept.len(), MOST / 2 + 1);
        assert_eq!(kept(&samples)[..3], [0, 2, 4]);
        // 1 ms later is too close now.
        samples.add(sample(MOST as u64 + 1, false));
        samples.add(sample(MOST as u64 + 2, false));
        assert_eq!(samples.kept.len(), MOST / 2 + 2);
    }
}
