//! Binding, running and shutting down a server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Admission;
use crate::answers;
use crate::auth::{self, Authenticator};
use crate::config::{Config, QuicFault};
use crate::credentials::Credentials;
use crate::error::ServerError;
use crate::garbage;
use crate::inject::inject;
use crate::key_log;
use crate::log::{self, LogThread};
use crate::port::{PlaintextPort, Port, UdpPort};
use crate::routes;
use crate::settings::{H2_WINDOW, QUIC_STREAM_WINDOW, Settings, UdpBuffers};
use crate::shared::Shared;

/// A server that is bound but not running yet.
pub struct Server {
    shared: Arc<Shared>,
    ports: Vec<Port>,
    plaintext_ports: Vec<PlaintextPort>,
    log: LogThread,
    settings: Settings,
}

impl Server {
    /// Makes credentials and binds every address. Nothing is accepted yet, but the kernel queues
    /// connections.
    ///
    /// # Errors
    ///
    /// When there is no address, one cannot be bound, or the credentials cannot be made or
    /// written.
    pub async fn bind(mut config: Config) -> Result<Self, ServerError> {
        let addresses = [
            &config.listen,
            &config.mtls_listen,
            &config.plaintext_listen,
        ];
        if addresses.iter().all(|addresses| addresses.is_empty()) {
            return Err(ServerError::NoAddress);
        }
        let credentials =
            Credentials::generate(&config.names, config.key, config.chain, config.validity)?;
        let mut settings = Settings {
            key: config.key,
            chain_bytes: credentials.chain_bytes(),
            h2_stream_window: H2_WINDOW,
            h2_connection_window: H2_WINDOW,
            quic_stream_window: QUIC_STREAM_WINDOW,
            quic_congestion: config.congestion,
            udp_buffers: None,
        };
        let addresses = config.listen.iter().map(|address| (address, false));
        let mtls_addresses = config.mtls_listen.iter().map(|address| (address, true));
        let key_log = key_log::open(config.key_log.take());
        let mut ports = Vec::new();
        for (address, client_certificates) in addresses.chain(mtls_addresses) {
            let port = Port::bind(
                &config,
                &credentials,
                &key_log,
                *address,
                client_certificates,
            )?;
            let buffers = settings.udp_buffers.into_iter().chain(port.udp_buffers);
            settings.udp_buffers = buffers.reduce(UdpBuffers::smaller);
            ports.push(port);
        }
        let plaintext_ports = config
            .plaintext_listen
            .iter()
            .map(|address| PlaintextPort::bind(*address, &config))
            .collect::<Result<Vec<_>, _>>()?;
        let generate = |scheme| Authenticator::generate(scheme, config.limits.nonces);
        let (authenticator, secret) = config.auth.map(generate).transpose()?.unzip();
        // Only now: the files may be those of a server that runs on the same port.
        if let Some(folder) = &config.credentials_dir {
            credentials.write(folder, secret.as_ref())?;
        }
        let (log_writer, log) = log::open(config.log).map_err(ServerError::Log)?;
        let router = answers::add(routes::router(&config.limits), config.answers);
        let router = inject(router, config.faults);
        let shared = Arc::new(Shared {
            router: auth::require(router, authenticator),
            admission: Admission::new(&config.limits),
            limits: config.limits,
            resets_quic: config.quic_fault == Some(QuicFault::Reset),
            log: log_writer,
            chain_bytes: settings.chain_bytes,
            connections: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            draining: CancellationToken::new(),
            aborted: CancellationToken::new(),
        });
        Ok(Self {
            shared,
            ports,
            plaintext_ports,
            log,
            settings,
        })
    }

    /// Returns the addresses it listens on over TCP and, unless QUIC is absent, UDP, in the order of the
    /// configuration:
    /// `listen`, then `mtls_listen`.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.ports.iter().map(|port| port.address).collect()
    }

    /// Returns the addresses without TLS.
    pub fn plaintext_addresses(&self) -> Vec<SocketAddr> {
        let ports = self.plaintext_ports.iter();
        ports.map(|port| port.address).collect()
    }

    /// Returns the addresses that demand a client certificate.
    pub fn mtls_addresses(&self) -> Vec<SocketAddr> {
        let ports = self.ports.iter().filter(|port| port.client_certificates);
        ports.map(|port| port.address).collect()
    }

    /// Returns the settings in effect.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Serves until `shutdown` completes, then finishes the requests in flight and closes the
    /// log.
    ///
    /// # Errors
    ///
    /// When the log could not be written.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServerError> {
        let shared = self.shared;
        let mut endpoints = Vec::new();
        for port in self.ports {
            shared.tasks.spawn(port.tcp.run(shared.clone()));
            match port.udp {
                UdpPort::Quic(quic) => {
                    endpoints.push(quic.endpoint.clone());
                    shared.tasks.spawn(quic.run(shared.clone()));
                }
                UdpPort::Garbage(socket) => {
                    shared.tasks.spawn(garbage::run(socket, shared.clone()));
                }
                UdpPort::None => {}
            }
        }
        for port in self.plaintext_ports {
            shared.tasks.spawn(port.tcp.run(shared.clone()));
        }
        shutdown.await;
        shared.draining.cancel();
        shared.tasks.close();
        if tokio::time::timeout(shared.limits.drain_time, shared.tasks.wait())
            .await
            .is_err()
        {
            shared.aborted.cancel();
            shared.tasks.wait().await;
        }
        for endpoint in endpoints {
            // Sends the last CONNECTION_CLOSE and repeats it for three probe timeouts (RFC 9000
            // section 10.2). The limit is for clients that have vanished.
            let idle = endpoint.wait_idle();
            if tokio::time::timeout(shared.limits.drain_time, idle)
                .await
                .is_err()
            {
                tracing::debug!("a QUIC connection did not close in time");
            }
        }
        tokio::task::spawn_blocking(|| self.log.close())
            .await
            .unwrap_or_else(|panic| Err(io::Error::other(panic)))
            .map_err(ServerError::Log)
    }
}
