//! A port number on which the server listens over TCP and UDP.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::sync::Arc;

use http::HeaderValue;
use rustls::KeyLog;
use tokio::net::{TcpListener, UdpSocket};
use tokio_rustls::TlsAcceptor;

use crate::config::{Config, QuicFault};
use crate::credentials::Credentials;
use crate::error::ServerError;
use crate::handshake::QuicTls;
use crate::settings::UdpBuffers;
use crate::tls::{self, Options, TlsError};
use crate::{quic, tcp};

/// How many free TCP ports are tried until one is free over UDP too.
const PORT_ATTEMPTS: u32 = 16;

/// A bound port that is not accepting yet.
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    pub(crate) client_certificates: bool,
    pub(crate) tcp: tcp::Port,
    pub(crate) udp: UdpPort,
    pub(crate) udp_buffers: Option<UdpBuffers>,
}

/// What serves a port number over UDP.
pub(crate) enum UdpPort {
    Quic(Box<quic::Port>),
    Garbage(UdpSocket),
    None,
}

/// A bound TCP port without TLS that is not accepting yet.
pub(crate) struct PlaintextPort {
    pub(crate) address: SocketAddr,
    pub(crate) tcp: tcp::Port,
}

impl PlaintextPort {
    pub(crate) fn bind(address: SocketAddr, config: &Config) -> Result<Self, ServerError> {
        let listener = tcp::bind(address).map_err(bind_error(address, "TCP"))?;
        tcp::limit_receive_buffers(&listener, config).map_err(bind_error(address, "TCP"))?;
        let address = listener.local_addr().map_err(bind_error(address, "TCP"))?;
        Ok(Self {
            address,
            tcp: tcp::Port {
                listener,
                connections: tcp::ConnectionOptions {
                    tls: None,
                    nodelay: config.nodelay,
                    alt_svc: None,
                },
            },
        })
    }
}

impl Port {
    pub(crate) fn bind(
        config: &Config,
        credentials: &Credentials,
        key_log: &Arc<dyn KeyLog>,
        address: SocketAddr,
        client_certificates: bool,
    ) -> Result<Self, ServerError> {
        let (listener, socket) = match config.quic_fault {
            Some(QuicFault::Absent) => (
                tcp::bind(address).map_err(bind_error(address, "TCP"))?,
                None,
            ),
            _ => bind_both(address).map(|(listener, socket)| (listener, Some(socket)))?,
        };
        tcp::limit_receive_buffers(&listener, config).map_err(bind_error(address, "TCP"))?;
        let udp_buffers = socket.as_ref().map(|socket| socket.buffers);
        let options = Options {
            client_certificates,
            resumption: config.resumption,
            early_data: config.early_data,
            reject_tickets: config.reject_tickets,
        };
        let mut tcp_tls = tls::tcp(credentials, options)?;
        let mut quic_tls = tls::quic(credentials, options)?;
        for config in [&mut tcp_tls, &mut quic_tls] {
            config.key_log = key_log.clone();
        }
        let quic_tls = QuicTls::new(quic_tls).map_err(TlsError::from)?;
        let address = listener.local_addr().map_err(bind_error(address, "TCP"))?;
        let alt_svc_port = config.alt_svc_port.map_or(address.port(), NonZeroU16::get);
        let alt_svc = format!("h3=\":{alt_svc_port}\"; ma=86400");
        let alt_svc = HeaderValue::try_from(alt_svc).expect("digits and fixed ASCII text");
        Ok(Self {
            address,
            client_certificates,
            tcp: tcp::Port {
                listener,
                connections: tcp::ConnectionOptions {
                    tls: Some(TlsAcceptor::from(Arc::new(tcp_tls))),
                    nodelay: config.nodelay,
                    alt_svc: config.alt_svc.then_some(alt_svc),
                },
            },
            udp: UdpPort::new(socket, quic_tls, config).map_err(bind_error(address, "UDP"))?,
            udp_buffers,
        })
    }
}

impl UdpPort {
    fn new(socket: Option<quic::BoundSocket>, tls: QuicTls, config: &Config) -> io::Result<Self> {
        Ok(match (socket, config.quic_fault) {
            (None, _) => Self::None,
            (Some(bound), Some(QuicFault::Garbage)) => Self::Garbage(bound.into_tokio()?),
            (Some(bound), _) => Self::Quic(Box::new(quic::Port::new(bound, tls, config)?)),
        })
    }
}

/// Binds the same port number over TCP and UDP. With port 0, another TCP port is tried when the
/// one the kernel chose is taken over UDP.
fn bind_both(address: SocketAddr) -> Result<(TcpListener, quic::BoundSocket), ServerError> {
    let mut attempts = if address.port() == 0 {
        PORT_ATTEMPTS
    } else {
        1
    };
    loop {
        let listener = tcp::bind(address).map_err(bind_error(address, "TCP"))?;
        let bound = listener.local_addr().map_err(bind_error(address, "TCP"))?;
        attempts -= 1;
        match quic::bind(bound) {
            Ok(socket) => return Ok((listener, socket)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts > 0 => {}
            Err(error) => return Err(bind_error(bound, "UDP")(error)),
        }
    }
}

fn bind_error(address: SocketAddr, transport: &'static str) -> impl Fn(io::Error) -> ServerError {
    move |source| ServerError::Bind {
        address,
        transport,
        source,
    }
}
