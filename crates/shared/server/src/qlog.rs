//! The transport settings of QUIC connections, and a qlog file for each.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;

use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::{
    Connecting, ConnectionError, Incoming, QlogConfig, QlogStream, ServerConfig, TransportConfig,
};

use crate::config::{Config, Congestion};
use crate::linux_cubic::LinuxCubic;
use crate::window_log::LoggedFactory;

/// The initial window of BBR: ten packets (RFC 9002, section 7.2), as quinn gives its other congestion controls. Its
/// BBR would begin with 200, TCP's begins with ten.
const INITIAL_WINDOW_BYTES: u64 = 10 * 1_200;

/// quinn's transport settings that differ from its defaults. A qlog is one of them, so they are made
/// for each connection that has one.
pub(crate) struct TransportSettings {
    streams: u32,
    packet_threshold: Option<u32>,
    time_threshold: Option<f32>,
    congestion: Congestion,
}

/// Where each connection's qlog goes.
pub(crate) struct QlogFolder {
    pub(crate) folder: PathBuf,
    pub(crate) config: ServerConfig,
    pub(crate) settings: TransportSettings,
}

impl TransportSettings {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            streams: config.limits.streams,
            packet_threshold: config.packet_threshold,
            time_threshold: config.time_threshold,
            congestion: config.congestion,
        }
    }

    pub(crate) fn with_qlog(&self, qlog: Option<QlogStream>) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(self.streams.into());
        if let Some(packets) = self.packet_threshold {
            transport.packet_threshold(packets);
        }
        if let Some(round_trips) = self.time_threshold {
            transport.time_threshold(round_trips);
        }
        match self.congestion {
            Congestion::Cubic => {
                transport.congestion_controller_factory(logged(CubicConfig::default()))
            }
            Congestion::LinuxCubic => transport.congestion_controller_factory(logged(LinuxCubic)),
            Congestion::NewReno => {
                transport.congestion_controller_factory(logged(NewRenoConfig::default()))
            }
            Congestion::Bbr => {
                let mut bbr = BbrConfig::default();
                bbr.initial_window(INITIAL_WINDOW_BYTES);
                transport.congestion_controller_factory(logged(bbr))
            }
        };
        transport.qlog_stream(qlog);
        transport
    }
}

/// Wraps a congestion control so that its windows are logged.
fn logged<F>(congestion: F) -> Arc<LoggedFactory<F>> {
    Arc::new(LoggedFactory(Arc::new(congestion)))
}

impl QlogFolder {
    /// Accepts a connection with a qlog of its own; without one if its file cannot be created.
    pub(crate) fn accept(&self, incoming: Incoming) -> Result<Connecting, ConnectionError> {
        let name = format!("{}_server.sqlog", incoming.orig_dst_cid());
        let stream = match self.create(&name) {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, name, "cannot create a qlog");
                None
            }
        };
        let mut config = self.config.clone();
        config.transport_config(Arc::new(self.settings.with_qlog(stream)));
        incoming.accept_with(Arc::new(config))
    }

    fn create(&self, name: &str) -> io::Result<Option<QlogStream>> {
        let file = File::create_new(self.folder.join(name))?;
        let mut qlog = QlogConfig::default();
        qlog.writer(Box::new(BufWriter::new(file)))
            .title(Some("commute serve".to_owned()));
        Ok(qlog.into_stream())
    }
}
