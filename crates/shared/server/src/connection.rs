//! State of a connection: what it passes on to its requests, its idle timeout and the log of its
//! end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use server_log::{ClosedEvent, RefusedEvent, Sender, ServerEvent, WindowSample};

use crate::clock::monotonic_ns;
use crate::log::LogWriter;

/// The part of a connection's state that its requests need.
#[derive(Clone)]
pub(crate) struct ConnectionContext {
    /// Counted from 1 over TCP and QUIC together.
    pub(crate) number: u64,
    pub(crate) activity: Activity,
    pub(crate) log: LogWriter,
}

impl ConnectionContext {
    /// Logs that a stream, or the whole connection, was refused with this code.
    pub(crate) fn log_refused(&self, stream: Option<u64>, code: &str, reason: &str) {
        self.log.write(ServerEvent::Refused(RefusedEvent {
            connection: self.number,
            stream,
            at_ns: monotonic_ns(),
            code: code.to_owned(),
            reason: reason.to_owned(),
        }));
    }

    /// Logs the end of a connection whose handshake was logged.
    pub(crate) fn log_closed(&self, sender: Sender, windows: Vec<WindowSample>) {
        self.log.write(ServerEvent::Closed(ClosedEvent {
            connection: self.number,
            at_ns: monotonic_ns(),
            sender,
            windows,
        }));
    }
}

/// The time of the last activity on a connection; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<AtomicU64>);

impl Activity {
    pub(crate) fn now() -> Self {
        Self(Arc::new(AtomicU64::new(monotonic_ns())))
    }

    pub(crate) fn touch(&self) {
        self.0.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Waits until there has been no activity for this long.
    pub(crate) async fn idle_for(&self, limit: Duration) {
        loop {
            let idle_ns = monotonic_ns().saturating_sub(self.0.load(Ordering::Relaxed));
            match limit.checked_sub(Duration::from_nanos(idle_ns)) {
                None | Some(Duration::ZERO) => return,
                Some(remaining) => tokio::time::sleep(remaining).await,
            }
        }
    }
}
