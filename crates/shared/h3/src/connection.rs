//! A connection, which accepts and opens streams.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use futures_util::stream::{self, BoxStream, StreamExt};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming};
use quinn::ConnectionError;

use crate::accepted::AcceptedRequests;
use crate::control::{self, GoAway};
use crate::convert;
use crate::incoming::Incoming;
use crate::recv::RecvStream;
use crate::reserve::{Bidi, Reserve};
use crate::role::Role;
use crate::send::{BidiStream, SendStream};

/// The longest frame, other than DATA, that is accepted by default, bytes. h3 refuses requests whose heads are
/// longer than its `max_field_section_size` one by one; this is far above what servers commonly
/// set (8 to 16 KiB).
pub const MAX_FRAME_BYTES: u64 = 64 << 10;

const ENDLESS: &str = "`unfold` ends only when its closure returns None";

/// A connection of quinn that implements the traits of h3.
pub struct Connection {
    accept_bidi: BoxStream<'static, Result<Bidi, ConnectionError>>,
    accept_recv: BoxStream<'static, Result<quinn::RecvStream, ConnectionError>>,
    /// Used on a server's side only.
    incoming: Incoming,
    open: OpenStreams,
    accepted: Option<AcceptedRequests>,
    go_away: control::Sender,
}

impl Connection {
    /// Wraps a connection of either side, before or after its handshake has completed.
    pub fn new(connection: quinn::Connection) -> Self {
        Self {
            accept_bidi: stream::unfold(connection.clone(), |connection| async {
                Some((connection.accept_bi().await, connection))
            })
            .boxed(),
            accept_recv: stream::unfold(connection.clone(), |connection| async {
                Some((connection.accept_uni().await, connection))
            })
            .boxed(),
            incoming: Incoming::default(),
            open: OpenStreams::new(
                Reserve::new(connection.clone()),
                connection,
                MAX_FRAME_BYTES,
            ),
            accepted: None,
            go_away: control::channel().0,
        }
    }

    /// Accepts frames other than DATA of at most this many bytes; [`MAX_FRAME_BYTES`] otherwise.
    #[must_use]
    pub fn max_frame_bytes(mut self, max_frame_bytes: u64) -> Self {
        self.open.max_frame_bytes = max_frame_bytes;
        self
    }

    /// Returns which streams the peer will not process.
    pub fn go_away(&self) -> GoAway {
        GoAway::of(&self.go_away)
    }

    /// Returns streams that are opened in advance.
    pub fn reserve(&self) -> Reserve {
        self.open.reserve.clone()
    }

    /// Wraps a server's connection and keeps information about each request it accepts.
    pub fn with_accepted_requests(connection: quinn::Connection) -> (Self, AcceptedRequests) {
        let accepted = AcceptedRequests::default();
        (
            Self {
                accepted: Some(accepted.clone()),
                ..Self::new(connection)
            },
            accepted,
        )
    }
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = OpenStreams;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        loop {
            if let Poll::Ready(stream) = self.incoming.poll(cx)? {
                return Poll::Ready(Ok(stream));
            }
            let stream = ready!(self.accept_recv.poll_next_unpin(cx)).expect(ENDLESS);
            let stream = stream.map_err(convert::connection_error)?;
            let connection = self.open.connection.clone();
            let is_server = connection.side().is_server();
            let stream = RecvStream::unidirectional(
                stream,
                connection,
                self.open.max_frame_bytes,
                self.go_away.clone(),
            );
            if !is_server {
                return Poll::Ready(Ok(stream));
            }
            self.incoming.add(stream);
        }
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let stream = ready!(self.accept_bidi.poll_next_unpin(cx)).expect(ENDLESS);
        let (send, recv) = stream.map_err(convert::connection_error)?;
        let guard = self
            .accepted
            .as_ref()
            .map(|accepted| accepted.insert(&send, &recv));
        let recv = self.open.receiving(recv, Role::Request);
        let send = SendStream::new(send, Role::Response, guard).respond_to(recv.refused_request());
        Poll::Ready(Ok(BidiStream { send, recv }))
    }

    fn opener(&self) -> OpenStreams {
        self.open.clone()
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        self.open.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        self.open.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<B>::close(&mut self.open, code, reason);
    }
}

/// Opens streams on a connection.
pub struct OpenStreams {
    connection: quinn::Connection,
    max_frame_bytes: u64,
    reserve: Reserve,
    // A place in the queue for stream credit, kept between polls.
    bidi: Option<Opening<Bidi>>,
    send: Option<Opening<quinn::SendStream>>,
}

type Opening<T> = Pin<Box<dyn Future<Output = Result<T, ConnectionError>> + Send>>;

impl OpenStreams {
    fn new(reserve: Reserve, connection: quinn::Connection, max_frame_bytes: u64) -> Self {
        Self {
            connection,
            max_frame_bytes,
            reserve,
            bidi: None,
            send: None,
        }
    }

    fn receiving(&self, stream: quinn::RecvStream, role: Role) -> RecvStream {
        RecvStream::message(stream, self.connection.clone(), role, self.max_frame_bytes)
    }
}

impl Clone for OpenStreams {
    fn clone(&self) -> Self {
        let (reserve, connection) = (self.reserve.clone(), self.connection.clone());
        Self::new(reserve, connection, self.max_frame_bytes)
    }
}

impl fmt::Debug for OpenStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenStreams")
            .field(&self.connection.stable_id())
            .finish()
    }
}

impl<B: Buf> quic::OpenStreams<B> for OpenStreams {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        let reserve = &self.reserve;
        let opening = self
            .bidi
            .get_or_insert_with(|| Box::pin(reserve.clone().open()));
        let opened = ready!(opening.as_mut().poll(cx));
        self.bidi = None;
        let (send, recv) = opened.map_err(convert::stream_error)?;
        Poll::Ready(Ok(BidiStream {
            send: SendStream::new(send, Role::Request, None),
            recv: self.receiving(recv, Role::Response),
        }))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        let connection = &self.connection;
        let opening = self.send.get_or_insert_with(|| {
            let connection = connection.clone();
            Box::pin(async move { connection.open_uni().await })
        });
        let opened = ready!(opening.as_mut().poll(cx));
        self.send = None;
        let send = opened.map_err(convert::stream_error)?;
        Poll::Ready(Ok(SendStream::new(send, Role::Unidirectional, None)))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.connection
            .close(convert::error_code(code.value()), reason);
    }
}
