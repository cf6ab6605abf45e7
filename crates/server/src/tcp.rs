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
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::account::{Ledger, Outgoing};
use crate::connection::{Peer, Shared, idle};
use crate::handshake::Handshake;
use record::server_log::Transport;

/// One listening port.
pub(crate) struct Port {
    pub(crate) listener: TcpListener,
    pub(crate) manner: Manner,
}

/// How a port's connections are served.
pub(crate) struct Manner {
    pub(crate) tls: TlsAcceptor,
    pub(crate) nodelay: bool,
    /// Sent with each response, when this port advertises HTTP/3.
    pub(crate) alt_svc: Option<HeaderValue>,
}

/// Binds a TCP listener; IPv6 ones take IPv6 only, so that both families can be bound.
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
    /// Accepts connections until the server drains, and then is closed to newcomers.
    pub(crate) async fn run(self, shared: Arc<Shared>) {
        let manner = Arc::new(self.manner);
        let accept = || {
            shared
                .draining
                .run_until_cancelled(accept(&self.listener, &shared))
        };
        while let Some(accepted) = accept().await {
            let Ok((stream, peer, permit)) = accepted else {
                // Out of file descriptors, or a client gone early: neither is for ever.
                tokio::time::sleep(AFTER_FAILURE).await;
                continue;
            };
            let (manner, shared_by) = (manner.clone(), shared.clone());
            shared.tasks.spawn(async move {
                let serving = manner.connection(stream, peer, &shared_by);
                shared_by.killed.run_until_cancelled(serving).await;
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
        .connections
        .clone()
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

impl Manner {
    /// From the first byte to the last.
    async fn connection(&self, stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) {
        if stream.set_nodelay(self.nodelay).is_err() {
            // The client has reset the connection already.
            return;
        }
        let accepting = timeout(shared.limits.handshake_time, self.tls.accept(stream));
        let Some(Ok(Ok(stream))) = shared.draining.run_until_cancelled(accepting).await else {
            return;
        };
        let ledger = shared.ledger();
        let (tcp, tls) = stream.get_ref();
        let congestion = SockRef::from(tcp).tcp_congestion().ok();
        let peer = Peer {
            transport: Transport::Tcp,
            port: peer.port(),
            congestion: congestion.map(|name| {
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                String::from_utf8_lossy(name).into_owned()
            }),
        };
        let h2 = tls.alpn_protocol() == Some(b"h2");
        shared.connected(&ledger, peer, Handshake::of(tls, None));

        let service = self.service(&ledger, shared);
        let io = TokioIo::new(stream);
        let served = if h2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder
                .timer(TokioTimer::new())
                .max_header_list_size(shared.limits.header_bytes)
                .max_concurrent_streams(shared.limits.streams)
                .auto_date_header(false);
            serve(pin!(builder.serve_connection(io, service)), &ledger, shared).await
        } else {
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(shared.limits.header_time)
                .max_buf_size(shared.limits.header_bytes as usize)
                .auto_date_header(false);
            serve(pin!(builder.serve_connection(io, service)), &ledger, shared).await
        };
        if let Err(error) = served {
            // The client's or the network's affair; the log has the requests it broke.
            tracing::debug!(%error, "connection broke off");
        }
    }

    fn service(
        &self,
        ledger: &Ledger,
        shared: &Arc<Shared>,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<Outgoing>,
        Error = Infallible,
        Future: Send + 'static,
    > + use<> {
        let (shared, ledger, alt_svc) = (shared.clone(), ledger.clone(), self.alt_svc.clone());
        service_fn(move |request| {
            let (shared, ledger, alt_svc) = (shared.clone(), ledger.clone(), alt_svc.clone());
            async move {
                Ok(shared
                    .answer(request, &ledger, false, alt_svc.as_ref())
                    .await)
            }
        })
    }
}

/// Serves a connection until its client leaves, it rests too long, or the server drains;
/// then what is begun, for as long as something moves.
async fn serve<C: Serving>(
    mut connection: Pin<&mut C>,
    ledger: &Ledger,
    shared: &Shared,
) -> hyper::Result<()> {
    let rested = || idle(&ledger.activity, shared.limits.idle_time);
    tokio::select! {
        served = connection.as_mut() => return served,
        () = shared.draining.cancelled() => {}
        () = rested() => {}
    }
    connection.as_mut().wind_up();
    tokio::select! {
        served = connection.as_mut() => served,
        () = rested() => Ok(()),
    }
}

/// hyper's two kinds of connection.
trait Serving: Future<Output = hyper::Result<()>> {
    /// Takes no new requests and ends with the last one.
    fn wind_up(self: Pin<&mut Self>);
}

impl<S> Serving for http1::Connection<TokioIo<TlsStream<TcpStream>>, S>
where
    S: HttpService<Incoming, ResBody = Outgoing, Error = Infallible>,
{
    fn wind_up(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S> Serving for http2::Connection<TokioIo<TlsStream<TcpStream>>, S, TokioExecutor>
where
    S: HttpService<Incoming, ResBody = Outgoing, Error = Infallible, Future: Send + 'static>,
{
    fn wind_up(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Connections the kernel keeps for us; Linux's own maximum since 5.4 (net.core.somaxconn).
const BACKLOG: i32 = 4096;
const AFTER_FAILURE: Duration = Duration::from_millis(20);
