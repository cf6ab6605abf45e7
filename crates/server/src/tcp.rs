//! HTTP/1.1, HTTP/2 and gRPC over TLS over TCP.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{HttpService, Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use record::server_log::Transport;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::body::CountedResponseBody;
use crate::connection::ConnectionContext;
use crate::handshake::Handshake;
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
    pub(crate) tls: TlsAcceptor,
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
            let Ok((stream, peer, permit)) = accepted else {
                // Out of file descriptors, or the client has gone already: both are temporary.
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            };
            let (options, task_shared) = (options.clone(), shared.clone());
            shared.tasks.spawn(async move {
                let serving = options.serve(stream, peer, &task_shared);
                task_shared.aborted.run_until_cancelled(serving).await;
                drop(permit);
            });
        }
    }
}

async fn accept(
    listener: &TcpListener,
    shared: &Shared,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = shared
        .connection_permits
        .clone()
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

impl ConnectionOptions {
    /// Serves one connection, from the TLS handshake to its end.
    async fn serve(&self, stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) {
        if stream.set_nodelay(self.nodelay).is_err() {
            // The client has reset the connection already.
            return;
        }
        let stream = WatchedStream::new(stream);
        let accepting = timeout(shared.limits.handshake_time, self.tls.accept(stream));
        let Some(Ok(Ok(mut stream))) = shared.draining.run_until_cancelled(accepting).await else {
            return;
        };
        let connection = shared.new_connection();
        let (tcp, tls) = stream.get_ref();
        let congestion = SockRef::from(tcp.get_ref()).tcp_congestion().ok();
        let peer = Peer {
            transport: Transport::Tcp,
            address: peer,
            congestion: congestion.map(|name| {
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                String::from_utf8_lossy(name).into_owned()
            }),
        };
        let h2 = tls.alpn_protocol() == Some(b"h2");
        shared.log_connection(&connection, peer, Handshake::of(tls, None));
        stream.get_mut().0.log_end_of(connection.clone());

        let service = self.service(&connection, shared);
        let io = TokioIo::new(stream);
        let served = if h2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .max_header_list_size(shared.limits.header_bytes)
                .max_concurrent_streams(shared.limits.streams)
                .auto_date_header(false);
            let http = pin!(builder.serve_connection(io, service));
            drive(http, &connection, shared).await
        } else {
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(shared.limits.header_time)
                .max_buf_size(shared.limits.header_bytes as usize)
                .auto_date_header(false);
            let http = pin!(builder.serve_connection(io, service));
            drive(http, &connection, shared).await
        };
        if let Err(error) = served {
            // Caused by the client or the network; the log has the requests it broke.
            tracing::debug!(%error, "connection failed");
        }
    }

    fn service(
        &self,
        connection: &ConnectionContext,
        shared: &Arc<Shared>,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<CountedResponseBody>,
        Error = Infallible,
        Future: Send + 'static,
    > + use<> {
        let (shared, connection) = (shared.clone(), connection.clone());
        let alt_svc = self.alt_svc.clone();
        service_fn(move |request| {
            let (shared, connection) = (shared.clone(), connection.clone());
            let alt_svc = alt_svc.clone();
            async move {
                Ok(shared
                    .answer(request, &connection, false, alt_svc.as_ref())
                    .await)
            }
        })
    }
}

/// Serves requests until the client closes the connection, it is idle for too long, or the
/// server drains. After that, serves the requests in flight until they end or stall.
async fn drive<C: HttpConnection>(
    mut http: Pin<&mut C>,
    connection: &ConnectionContext,
    shared: &Shared,
) -> hyper::Result<()> {
    let idle = || connection.activity.idle_for(shared.limits.idle_time);
    tokio::select! {
        served = http.as_mut() => return served,
        () = shared.draining.cancelled() => {}
        () = idle() => {}
    }
    http.as_mut().drain();
    tokio::select! {
        served = http.as_mut() => served,
        () = idle() => Ok(()),
    }
}

/// hyper's two connection types.
trait HttpConnection: Future<Output = hyper::Result<()>> {
    /// Refuses new requests; the future completes when those in flight have.
    fn drain(self: Pin<&mut Self>);
}

impl<S> HttpConnection for http1::Connection<TokioIo<TlsStream<WatchedStream>>, S>
where
    S: HttpService<Incoming, ResBody = CountedResponseBody, Error = Infallible>,
{
    fn drain(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S> HttpConnection for http2::Connection<TokioIo<TlsStream<WatchedStream>>, S, TokioExecutor>
where
    S: HttpService<
            Incoming,
            ResBody = CountedResponseBody,
            Error = Infallible,
            Future: Send + 'static,
        >,
{
    fn drain(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}
