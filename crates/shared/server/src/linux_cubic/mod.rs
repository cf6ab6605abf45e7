//! A congestion control over QUIC that behaves as Linux's TCP does, so that a comparison of protocols is not one of two
//! senders. `docs/reference/other-servers.md` has both side by side.

mod hystart;
mod window;

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::RttEstimator;

use window::{INITIAL_WINDOW_BYTES, RoundTrip, Window};

/// Makes the congestion control of a connection.
pub(crate) struct LinuxCubic;

impl ControllerFactory for LinuxCubic {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Connection {
            window: Window::new(now, current_mtu),
            rtt: None,
        })
    }
}

/// The congestion control of a connection, as quinn calls it.
#[derive(Clone)]
struct Connection {
    window: Window,
    rtt: Option<RoundTrip>,
}

impl Controller for Connection {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.window.sent(now, bytes, last_packet_number);
    }

    // quinn's `app_limited` is not used: Linux judges by what was in flight.
    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.rtt = Some(RoundTrip {
            least: rtt.min(),
            smoothed: rtt.get(),
        });
        let sample: Duration = now.saturating_duration_since(sent);
        self.window.acked(sent, bytes, sample);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        _app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        if let Some(rtt) = self.rtt {
            let largest = largest_packet_num_acked;
            self.window.all_acked(now, in_flight, largest, rtt);
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let is_persistent = is_persistent_congestion;
        self.window.lost(now, sent, lost_bytes, is_persistent);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.window.set_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window.bytes();
        metrics.ssthresh = Some(self.window.threshold());
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        INITIAL_WINDOW_BYTES
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
