//! Binding, running, and coming to an end.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use http::HeaderValue;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Config, Congestion, KeyKind};
use crate::connection::Shared;
use crate::credentials::{Credentials, CredentialsError};
use crate::handshake::QuicTls;
use crate::inject::inject;
use crate::journal::{self, Writer};
use crate::tls::{self, Options, TlsError};
use crate::{quic, routes, tcp};

/// A server that is bound and not yet running.
pub struct Server {
    shared: Arc<Shared>,
    ports: Vec<Port>,
    writer: Writer,
    facts: Facts,
}

struct Port {
    address: SocketAddr,
    client_certificates: bool,
    tcp: tcp::Port,
    quic: quic::Port,
}

/// A server could not start, or not end well.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Nothing to do.
    #[error("no address to listen on; give at least one, port 0 for any")]
    NoAddress,
    /// No certificate.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// No TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// An address cannot be had.
    #[error(
        "cannot listen on {address} over {transport}: {source}; is another server running there?"
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// TCP or UDP.
        transport: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The log was not written whole.
    #[error("the request log is incomplete: {0}")]
    Log(io::Error),
}

/// What came of a configuration: numbers a report must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Kind of the keys.
    pub key: KeyKind,
    /// Bytes of leaf and intermediate, as sent in a full handshake.
    pub chain_bytes: u64,
    /// HTTP/2 receive window of a stream (RFC 9113 section 6.9.2; hyper's own setting).
    pub h2_stream_window: u32,
    /// HTTP/2 receive window of a connection.
    pub h2_connection_window: u32,
    /// QUIC receive window of a stream (quinn's own setting).
    pub quic_stream_window: u64,
    /// Congestion control of the QUIC side.
    pub quic_congestion: Congestion,
    /// UDP receive buffer the kernel granted, as it counts (twice what was asked for).
    pub udp_receive_buffer: usize,
    /// UDP send buffer the kernel granted, as it counts.
    pub udp_send_buffer: usize,
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = match self.key {
            KeyKind::P256 => "P-256",
            KeyKind::Rsa2048 => "RSA-2048",
        };
        write!(
            f,
            "{key} keys, chain {} B; receive windows H2 {} B/stream {} B/connection, \
             QUIC {} B/stream; QUIC congestion control {}; UDP buffers {} B in {} B out",
            self.chain_bytes,
            self.h2_stream_window,
            self.h2_connection_window,
            self.quic_stream_window,
            self.quic_congestion.name(),
            self.udp_receive_buffer,
            self.udp_send_buffer,
        )
    }
}

impl Server {
    /// Makes credentials and binds every address; nothing is accepted yet, but the kernel
    /// queues who comes.
    pub async fn bind(config: Config) -> Result<Self, ServerError> {
        if config.listen.is_empty() && config.mtls_listen.is_empty() {
            return Err(ServerError::NoAddress);
        }
        let credentials = Credentials::make(&config.names, config.key)?;
        if let Some(folder) = &config.credentials_dir {
            credentials.write(folder)?;
        }
        let mut facts = Facts {
            key: config.key,
            chain_bytes: credentials.chain_bytes(),
            h2_stream_window: H2_WINDOW,
            h2_connection_window: H2_WINDOW,
            quic_stream_window: QUIC_STREAM_WINDOW,
            quic_congestion: config.congestion,
            udp_receive_buffer: usize::MAX,
            udp_send_buffer: usize::MAX,
        };
        let mut ports = Vec::new();
        for (addresses, client_certificates) in
            [(&config.listen, false), (&config.mtls_listen, true)]
        {
            for address in addresses {
                let (listener, socket) = bind_both(*address)?;
                facts.udp_receive_buffer = facts.udp_receive_buffer.min(socket.receive_buffer);
                facts.udp_send_buffer = facts.udp_send_buffer.min(socket.send_buffer);
                ports.push(port(
                    &config,
                    &credentials,
                    client_certificates,
                    listener,
                    socket,
                )?);
            }
        }
        let (journal, writer) = journal::open(config.log).map_err(ServerError::Log)?;
        let shared = Arc::new(Shared {
            router: inject(routes::router(&config.limits), config.faults),
            connections: Arc::new(Semaphore::new(config.limits.connections)),
            limits: config.limits,
            journal,
            chain_bytes: facts.chain_bytes,
            counter: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            draining: CancellationToken::new(),
            killed: CancellationToken::new(),
        });
        Ok(Self {
            shared,
            ports,
            writer,
            facts,
        })
    }

