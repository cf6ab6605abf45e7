//! The receiving half of a stream.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId};
use quinn::ReadError;

use crate::control::{self, Control, Kind};
use crate::convert::{error_code, read_error, stream_id};
use crate::messages::Messages;
use crate::refused::{Refused, RefusedRequest};
use crate::role::Role;

/// Chunks that are read at once.
const CHUNKS: usize = 16;

/// The receiving half of a stream. Dropping it before its end asks the peer to stop sending.
#[derive(Debug)]
pub struct RecvStream {
    stream: quinn::RecvStream,
    /// Closed when the stream breaks a rule of connections.
    connection: quinn::Connection,
    role: Role,
    frames: Frames,
    /// Chunks that have not been checked.
    read: VecDeque<Bytes>,
    /// What h3 has not taken yet.
    passed: VecDeque<Bytes>,
    /// All data has been read, or the peer was asked to stop.
    ended: bool,
    /// Shared with the response's half.
    refused: RefusedRequest,
}

/// Follows the stream's frames.
#[derive(Debug)]
enum Frames {
    Messages(Messages),
    Control(Control),
}

impl RecvStream {
    /// Wraps a request or a response.
    pub(crate) fn message(
        stream: quinn::RecvStream,
        connection: quinn::Connection,
        role: Role,
        max_frame_bytes: u64,
    ) -> Self {
        let messages = Messages::new(role == Role::Response, max_frame_bytes);
        Self::new(stream, connection, role, Frames::Messages(messages))
    }

    /// Wraps a unidirectional stream.
    pub(crate) fn unidirectional(
        stream: quinn::RecvStream,
        connection: quinn::Connection,
        max_frame_bytes: u64,
        go_away: control::Sender,
    ) -> Self {
        let control = Control::new(max_frame_bytes, go_away, connection.side().is_server());
        let frames = Frames::Control(control);
        Self::new(stream, connection, Role::Unidirectional, frames)
    }

    fn new(
        stream: quinn::RecvStream,
        connection: quinn::Connection,
        role: Role,
        frames: Frames,
    ) -> Self {
        Self {
            stream,
            connection,
            role,
            frames,
            read: VecDeque::new(),
            passed: VecDeque::new(),
            ended: false,
            refused: RefusedRequest::default(),
        }
    }

    /// Returns whether the request was refused, for the half of its response.
    pub(crate) fn refused_request(&self) -> RefusedRequest {
        self.refused.clone()
    }

    /// Checks what has come and passes it on.
    fn pass_on(&mut self, chunk: Bytes) -> Result<(), Refused> {
        match &mut self.frames {
            Frames::Messages(messages) => messages.push(&chunk, &mut self.passed),
            Frames::Control(control) => {
                control.push(&chunk)?;
                self.passed.push_back(chunk);
                Ok(())
            }
        }
    }

    /// Reads chunks, each a packet's worth; returns the first. quinn locks the connection for each read.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, ReadError>> {
        if let Some(chunk) = self.read.pop_front() {
            return Poll::Ready(Ok(Some(chunk)));
        }
        let mut chunks = [const { Bytes::new() }; CHUNKS];
        // quinn's read future has no state of its own: the waker is stored with the stream, so a
        // new future per poll loses neither data nor wake-ups.
        let read = pin!(self.stream.read_chunks(&mut chunks)).poll(cx);
        let Some(count) = ready!(read)? else {
            return Poll::Ready(Ok(None));
        };
        let mut chunks = chunks.into_iter().take(count);
        let first = chunks.next();
        self.read.extend(chunks);
        Poll::Ready(Ok(first))
    }

    /// Reads the next chunk. Returns false at the end of the stream.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, StreamErrorIncoming>> {
        let checked = match ready!(self.poll_read(cx)) {
            Ok(Some(chunk)) => self.pass_on(chunk).map(|()| true),
            Ok(None) => {
                self.ended = true;
                match &self.frames {
                    Frames::Messages(messages) => messages.end().map(|()| false),
                    // h3 closes the connection, as a control stream must not end.
                    Frames::Control(_) => Ok(false),
                }
            }
            Err(error) => {
                self.ended = true;
                return Poll::Ready(Err(read_error(error)));
            }
        };
        Poll::Ready(checked.map_err(|refused| self.refuse(refused)))
    }

    /// Reads until the use of a unidirectional stream is known, and keeps what it reads for h3. Returns nothing for a
    /// stream that ends before.
    pub(crate) fn poll_kind(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Kind>, StreamErrorIncoming>> {
        loop {
            if let Frames::Control(control) = &self.frames
                && let Some(kind) = control.kind()
            {
                return Poll::Ready(Ok(Some(kind)));
            }
            if !ready!(self.poll_chunk(cx))? {
                return Poll::Ready(Ok(None));
            }
        }
    }

    /// Ends the stream, or the whole connection, for what the peer has sent.
    pub(crate) fn refuse(&mut self, refused: Refused) -> StreamErrorIncoming {
        self.ended = true;
        self.refused.set(refused);
        let code = error_code(refused.code().value());
        // A response that is too long is its own stream's fault; other frames that long are a flood.
        let is_flood = refused == Refused::FrameTooLong && self.role != Role::Response;
        if refused.ends_connection() || is_flood {
            self.connection.close(code, refused.to_string().as_bytes());
            // h3 would call any other error of a control stream its end.
            if matches!(&self.frames, Frames::Control(control) if control.is_of_client()) {
                let connection_error = ConnectionErrorIncoming::Undefined(Arc::new(refused));
                return StreamErrorIncoming::ConnectionErrorIncoming { connection_error };
            }
        } else {
            // An error means the stream has ended already: nothing is left to stop.
            self.stream.stop(code).ok();
        }
        StreamErrorIncoming::Unknown(Box::new(refused))
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        loop {
            if let Some(bytes) = self.passed.pop_front() {
                return Poll::Ready(Ok(Some(bytes)));
            }
            if !ready!(self.poll_chunk(cx))? {
                return Poll::Ready(Ok(None));
            }
        }
    }

    fn stop_sending(&mut self, code: u64) {
        self.ended = true;
        // An error means the stream has ended already: nothing is left to stop.
        self.stream.stop(error_code(code)).ok();
    }

    fn recv_id(&self) -> StreamId {
        stream_id(self.stream.id())
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // quinn would send a needless STOP_SENDING for a stream whose end has arrived but was not
        // read, as with every GET. Another read finds the end.
        let mut context = Context::from_waker(Waker::noop());
        let mut read = quic::RecvStream::poll_data(self, &mut context);
        // h3 may drop the control stream of a connection that has ended before it has read the last GOAWAY.
        while self.role == Role::Unidirectional && matches!(read, Poll::Ready(Ok(Some(_)))) {
            read = quic::RecvStream::poll_data(self, &mut context);
        }
        if !matches!(read, Poll::Ready(Ok(None) | Err(_))) {
            let code = match self.role {
                Role::Request | Role::Unidirectional => Code::H3_NO_ERROR,
                Role::Response => Code::H3_REQUEST_CANCELLED,
            };
            quic::RecvStream::stop_sending(self, code.value());
        }
    }
}
