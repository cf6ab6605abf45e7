//! Facts of a handshake over QUIC that quinn does not report: a wrapper of its TLS session records them.
//!
//! All handshakes share a verifier, since rustls resumes a session only with the verifier that it began with. So what
//! the verifier counts is assigned to the handshake that reads at that moment.

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

/// `disable_active_migration` (RFC 9000 section 18.2).
const DISABLE_ACTIVE_MIGRATION: u64 = 0x0c;

/// The TLS configuration of one connection. It records facts of the handshake.
pub(super) struct ObservedConfig {
    inner: Arc<QuicClientConfig>,
    verifier: Arc<CountingVerifier>,
    facts: Arc<HandshakeFacts>,
}

/// Facts of a handshake.
#[derive(Debug, Default)]
pub(super) struct HandshakeFacts {
    has_verified: AtomicBool,
    is_refused: AtomicBool,
    stays: AtomicBool,
}

impl HandshakeFacts {
    /// Reports whether it resumed a session: then it verified no chain (RFC 8446 section 2.2).
    pub(super) fn is_resumed(&self) -> bool {
        !self.has_verified.load(Ordering::Relaxed)
    }

    /// Reports whether the server's certificate was refused, or its signature: a chain of another authority with the same
    /// name shows in the signature only.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// Reports whether the client may move the connection to another path.
    pub(super) fn migrates(&self) -> bool {
        !self.stays.load(Ordering::Relaxed)
    }
}

impl ObservedConfig {
    /// Returns the configuration and the facts that it will record.
    pub(super) fn new(
        inner: QuicClientConfig,
        verifier: Arc<CountingVerifier>,
    ) -> (Self, Arc<HandshakeFacts>) {
        let facts = Arc::default();
        let config = Self {
            inner: Arc::new(inner),
            verifier,
            facts: Arc::clone(&facts),
        };
        (config, facts)
    }
}

impl ClientConfig for ObservedConfig {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.inner).start_session(version, name, parameters)?;
        Ok(Box::new(ObservedSession {
            inner,
            config: self,
        }))
    }
}

struct ObservedSession {
    inner: Box<dyn Session>,
    config: Arc<ObservedConfig>,
}

impl Session for ObservedSession {
    /// Reads handshake data, and counts what the verifier did for it. Chains are verified within this call. No other
    /// handshake reads meanwhile: all do so on the engine's thread.
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let (verifier, facts) = (&self.config.verifier, &self.config.facts);
        let before = (verifier.chains_verified(), verifier.refusals());
        let read = self.inner.read_handshake(bytes);
        if verifier.chains_verified() > before.0 {
            facts.has_verified.store(true, Ordering::Relaxed);
        }
        if verifier.refusals() > before.1 {
            facts.is_refused.store(true, Ordering::Relaxed);
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
        let parameters = self.inner.transport_parameters();
        if let Ok(Some(parameters)) = &parameters {
            let mut written = Vec::new();
            parameters.write(&mut written);
            let stays = has_parameter(&written, DISABLE_ACTIVE_MIGRATION);
            self.config.facts.stays.store(stays, Ordering::Relaxed);
        }
        parameters
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

/// Reports whether transport parameters (RFC 9000 section 18) contain one.
fn has_parameter(mut parameters: &[u8], wanted: u64) -> bool {
    while let Some(id) = variable_length(&mut parameters) {
        if id == wanted {
            return true;
        }
        let length = variable_length(&mut parameters).unwrap_or(u64::MAX);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        parameters = parameters.get(length..).unwrap_or_default();
    }
    false
}

/// Takes an integer (RFC 9000 section 16).
fn variable_length(bytes: &mut &[u8]) -> Option<u64> {
    let first = *bytes.first()?;
    let (integer, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    *bytes = rest;
    let value = integer[1..]
        .iter()
        .fold(u64::from(first & 0x3f), |value, byte| {
            value << 8 | u64::from(*byte)
        });
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_behind_others() {
        let stays = [0x01, 0x02, 0x0c, 0x00, 0x40, 0x0c, 0x00];
        assert!(has_parameter(&stays, DISABLE_ACTIVE_MIGRATION));
        let moves = [0x01, 0x02, 0x0c, 0x00, 0x80, 0, 0, 0x0d, 0x01, 0x0c];
        assert!(!has_parameter(&moves, DISABLE_ACTIVE_MIGRATION));
        for cut in [
            &[][..],
            &[0x40],
            &[0x01],
            &[0x01, 0x05, 0x0c],
            &[0x01, 0xff],
        ] {
            assert!(!has_parameter(cut, DISABLE_ACTIVE_MIGRATION), "{cut:?}");
        }
    }
}