    /// Where it listens, in the order of the configuration: `listen`, then `mtls_listen`.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.ports.iter().map(|port| port.address).collect()
    }

    /// Where it demands a client certificate.
    pub fn mtls_addresses(&self) -> Vec<SocketAddr> {
        let ports = self.ports.iter().filter(|port| port.client_certificates);
        ports.map(|port| port.address).collect()
    }

    /// What came of the configuration.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Serves until `shutdown` is ready, then finishes what is begun and closes the log.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServerError> {
        let shared = self.shared;
        let mut endpoints = Vec::new();
        for port in self.ports {
            endpoints.push(port.quic.endpoint.clone());
            shared.tasks.spawn(port.tcp.run(shared.clone()));
            shared.tasks.spawn(port.quic.run(shared.clone()));
        }
        shutdown.await;
        shared.draining.cancel();
        shared.tasks.close();
        if tokio::time::timeout(shared.limits.drain_time, shared.tasks.wait())
            .await
            .is_err()
        {
            shared.killed.cancel();
            shared.tasks.wait().await;
        }
        for endpoint in endpoints {
            // Sends the last CONNECTION_CLOSE and lets it be repeated for three probe
            // time-outs (RFC 9000 section 10.2); a lost client is not waited for longer.
            let idle = endpoint.wait_idle();
            if tokio::time::timeout(shared.limits.drain_time, idle)
                .await
                .is_err()
            {
                tracing::debug!("a QUIC connection would not close");
            }
        }
        tokio::task::spawn_blocking(|| self.writer.close())
            .await
            .unwrap_or_else(|panic| Err(io::Error::other(panic)))
            .map_err(ServerError::Log)
    }
}

fn port(
    config: &Config,
    credentials: &Credentials,
    client_certificates: bool,
    listener: TcpListener,
    socket: quic::Bound,
) -> Result<Port, ServerError> {
    let options = Options {
        client_certificates,
        resumption: config.resumption,
        early_data: config.early_data,
        reject_tickets: config.reject_tickets,
    };
    let over_tcp = tls::tcp(credentials, options)?;
    let over_quic = QuicTls::new(tls::quic(credentials, options)?).map_err(TlsError::from)?;
    let unbound = SocketAddr::from(([0; 4], 0));
    let address = listener.local_addr().map_err(bind_error(unbound, "TCP"))?;
    let alt_svc = format!("h3=\":{}\"; ma=86400", address.port());
    let alt_svc = HeaderValue::try_from(alt_svc).expect("digits and fixed ASCII text");
    Ok(Port {
        address,
        client_certificates,
        tcp: tcp::Port {
            listener,
            manner: tcp::Manner {
                tls: TlsAcceptor::from(Arc::new(over_tcp)),
                nodelay: config.nodelay,
                alt_svc: config.alt_svc.then_some(alt_svc),
            },
        },
        quic: quic::Port::new(socket, over_quic, &config.limits, config.congestion)
            .map_err(bind_error(address, "UDP"))?,
    })
}

/// The same port number over both transports. A free TCP port may be taken over UDP; then
/// another is tried.
fn bind_both(address: SocketAddr) -> Result<(TcpListener, quic::Bound), ServerError> {
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

const PORT_ATTEMPTS: u32 = 16;
/// hyper 1.12, server side: `DEFAULT_CONN_WINDOW` and `DEFAULT_STREAM_WINDOW`.
const H2_WINDOW: u32 = 1 << 20;
/// quinn-proto 0.11: 12.5 MB/s at an RTT of 100 ms.
const QUIC_STREAM_WINDOW: u64 = 1_250_000;
