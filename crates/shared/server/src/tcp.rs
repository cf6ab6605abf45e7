//! HTTP/1.1, HTTP/2 and gRPC over TCP, with or without TLS.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response};
use http_rules::Violation;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use server_log::Transport;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::admission::Place;
use crate::body::CountedResponseBody;
use crate::config::Config;
use crate::connection::ConnectionContext;
use crate::handshake::Handshake;
use crate::http1;
use crate::http2;
use crate::refusal_log::{Reasons, RefusalLog};
use crate::shared::{Peer, Shared};
use crate::watched::WatchedStream;

/// Connections the kernel queues; Linux's own maximum since 5.4 (net.core.somaxconn).
const BACKLOG: i32 = 4096;
/// The pause after a failed accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(20);

/// One listening port.
pub(crate) struct Port {
    pub(crate) listener: TcpListener,
    pub(crate) connections: ConnectionOptions,
}

/// How a port serves its connections.
pub(crate) struct ConnectionOptions {
    /// None: without TLS.
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) nodelay: bool,
    /// Sent with each response when the port advertises HTTP/3.
    pub(crate) alt_svc: Option<HeaderValue>,
}

/// Binds a TCP listener. IPv6 listeners accept IPv6 only, so that both families can be bound.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Limits the receive buffers of all connections that a listener will accept, if the configuration does.
pub(crate) fn limit_receive_buffers(listener: &TcpListener, config: &Config) -> io::Result<()> {
    // Connections have the listener's, from their first window on.
    match config.receive_buffer {
        Some(bytes) => SockRef::from(listener).set_recv_buffer_size(bytes as usize),
        None => Ok(()),
    }
}

impl Port {
    /// Accepts connections until the server drains, then closes the listener.
    pub(crate) async fn run(self, shared: Arc<Shared>) {
        let options = Arc::new(self.connections);
        let accept = || {
            shared
                .draining
                .run_until_cancelled(accept(&self.listener, &shared))
        };
        while let Some(accepted) = accept().await {
            let (stream, peer, place) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, or the client has gone already: both are temporary.
                    shared.admission.log_failed_accept(&error);
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            let Some(admitted) = place.admit(peer.ip()) else {
                continue;
            };
            let (options, task_shared) = (options.clone(), shared.clone());
            shared.tasks.spawn(async move {
                let serving = options.serve(stream, peer, &task_shared);
                task_shared.aborted.run_until_cancelled(serving).await;
                drop(admitted);
            });
        }
    }
}

async fn accept(
    listener: &TcpListener,
    shared: &Shared,
) -> io::Result<(TcpStream, SocketAddr, Place)> {
    let place = shared.admission.place().await;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

impl ConnectionOptions {
    /// Serves one connection, from the TLS handshake, if any, to its end.
    async fn serve(&self, stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) {
        if stream.set_nodelay(self.nodelay).is_err() {
            // The client has reset the connection already.
            return;
        }
        let mut stream = WatchedStream::new(stream);
        let Some(tls) = &self.tls else {
            let connection = shared.new_connection();
            let peer = tcp_peer(&stream, peer);
            shared.log_connection(&connection, peer, Handshake::default());
            stream.log_end_of(connection.clone());
            return self.serve_http(stream, None, &connection, shared).await;
        };
        let accepting = timeout(shared.limits.handshake_time, tls.accept(stream));
        let Some(Ok(Ok(mut stream))) = shared.draining.run_until_cancelled(accepting).await else {
            return;
        };
        let connection = shared.new_connection();
        let (tcp, tls) = stream.get_ref();
        let peer = tcp_peer(tcp, peer);
        let h2 = tls.alpn_protocol() == Some(b"h2");
        shared.log_connection(&connection, peer, Handshake::of(tls, None));
        stream.get_mut().0.log_end_of(connection.clone());

        self.serve_http(stream, Some(h2), &connection, shared).await;
    }

    /// Serves requests over HTTP/2 or HTTP/1.1; where it was not negotiated which (`h2` is none), the
    /// client's first bytes decide (RFC 9113 section 3.3).
    async fn serve_http(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        h2: Option<bool>,
        connection: &ConnectionContext,
        shared: &Arc<Shared>,
    ) {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(shared.limits.header_bytes)
            .max_concurrent_streams(shared.limits.streams)
            .auto_date_header(false);
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(shared.limits.header_time)
            .max_buf_size(shared.limits.header_bytes as usize)
            .auto_date_header(false);
        let builder = match h2 {
            Some(true) => builder.http2_only(),
            Some(false) => builder.http1_only(),
            None => builder,
        };
        let stream = RefusalLog::new(stream, h2, connection);
        let service = self.service(stream.reasons(), connection, shared);
        let mut http = pin!(builder.serve_connection(TokioIo::new(stream), service));
        // Until the client closes the connection, it is idle for too long, or the server drains. After
        // that, requests in flight are served until they end or stall.
        let idle = || connection.activity.idle_for(shared.limits.idle_time);
        let mut served = tokio::select! {
            served = http.as_mut() => Some(served),
            () = shared.draining.cancelled() => None,
            () = idle() => None,
        };
        if served.is_none() {
            http.as_mut().graceful_shutdown();
            served = tokio::select! {
                served = http.as_mut() => Some(served),
                () = idle() => None,
            };
        }
        if let Some(Err(error)) = served {
            // Caused by the client or the network; the log has the requests it broke.
            tracing::debug!(%error, "connection failed");
            http1::log_malformed_head(&*error, connection);
        }
    }

    fn service(
        &self,
        reasons: Reasons,
        connection: &ConnectionContext,
        shared: &Arc<Shared>,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<CountedResponseBody>,
        Error = h2::Error,
        Future: Send + 'static,
    > + use<> {
        let (shared, connection) = (shared.clone(), connection.clone());
        let alt_svc = self.alt_svc.clone();
        service_fn(move |request| {
            let (shared, connection) = (shared.clone(), connection.clone());
            let (alt_svc, reasons) = (alt_svc.clone(), reasons.clone());
            async move {
                let refuse = |violation: Violation| {
                    reasons.add(violation.to_string());
                    http2::refusal()
                };
                let (request, broken) = http2::check(request).map_err(refuse)?;
                let mut response = shared
                    .answer(request, &connection, false, alt_svc.as_ref())
                    .await;
                match broken.get() {
                    None => Ok(response),
                    Some(violation) => {
                        response.body_mut().mark_broken();
                        Err(refuse(violation))
                    }
                }
            }
        })
    }
}

/// Returns what is known of a client before any handshake.
fn tcp_peer(stream: &WatchedStream, address: SocketAddr) -> Peer {
    let congestion = SockRef::from(stream.get_ref()).tcp_congestion().ok();
    Peer {
        transport: Transport::Tcp,
        address,
        congestion: congestion.map(|name| {
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        }),
    }
}
