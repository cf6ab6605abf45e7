//! QUIC ports, and their connections until HTTP/3 takes over.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Endpoint, EndpointConfig, Runtime as _, ServerConfig, TokioRuntime};
use server_log::{Sender, Transport};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::config::{Config, Congestion, QuicFault};
use crate::connection::ConnectionContext;
use crate::early::EarlyStreams;
use crate::handshake::{Handshake, QuicTls};
use crate::http3;
use crate::qlog::{QlogFolder, TransportSettings};
use crate::settings::UdpBuffers;
use crate::shared::{Peer, Shared};
use crate::stall::{Stall, StallingConnection};
use crate::window_log;

/// Holds bursts of a fast sender while the server's threads wait for a core. The kernel may
/// grant less (net.core.rmem_max); `Settings` shows how much.
const SOCKET_BUFFER: usize = 4 << 20;

/// One listening port.
pub(crate) struct Port {
    pub(crate) endpoint: Endpoint,
    /// Which clients it no longer answers, if it stalls.
    stall: Option<Stall>,
    pub(crate) congestion: Congestion,
    /// Where each connection's qlog goes, if anywhere.
    qlog: Option<Arc<QlogFolder>>,
    /// Permits for handshakes with clients whose address is not validated.
    half_open: Arc<Semaphore>,
}

/// A UDP socket and its buffers.
pub(crate) struct BoundSocket {
    socket: Socket,
    pub(crate) buffers: UdpBuffers,
}

impl BoundSocket {
    pub(crate) fn into_tokio(self) -> io::Result<UdpSocket> {
        self.socket.set_nonblocking(true)?;
        UdpSocket::from_std(self.socket.into())
    }
}

/// Binds a UDP socket. IPv6 sockets accept IPv6 only, so that both families can be bound.
pub(crate) fn bind(address: SocketAddr) -> io::Result<BoundSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_recv_buffer_size(SOCKET_BUFFER)?;
    socket.set_send_buffer_size(SOCKET_BUFFER)?;
    socket.bind(&address.into())?;
    let buffers = UdpBuffers {
        receive: socket.recv_buffer_size()?,
        send: socket.send_buffer_size()?,
    };
    Ok(BoundSocket { socket, buffers })
}

impl Port {
    /// Starts an endpoint with quinn's default windows and timers.
    pub(crate) fn new(bound: BoundSocket, tls: QuicTls, config: &Config) -> io::Result<Self> {
        let settings = TransportSettings::of(config);
        let mut quic = ServerConfig::with_crypto(Arc::new(tls));
        quic.transport_config(Arc::new(settings.with_qlog(None)));
        let runtime = Arc::new(TokioRuntime);
        let socket = runtime.wrap_udp_socket(bound.socket.into())?;
        let stall = (config.quic_fault == Some(QuicFault::Stall)).then(Stall::default);
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            Some(quic.clone()),
            match &stall {
                None => socket,
                Some(stall) => stall.over(socket),
            },
            runtime,
        )?;
        Ok(Self {
            endpoint,
            stall,
            congestion: config.congestion,
            qlog: config.qlog_dir.clone().map(|folder| {
                Arc::new(QlogFolder {
                    folder,
                    config: quic,
                    settings,
                })
            }),
            half_open: Arc::new(Semaphore::new(config.limits.half_open)),
        })
    }

    /// Accepts connections until the server drains.
    pub(crate) async fn run(self, shared: Arc<Shared>) {
        let accept = || shared.draining.run_until_cancelled(self.endpoint.accept());
        while let Some(Some(incoming)) = accept().await {
            let place = shared.admission.try_place();
            let address = incoming.remote_address();
            let Some(admitted) = place.and_then(|place| place.admit(address.ip())) else {
                incoming.refuse();
                continue;
            };
            let half_open = self.half_open.clone().try_acquire_owned().ok();
            if half_open.is_none() && !incoming.remote_address_validated() {
                incoming
                    .retry()
                    .unwrap_or_else(|error| error.into_incoming().ignore());
                continue;
            }
            let (task_shared, congestion) = (shared.clone(), self.congestion);
            let qlog = self.qlog.clone();
            let stalling = self.stall.as_ref().map(|stall| stall.connection(address));
            shared.tasks.spawn(async move {
                let connecting = match qlog {
                    Some(qlog) => qlog.accept(incoming),
                    None => incoming.accept(),
                };
                let Ok(connecting) = connecting else {
                    return;
                };
                let peer = Peer {
                    transport: Transport::Quic,
                    address,
                    congestion: Some(congestion.name().to_owned()),
                };
                let serving = serve(connecting, peer, half_open, stalling.as_ref(), &task_shared);
                task_shared.aborted.run_until_cancelled(serving).await;
                drop(admitted);
            });
        }
        // Refuses further clients at once.
        self.endpoint.set_server_config(None);
    }
}

