//! The outcome of a TLS handshake, over TCP and inside QUIC.
//!
//! quinn's own TLS session is private and exposes neither resumption nor cipher. But quinn takes
//! its cryptography as a pair of traits. [`QuicTls`] implements them over rustls as quinn does, and
//! returns a [`Handshake`] as the handshake data. Every field comes from rustls for this
//! connection; none is inferred.

use std::any::Any;
use std::io::Cursor;
use std::sync::Arc;

use quinn::crypto::rustls::{NoInitialCipherSuite, QuicServerConfig};
use quinn::crypto::{
    ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::pki_types::CertificateDer;
use rustls::quic::{self, KeyChange, Secrets, ServerConnection, Version};
use rustls::{CommonState, HandshakeKind};

use crate::certificate;
use crate::early::EarlyStreams;

/// The outcome of a handshake; the default is that of none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handshake {
    pub(crate) alpn: String,
    pub(crate) tls_version: String,
    pub(crate) cipher: String,
    pub(crate) group: String,
    pub(crate) resumed: bool,
    pub(crate) hello_retry: bool,
    /// The streams that began as early data, when the server accepted it (QUIC only).
    pub(crate) early: Option<EarlyStreams>,
    pub(crate) client_cert: Option<String>,
}

impl Handshake {
    pub(crate) fn of(state: &CommonState, early: Option<EarlyStreams>) -> Self {
        let kind = state.handshake_kind();
        let client = state
            .peer_certificates()
            .and_then(<[CertificateDer<'_>]>::first);
        let version = state.protocol_version();
        let suite = state.negotiated_cipher_suite();
        let group = state.negotiated_key_exchange_group();
        Self {
            alpn: String::from_utf8_lossy(state.alpn_protocol().unwrap_or_default()).into_owned(),
            tls_version: name(version.and_then(|version| version.as_str())),
            cipher: name(suite.and_then(|suite| suite.suite().as_str())),
            group: name(group.and_then(|group| group.name().as_str())),
            resumed: kind == Some(HandshakeKind::Resumed),
            hello_retry: kind == Some(HandshakeKind::FullWithHelloRetryRequest),
            early,
            client_cert: client.map(|certificate| {
                certificate::common_name(certificate).unwrap_or_else(|| "(no common name)".into())
            }),
        }
    }
}

/// Returns rustls's name for what was negotiated, or an empty string for nothing.
fn name(negotiated: Option<&'static str>) -> String {
    negotiated.unwrap_or_default().to_owned()
}

/// rustls as the TLS of quinn's server, exposing the outcome of each handshake.
pub(crate) struct QuicTls {
    config: Arc<rustls::ServerConfig>,
    /// quinn's own TLS, for what depends on no connection: Initial keys and Retry tags.
    quinn: Arc<QuicServerConfig>,
}

impl QuicTls {
    pub(crate) fn new(config: rustls::ServerConfig) -> Result<Self, NoInitialCipherSuite> {
        let config = Arc::new(config);
        Ok(Self {
            quinn: Arc::new(config.clone().try_into()?),
            config,
        })
    }
}

impl ServerConfig for QuicTls {
    fn initial_keys(&self, version: u32, dst: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.quinn.initial_keys(version, dst)
    }

    fn retry_tag(&self, version: u32, orig_dst: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.quinn.retry_tag(version, orig_dst, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        let tls = ServerConnection::new(self.config.clone(), tls_version(version), encoded)
            .expect("rustls rejects a QUIC session only when TLS 1.3 or its suites are missing, which `new` checked");
        Box::new(QuicSession {
            version,
            quinn: self.quinn.clone(),
            tls: quic::Connection::Server(tls),
            data_ready: false,
            next: None,
            early: EarlyStreams::default(),
        })
    }
}

/// Maps the numbers of QUIC version 1 (RFC 9000) and of its last drafts, which quinn still
/// accepts. `initial_keys` refuses all others before a session is started.
fn tls_version(version: u32) -> Version {
    match version {
        0xff00_001d..=0xff00_0020 => Version::V1Draft,
        _ => Version::V1,
    }
}

struct QuicSession {
    version: u32,
    quinn: Arc<QuicServerConfig>,
    tls: quic::Connection,
    /// `handshake_data` is available, and quinn has been notified.
    data_ready: bool,
    next: Option<Secrets>,
    early: EarlyStreams,
}

impl Session for QuicSession {
    fn initial_keys(&self, dst: &ConnectionId, _: Side) -> Keys {
        self.quinn
            .initial_keys(self.version, dst)
            .unwrap_or_else(|_| unreachable!("no session is started for an unsupported version"))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let early = self.tls.zero_rtt_keys().map(|_| self.early.clone());
        self.data_ready
            .then(|| Box::new(Handshake::of(&self.tls, early)) as _)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let chain = self.tls.peer_certificates()?;
        Some(Box::new(
            chain
                .iter()
                .cloned()
                .map(CertificateDer::into_owned)
                .collect::<Vec<_>>(),
        ))
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.tls.zero_rtt_keys()?;
        Some((
            Box::new(keys.header),
            self.early.recording_key(Box::new(keys.packet)),
        ))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        // quinn calls this on clients only.
        None
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.tls.read_hs(buf).map_err(|error| TransportError {
            code: match self.tls.alert() {
                Some(alert) => TransportErrorCode::crypto(alert.into()),
                None => TransportErrorCode::PROTOCOL_VIOLATION,
            },
            frame: None,
            reason: error.to_string(),
        })?;
        // The cipher is chosen when the ClientHello has been read and answered; ALPN is
        // mandatory for QUIC (RFC 9001 section 8.1) and chosen in the same step.
        let notify = !self.data_ready && self.tls.alpn_protocol().is_some();
        self.data_ready |= notify;
        Ok(notify)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let encoded = self.tls.quic_transport_parameters();
        let read = |encoded| TransportParameters::read(Side::Server, &mut Cursor::new(encoded));
        Ok(encoded.map(read).transpose()?)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = match self.tls.write_hs(buf)? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        };
        Some(Keys {
            header: KeyPair {
                local: Box::new(keys.local.header),
                remote: Box::new(keys.remote.header),
            },
            packet: KeyPair {
                local: Box::new(keys.local.packet),
                remote: Box::new(keys.remote.packet),
            },
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair {
            local: Box::new(keys.local),
            remote: Box::new(keys.remote),
        })
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        // Only clients receive Retry packets.
        false
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        match self
            .tls
            .export_keying_material(output, label, Some(context))
        {
            Ok(_) => Ok(()),
            Err(_) => Err(ExportKeyingMaterialError),
        }
    }
}
