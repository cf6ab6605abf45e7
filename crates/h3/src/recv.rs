//! The receiving half of a stream.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId};
use quinn::ConnectionError;

use crate::convert::{error_code, read_error, stream_error, stream_id};
use crate::frame_limit::FrameLimit;
use crate::role::Role;

/// The receiving half of a stream. Dropping it before its end asks the peer to stop sending.
#[derive(Debug)]
pub struct RecvStream {
    stream: quinn::RecvStream,
    /// Closed when a frame is too long.
    connection: quinn::Connection,
    role: Role,
    frames: FrameLimit,
    /// All data has been read, or the peer was asked to stop.
    ended: bool,
}

impl RecvStream {
    pub(crate) fn new(
        stream: quinn::RecvStream,
        connection: quinn::Connection,
        role: Role,
    ) -> Self {
        Self {
            stream,
            connection,
            role,
            frames: match role {
                Role::Request | Role::Response => FrameLimit::bidirectional(),
                Role::Unidirectional => FrameLimit::unidirectional(),
            },
            ended: false,
        }
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        // quinn's read future has no state of its own: the waker is stored with the stream, so a
        // new future per poll loses neither data nor wake-ups.
        let read = pin!(self.stream.read_chunk(usize::MAX, true)).poll(cx);
        let chunk = ready!(read);
        self.ended |= !matches!(chunk, Ok(Some(_)));
        if let Ok(Some(chunk)) = &chunk
            && self.frames.check(&chunk.bytes).is_err()
        {
            self.ended = true;
            let code = error_code(Code::H3_EXCESSIVE_LOAD.value());
            self.connection.close(code, b"frame too long");
            return Poll::Ready(Err(stream_error(ConnectionError::LocallyClosed)));
        }
        Poll::Ready(
            chunk
                .map(|chunk| chunk.map(|chunk| chunk.bytes))
                .map_err(read_error),
        )
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
        // quinn would send a needless STOP_SENDING for a stream whose end has arrived but was not
        // read, as with every GET. Another read finds the end.
        let mut context = Context::from_waker(Waker::noop());
        let ended = self.ended
            || matches!(
                quic::RecvStream::poll_data(self, &mut context),
                Poll::Ready(Ok(None) | Err(_))
            );
        if !ended {
            let code = match self.role {
                Role::Request | Role::Unidirectional => Code::H3_NO_ERROR,
                Role::Response => Code::H3_REQUEST_CANCELLED,
            };
            quic::RecvStream::stop_sending(self, code.value());
        }
    }
}
