//! What a handshake came to, of TLS over TCP and inside QUIC alike.
//!
//! quinn keeps its TLS session to itself and shows neither resumption nor cipher. Its
//! cryptography is a pair of traits, though; [`QuicTls`] implements them over rustls as
//! quinn does, and the data it hands out after the handshake is a [`Handshake`]. Nothing
//! is inferred: every field is what rustls says of this very connection.

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

use crate::early::EarlyStreams;
use crate::subject;

/// What a handshake came to.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    pub(crate) alpn: String,
    pub(crate) tls_version: String,
    pub(crate) cipher: String,
    pub(crate) group: String,
    pub(crate) resumed: bool,
    pub(crate) hello_retry: bool,
    /// The server took the client up on early data (QUIC only): what came so.
    pub(crate) early: Option<EarlyStreams>,
    pub(crate) client_cert: Option<String>,
}

impl Handshake {
    pub(crate) fn of(state: &CommonState, early: Option<EarlyStreams>) -> Self {
        let kind = state.handshake_kind();
        let client = state
            .peer_certificates()
            .and_then(<[CertificateDer<'_>]>::first);
        Self {
            alpn: String::from_utf8_lossy(state.alpn_protocol().unwrap_or_default()).into_owned(),
            tls_version: debug(state.protocol_version()),
            cipher: debug(state.negotiated_cipher_suite().map(|suite| suite.suite())),
            group: debug(
                state
                    .negotiated_key_exchange_group()
                    .map(rustls::crypto::SupportedKxGroup::name),
            ),
            resumed: kind == Some(HandshakeKind::Resumed),
            hello_retry: kind == Some(HandshakeKind::FullWithHelloRetryRequest),
            early,
            client_cert: client.map(|certificate| {
                subject::common_name(certificate).unwrap_or_else(|| "(no common name)".into())
            }),
        }
    }
}

/// rustls names its constants by Debug only.
fn debug(value: Option<impl std::fmt::Debug>) -> String {
    value.map(|value| format!("{value:?}")).unwrap_or_default()
}

/// TLS for quinn's server, with its facts in the open.
pub(crate) struct QuicTls {
    config: Arc<rustls::ServerConfig>,
    /// For what is the same on every connection: Initial keys and Retry tags.
    stock: Arc<QuicServerConfig>,
}

impl QuicTls {
    pub(crate) fn new(config: rustls::ServerConfig) -> Result<Self, NoInitialCipherSuite> {
        let config = Arc::new(config);
        Ok(Self {
            stock: Arc::new(config.clone().try_into()?),
            config,
        })
    }
}

impl ServerConfig for QuicTls {
    fn initial_keys(&self, version: u32, dst: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.stock.initial_keys(version, dst)
    }

    fn retry_tag(&self, version: u32, orig_dst: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.stock.retry_tag(version, orig_dst, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        let tls = ServerConnection::new(self.config.clone(), tls_version(version), encoded)
            .expect("rustls refuses a QUIC session only when TLS 1.3 or its suites are missing, which `new` checked");
        Box::new(QuicSession {
            version,
            stock: self.stock.clone(),
            tls: quic::Connection::Server(tls),
            told: false,
            next: None,
            early: EarlyStreams::default(),
        })
    }
}

/// The numbers of QUIC version 1 (RFC 9000) and of its last drafts, which quinn still
/// takes; `initial_keys` refuses all others before a session is started.
fn tls_version(version: u32) -> Version {
    match version {
        0xff00_001d..=0xff00_0020 => Version::V1Draft,
        _ => Version::V1,
    }
}

struct QuicSession {
    version: u32,
    stock: Arc<QuicServerConfig>,
    tls: quic::Connection,
    /// `handshake_data` has been announced.
    told: bool,
    next: Option<Secrets>,
    early: EarlyStreams,
}

impl Session for QuicSession {
    fn initial_keys(&self, dst: &ConnectionId, _: Side) -> Keys {
        self.stock
            .initial_keys(self.version, dst)
            .unwrap_or_else(|_| unreachable!("no session is started for an unsupported version"))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let early = self.tls.zero_rtt_keys().map(|_| self.early.clone());
        self.told
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
            self.early.watch(Box::new(keys.packet)),
        ))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        // Asked of clients only.
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
        // The cipher is settled when the ClientHello has been read and answered; ALPN is
        // mandatory for QUIC (RFC 9001 section 8.1) and settled in the same step.
        let tell = !self.told && self.tls.alpn_protocol().is_some();
        self.told |= tell;
        Ok(tell)
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
        // Only a client is sent a Retry; a server drops it.
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
