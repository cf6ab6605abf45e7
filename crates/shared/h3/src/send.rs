//! The sending half of a stream, and bidirectional streams.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use quinn::WriteError;

use crate::accepted::AcceptedGuard;
use crate::convert::{error_code, stream_id, write_error};
use crate::recv::RecvStream;
use crate::refused::{Refused, RefusedRequest};
use crate::role::Role;

/// The sending half of a stream. Dropping it before it is finished resets it, unless h3 has answered the request.
pub struct SendStream<B: Buf> {
    stream: quinn::SendStream,
    role: Role,
    writing: Option<WriteBuf<B>>,
    /// Something was given to it to send.
    is_begun: bool,
    state: State,
    /// Keeps the information about an accepted request until its stream is dropped.
    accepted: Option<AcceptedGuard>,
    /// Whether the request was refused that this is the response to.
    refused: RefusedRequest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The peer has stopped a request, which is not an error: writes are discarded.
    Discarding,
    /// Finished or reset.
    Ended,
}

impl<B: Buf> SendStream<B> {
    pub(crate) fn new(
        stream: quinn::SendStream,
        role: Role,
        accepted: Option<AcceptedGuard>,
    ) -> Self {
        Self {
            stream,
            role,
            writing: None,
            is_begun: false,
            state: State::Open,
            accepted,
            refused: RefusedRequest::default(),
        }
    }

    /// Makes this the response to a request.
    pub(crate) fn respond_to(mut self, refused: RefusedRequest) -> Self {
        self.refused = refused;
        self
    }

    /// Reports whether h3 has answered the request by itself: status 431, without a body, for a head that is too long. h3
    /// then drops the stream unfinished, and the server never sees the request.
    fn is_answered_by_h3(&self) -> bool {
        let untaken = self
            .accepted
            .as_ref()
            .is_some_and(|guard| !guard.is_taken());
        untaken && self.is_begun && self.writing.is_none()
    }

    /// Handles the peer's STOP_SENDING: discards the rest of a request, and fails otherwise. Either
    /// way the stream is reset, as RFC 9000 section 3.5 requires.
    fn on_stopped(&mut self, code: quinn::VarInt) -> Result<(), StreamErrorIncoming> {
        self.reset_with(code);
        self.writing = None;
        if self.role == Role::Request {
            self.state = State::Discarding;
            Ok(())
        } else {
            Err(write_error(WriteError::Stopped(code)))
        }
    }

    fn reset_with(&mut self, code: quinn::VarInt) {
        self.state = State::Ended;
        // An error means the stream has ended already: nothing is left to reset.
        self.stream.reset(code).ok();
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = self
            .writing
            .as_mut()
            .filter(|data| Buf::has_remaining(*data))
        {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, data.chunk())) {
                Ok(written) => data.advance(written),
                Err(WriteError::Stopped(code)) => return Poll::Ready(self.on_stopped(code)),
                Err(other) => return Poll::Ready(Err(write_error(other))),
            }
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.state == State::Discarding {
            return Ok(());
        }
        if self.writing.is_some() {
            return Err(StreamErrorIncoming::ConnectionErrorIncoming {
                connection_error: ConnectionErrorIncoming::InternalError(
                    "send_data called before poll_ready completed for the last one".into(),
                ),
            });
        }
        self.writing = Some(data.into());
        self.is_begun = true;
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        ready!(self.poll_ready(cx))?;
        if self.state == State::Open {
            self.state = State::Ended;
            if let Err(closed) = self.stream.finish() {
                return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(closed))));
            }
        }
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, code: u64) {
        self.reset_with(error_code(code));
    }

    fn send_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

impl<B: Buf> Drop for SendStream<B> {
    fn drop(&mut self) {
        if self.state == State::Open && self.is_answered_by_h3() {
            // An error means that the stream has ended already.
            self.stream.finish().ok();
        } else if self.state == State::Open {
            let code = match self.role {
                Role::Request => Code::H3_REQUEST_CANCELLED,
                Role::Response | Role::Unidirectional => self
                    .refused
                    .get()
                    .map_or(Code::H3_INTERNAL_ERROR, Refused::code),
            };
            self.reset_with(error_code(code.value()));
        }
    }
}

/// Both halves of a bidirectional stream: a request and its response.
pub struct BidiStream<B: Buf> {
    pub(crate) send: SendStream<B>,
    pub(crate) recv: RecvStream,
}

impl<B: Buf> quic::BidiStream<B> for BidiStream<B> {
    type SendStream = SendStream<B>;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream<B>, RecvStream) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.send.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

impl<B: Buf> quic::RecvStream for BidiStream<B> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        self.recv.poll_data(cx)
    }

    fn stop_sending(&mut self, code: u64) {
        self.recv.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}
