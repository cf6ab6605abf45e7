//! The receiving half of a stream.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, StreamErrorIncoming, StreamId};

use crate::{Half, error, error_code, stream_id};

/// The receiving half of a stream. Dropped before its end, it tells the peer to stop.
#[derive(Debug)]
pub struct RecvStream {
    stream: quinn::RecvStream,
    half: Half,
    /// The peer's data is at an end, or not wanted any more.
    ended: bool,
}

impl RecvStream {
    pub(crate) fn new(stream: quinn::RecvStream, half: Half) -> Self {
        Self {
            stream,
            half,
            ended: false,
        }
    }

    /// The stream was accepted before the handshake was over: it came as early data.
    pub fn is_early_data(&self) -> bool {
        self.stream.is_0rtt()
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        // quinn's read future owns nothing: the waker is kept with the stream, so a fresh
        // future each time loses no data and no wake-up.
        let read = pin!(self.stream.read_chunk(usize::MAX, true)).poll(cx);
        let chunk = ready!(read);
        self.ended |= !matches!(chunk, Ok(Some(_)));
        Poll::Ready(
            chunk
                .map(|chunk| chunk.map(|chunk| chunk.bytes))
                .map_err(error::of_read),
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
        // quinn would send STOP_SENDING also for a stream whose end lies here unread, as
        // every GET's does: a frame on the wire for nothing. Reading on tells.
        let mut nobody = Context::from_waker(Waker::noop());
        let over = self.ended
            || matches!(
                quic::RecvStream::poll_data(self, &mut nobody),
                Poll::Ready(Ok(None) | Err(_))
            );
        if !over {
            let code = match self.half {
                Half::Request | Half::Unidirectional => Code::H3_NO_ERROR,
                Half::Response => Code::H3_REQUEST_CANCELLED,
            };
            quic::RecvStream::stop_sending(self, code.value());
        }
    }
}
