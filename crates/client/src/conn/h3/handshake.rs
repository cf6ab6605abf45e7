//! Whether a handshake resumed a session. One that verifies no chain did (RFC 8446 section 2.2); quinn offers no
//! other way to find out. All handshakes share a verifier, since rustls resumes a session only with the verifier
//! that it began with, so what the verifier counts is assigned to the handshake that reads at that moment.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use h3_quic::CountingVerifier;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
};
use quinn::{ConnectError, ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

/// The TLS configuration of one connection, which notes whether its handshake verified a chain.
pub(super) struct Watched {
    inner: Arc<QuicClientConfig>,
    verifier: Arc<CountingVerifier>,
    has_verified: Arc<AtomicBool>,
}

impl Watched {
    /// Returns the note, too.
    pub(super) fn new(
        inner: QuicClientConfig,
        verifier: Arc<CountingVerifier>,
    ) -> (Self, Arc<AtomicBool>) {
        let has_verified = Arc::new(AtomicBool::new(false));
        let watched = Self {
            inner: Arc::new(inner),
            verifier,
            has_verified: Arc::clone(&has_verified),
        };
        (watched, has_verified)
    }
}

impl ClientConfig for Watched {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.inner).start_session(version, name, parameters)?;
        Ok(Box::new(WatchedSession {
            inner,
            config: self,
        }))
    }
}

struct WatchedSession {
    inner: Box<dyn Session>,
    config: Arc<Watched>,
}

impl Session for WatchedSession {
    /// Chains are verified within this call. No other handshake reads meanwhile: all do so on the engine's thread.
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let before = self.config.verifier.chains_verified();
        let read = self.inner.read_handshake(bytes);
        if self.config.verifier.chains_verified() > before {
            self.config.has_verified.store(true, Ordering::Relaxed);
        }
        read
    }

    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(id, side)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, into: &mut Vec<u8>) -> Option<Keys> {
        self.inner.write_handshake(into)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}
