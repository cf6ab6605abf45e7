//! HTTP/3, and gRPC if someone should speak it there, over QUIC.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::StreamError;
use h3::server::RequestStream;
use h3_quic::{Accepted, Connection, RecvStream, SendStream};
use http::Response;
use http_body::{Body, Frame};
use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::{Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig, VarInt};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::account::{Ledger, Outgoing};
use crate::config::{Congestion, Limits};
use crate::connection::{Peer, Shared, idle};
use crate::early::EarlyStreams;
use crate::handshake::{Handshake, QuicTls};
use crate::log::Transport;

/// One listening port.
pub(crate) struct Port {
    pub(crate) endpoint: Endpoint,
    pub(crate) congestion: Congestion,
    /// Places for handshakes of clients whose address is not proven.
    half_open: Arc<Semaphore>,
}

/// A UDP socket, and the buffers the kernel granted it.
pub(crate) struct Bound {
    socket: Socket,
    pub(crate) receive_buffer: usize,
    pub(crate) send_buffer: usize,
}

/// Binds a UDP socket; IPv6 ones take IPv6 only, so that both families can be bound.
pub(crate) fn bind(address: SocketAddr) -> io::Result<Bound> {
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
    let (receive_buffer, send_buffer) = (socket.recv_buffer_size()?, socket.send_buffer_size()?);
    Ok(Bound {
        socket,
        receive_buffer,
        send_buffer,
    })
}

impl Port {
    /// Starts an endpoint. Windows and timers are quinn's own.
    pub(crate) fn new(
        bound: Bound,
        tls: QuicTls,
        limits: &Limits,
        congestion: Congestion,
    ) -> io::Result<Self> {
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(limits.streams.into());
        match congestion {
            Congestion::Cubic => {
                transport.congestion_controller_factory(Arc::new(CubicConfig::default()))
            }
            Congestion::NewReno => {
                transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
            }
            Congestion::Bbr => {
                transport.congestion_controller_factory(Arc::new(BbrConfig::default()))
            }
        };
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            Some(config),
            bound.socket.into(),
            Arc::new(TokioRuntime),
        )?;
        Ok(Self {
            endpoint,
            congestion,
            half_open: Arc::new(Semaphore::new(limits.half_open)),
        })
    }

    /// Accepts connections until the server drains.
    pub(crate) async fn run(self, shared: Arc<Shared>) {
        let accept = || shared.draining.run_until_cancelled(self.endpoint.accept());
        while let Some(Some(incoming)) = accept().await {
            let Ok(permit) = shared.connections.clone().try_acquire_owned() else {
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
            let (shared_by, congestion) = (shared.clone(), self.congestion);
            shared.tasks.spawn(async move {
                let serving = connection(incoming, half_open, congestion, &shared_by);
                shared_by.killed.run_until_cancelled(serving).await;
                drop(permit);
            });
        }
        // Whoever comes now is told so at once.
        self.endpoint.set_server_config(None);
    }
}

/// From the first packet to the last.
async fn connection(
    incoming: quinn::Incoming,
    half_open: Option<OwnedSemaphorePermit>,
    congestion: Congestion,
    shared: &Arc<Shared>,
) {
    let peer_port = incoming.remote_address().port();
    let Ok(mut connecting) = incoming.accept() else {
        return;
    };
    let handshake_time = shared.limits.handshake_time;
    let Ok(Ok(data)) = timeout(handshake_time, connecting.handshake_data()).await else {
        return;
    };
    let peer = Peer {
        transport: Transport::Quic,
        port: peer_port,
        congestion: Some(congestion.name().to_owned()),
    };
    let ledger = shared.ledger();
    let Some(early) = facts(data).early else {
        let Ok(Ok(connection)) = timeout(handshake_time, connecting).await else {
            return;
        };
        drop(half_open);
        established(&connection, &ledger, peer, shared);
        return serve(connection, &EarlyStreams::default(), &ledger, shared).await;
    };
    // Requests are here before the handshake is over: serve both side by side.
    let (connection, done) = match connecting.into_0rtt() {
        Ok(early) => early,
        Err(_) => unreachable!("a server may always use its keys early"),
    };
    let finish = async {
        let done = timeout(handshake_time, done).await;
        drop(half_open);
        if done.is_ok() {
            established(&connection, &ledger, peer, shared);
        } else {
            connection.close(NO_ERROR, b"handshake too slow");
        }
    };
    tokio::join!(finish, serve(connection.clone(), &early, &ledger, shared));
}

/// Logs a connection whose handshake is over, unless it has failed.
fn established(connection: &quinn::Connection, ledger: &Ledger, peer: Peer, shared: &Shared) {
    if connection.close_reason().is_none()
        && let Some(data) = connection.handshake_data()
    {
        shared.connected(ledger, peer, facts(data));
    }
}