/// Serves one connection, from its handshake to its end.
async fn serve(
    mut connecting: quinn::Connecting,
    peer: Peer,
    half_open: Option<OwnedSemaphorePermit>,
    stalling: Option<&StallingConnection>,
    shared: &Arc<Shared>,
) {
    let handshake_time = shared.limits.handshake_time;
    let data = timeout(handshake_time, connecting.handshake_data());
    let Some(Ok(Ok(data))) = shared.draining.run_until_cancelled(data).await else {
        return;
    };
    let context = shared.new_connection();
    let Some(early) = handshake(data).early else {
        let connection = timeout(handshake_time, connecting);
        let Some(Ok(Ok(connection))) = shared.draining.run_until_cancelled(connection).await else {
            return;
        };
        drop(half_open);
        let _established = log_if_established(&connection, &context, peer, shared);
        let early = EarlyStreams::default();
        return http3::serve(connection, &early, &context, stalling, shared).await;
    };
    // Early data was accepted: serve requests while the handshake completes.
    let (connection, done) = match connecting.into_0rtt() {
        Ok(early) => early,
        Err(_) => unreachable!("a server can always send before the handshake completes"),
    };
    let finish = async {
        let done = timeout(handshake_time, done).await;
        drop(half_open);
        if done.is_err() {
            connection.close(http3::NO_ERROR, b"handshake too slow");
            return None;
        }
        log_if_established(&connection, &context, peer, shared)
    };
    tokio::join!(
        finish,
        http3::serve(connection.clone(), &early, &context, stalling, shared)
    );
}

/// Logs a connection whose handshake is over, unless it failed.
fn log_if_established(
    connection: &quinn::Connection,
    context: &ConnectionContext,
    peer: Peer,
    shared: &Shared,
) -> Option<Established> {
    if connection.close_reason().is_some() {
        return None;
    }
    let data = connection.handshake_data()?;
    shared.log_connection(context, peer, handshake(data));
    Some(Established {
        connection: connection.clone(),
        context: context.clone(),
    })
}

/// A connection that was logged; logs its end when dropped.
struct Established {
    connection: quinn::Connection,
    context: ConnectionContext,
}

impl Drop for Established {
    fn drop(&mut self) {
        let windows = window_log::samples(&self.connection);
        self.context.log_closed(sender(&self.connection), windows);
    }
}

/// Returns quinn's figures of sending; quinn counts neither spurious losses nor probe timeouts.
fn sender(connection: &quinn::Connection) -> Sender {
    let stats = connection.stats();
    let (path, frames) = (stats.path, stats.frame_tx);
    let ns = |time: Duration| u64::try_from(time.as_nanos()).ok();
    Sender {
        sent_packets: Some(path.sent_packets),
        lost_packets: Some(path.lost_packets),
        lost_bytes: Some(path.lost_bytes),
        congestion_events: Some(path.congestion_events),
        blocked_frames: Some(frames.data_blocked + frames.stream_data_blocked),
        smoothed_rtt_ns: ns(path.rtt),
        min_rtt_ns: ns(path.min_rtt),
        window_bytes: Some(path.cwnd),
        initial_window_bytes: Some(connection.congestion_state().initial_window()),
        segment_bytes: Some(path.current_mtu.into()),
        ..Sender::default()
    }
}

fn handshake(data: Box<dyn std::any::Any>) -> Handshake {
    *data
        .downcast()
        .expect("every session of this endpoint is a `QuicSession`, which returns only this type")
}