fn facts(data: Box<dyn std::any::Any>) -> Handshake {
    *data
        .downcast()
        .expect("this endpoint's sessions all are ours, and hand out nothing else")
}

/// Serves requests until the client leaves, all rests too long, or the server drains.
async fn serve(
    quic: quinn::Connection,
    early: &EarlyStreams,
    ledger: &Ledger,
    shared: &Arc<Shared>,
) {
    let (connection, accepted) = Connection::recorded(quic.clone());
    let mut builder = h3::server::builder();
    builder.max_field_section_size(shared.limits.header_bytes.into());
    let Ok(mut h3) = builder.build::<_, Bytes>(connection).await else {
        return;
    };
    let requests = TaskTracker::new();
    let mut winding_up = false;
    let rested = || idle(&ledger.activity, shared.limits.idle_time);
    loop {
        let next = tokio::select! {
            next = h3.accept() => next,
            () = shared.draining.cancelled(), if !winding_up => {
                winding_up = true;
                // GOAWAY: what is begun is finished, the rest is refused.
                if h3.shutdown(0).await.is_err() {
                    return;
                }
                requests.close();
                continue;
            }
            () = requests.wait(), if winding_up => break,
            () = rested() => break,
        };
        match next {
            Ok(Some(resolver)) => {
                let exchange = Exchange {
                    accepted: accepted.clone(),
                    early: early.clone(),
                    ledger: ledger.clone(),
                    shared: shared.clone(),
                }
                .run(resolver);
                let killed = shared.killed.clone();
                requests.spawn(async move { killed.run_until_cancelled(exchange).await });
            }
            // The client asks for nothing more.
            Ok(None) => {
                requests.close();
                tokio::select! {
                    () = requests.wait() => break,
                    () = rested() => break,
                }
            }
            Err(_) => return,
        }
    }
    quic.close(NO_ERROR, b"");
}

type Resolver = h3::server::RequestResolver<Connection, Bytes>;

/// One request and its response.
struct Exchange {
    accepted: Accepted,
    early: EarlyStreams,
    ledger: Ledger,
    shared: Arc<Shared>,
}

impl Exchange {
    async fn run(self, resolver: Resolver) {
        let header_time = self.shared.limits.header_time;
        // Too slow or malformed: h3, or the drop of the stream, has told the client.
        let Ok(Ok((request, stream))) = timeout(header_time, resolver.resolve_request()).await
        else {
            return;
        };
        let Some(facts) = self.accepted.take(stream.id()) else {
            return;
        };
        let early = self.early.contains(stream.id().into_inner());
        let (mut send, recv) = stream.split();
        let request = request.map(|()| RequestBody {
            stream: recv,
            data_ended: false,
        });
        let mut delivered = pin!(facts.delivered.wait());
        let response = tokio::select! {
            response = self.shared.answer(request, &self.ledger, early, None) => response,
            // The client wants no answer any more.
            _ = &mut delivered => return,
        };
        let (head, mut body) = response.into_parts();
        if respond(&mut send, Response::from_parts(head, ()), &mut body)
            .await
            .is_err()
        {
            body.broke();
            return;
        }
        drop(body);
        // A drain must not close the connection over data that is still under way.
        delivered.await;
    }
}

async fn respond(
    send: &mut RequestStream<SendStream<Bytes>, Bytes>,
    head: Response<()>,
    body: &mut Outgoing,
) -> Result<(), Broken> {
    send.send_response(head).await?;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        match frame?.into_data() {
            Ok(data) => send.send_data(data).await?,
            Err(frame) => {
                if let Ok(trailers) = frame.into_trailers() {
                    send.send_trailers(trailers).await?;
                }
            }
        }
    }
    Ok(send.finish().await?)
}

/// Why a response was not sent whole; which of the two, nobody asks.
struct Broken;

impl From<StreamError> for Broken {
    fn from(_: StreamError) -> Self {
        Self
    }
}

impl From<axum::Error> for Broken {
    fn from(_: axum::Error) -> Self {
        Self
    }
}

/// A request's body as it comes off its stream.
struct RequestBody {
    stream: RequestStream<RecvStream, Bytes>,
    data_ended: bool,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        if !self.data_ended {
            if let Some(mut data) = ready!(self.stream.poll_recv_data(cx))? {
                let data = data.copy_to_bytes(data.remaining());
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            self.data_ended = true;
        }
        let trailers = ready!(self.stream.poll_recv_trailers(cx))?;
        Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
    }
}

/// H3_NO_ERROR, RFC 9114 section 8.1.
const NO_ERROR: VarInt = VarInt::from_u32(0x100);
/// Bursts of a fast sender wait here while the server's threads wait for a core; the kernel
/// may grant less (net.core.rmem_max), which `Facts` tells.
const SOCKET_BUFFER: usize = 4 << 20;
