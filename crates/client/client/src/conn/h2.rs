//! Requests over HTTP/2.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use ::h2::client::{Builder, ResponseFuture, SendRequest};
use ::h2::{Reason, RecvStream, SendStream};
use bytes::Bytes;
use futures_util::future::{Either, select};
use http_rules::{Version, Violation, check_response, check_trailers, fields_bytes};
use route::Fault;
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::mpsc;

use super::frames::{InspectedIo, LastBlocks, Notice};
use super::{
    CONN_WINDOW, Exchange, Failure, InterimCounter, MAX_HEAD_BYTES, STREAM_WINDOW, TCP_PIECES,
    cut_off,
};
use crate::body::{OutgoingBody, PIECE_BYTES};
use crate::message::{Event, Message};
use crate::response::Part;

/// An HTTP/2 connection.
#[derive(Clone)]
pub(super) struct Requests {
    sender: SendRequest<Bytes>,
    last_blocks: LastBlocks,
}

/// Starts HTTP/2 on a connection, drives it, and reports its end.
pub(super) async fn start(
    io: impl AsyncBufRead + AsyncWrite + Unpin + Send + 'static,
    conn: route::ConnId,
    messages: mpsc::UnboundedSender<Message>,
) -> Result<Requests, Fault> {
    let notices = messages.clone();
    let (io, last_blocks) = InspectedIo::new(io, move |notice| {
        let event = match notice {
            Notice::Settings => Event::Room(conn),
            Notice::GoAway => Event::GoAway(conn),
        };
        notices.send(Message::Event(event)).ok();
    });
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONN_WINDOW)
        // h2 leaves fields out of trailers that are longer, without an error. The bytes that it took are counted. A
        // field below our limit on the wire is at most 8/5 of that (RFC 7541 appendix B), so that the rest is beyond
        // our limit, too.
        .max_header_list_size(3 * MAX_HEAD_BYTES)
        .max_send_buffer_size(2 * PIECE_BYTES);
    let (sender, driver) = builder.handshake(io).await.map_err(|_| Fault::Protocol)?;
    tokio::spawn(async move {
        driver.await.ok();
        let fault = Fault::Reset;
        let closed = Event::Closed { conn, fault };
        messages.send(Message::Event(closed)).ok();
    });
    Ok(Requests {
        sender,
        last_blocks,
    })
}

impl Requests {
    /// Returns how many requests the server takes at a time.
    pub(super) fn limit(&self) -> usize {
        self.sender.current_max_send_streams()
    }

    /// Sends a request and reports its response.
    pub(super) async fn run(mut self, exchange: &Exchange) -> Result<u64, Failure> {
        let (body, _going) = exchange.outgoing();
        let request = http::Request::from_parts((*exchange.head).clone(), ());
        poll_fn(|context| self.sender.poll_ready(context))
            .await
            .map_err(|error| not_sent(&error))?;
        let (response, mut stream) = self
            .sender
            .send_request(request, body.is_empty())
            .map_err(|error| not_sent(&error))?;
        let block = Block {
            stream: response.stream_id().as_u32(),
            last_blocks: self.last_blocks,
        };
        let outcome = {
            let receiving = pin!(receive(exchange, response, &block));
            match select(pin!(send(exchange, body, &mut stream)), receiving).await {
                // A server may answer before it has the whole body, and stop the rest (RFC 9113 section 8.1).
                Either::Left(((), receiving)) => receiving.await,
                Either::Right((received, _)) => received,
            }
        };
        if matches!(&outcome, Err(failure) if failure.fault == Fault::Malformed) {
            // RFC 9113 section 8.1.1.
            stream.send_reset(Reason::PROTOCOL_ERROR);
        }
        outcome
    }
}

/// The record of a stream's last field block, kept until the stream's request ends.
struct Block {
    stream: u32,
    last_blocks: LastBlocks,
}

impl Block {
    /// Returns the rule that it breaks.
    fn violation(&self) -> Option<Violation> {
        self.last_blocks.take(self.stream)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.last_blocks.take(self.stream);
    }
}

/// Sends the body in pieces, so that no other request waits for more than one. If the server stops it, the response
/// says why, or its error.
async fn send(exchange: &Exchange, mut body: OutgoingBody, stream: &mut SendStream<Bytes>) {
    if body.is_empty() {
        return exchange.sent();
    }
    while let Some(mut piece) = body.next().await {
        while !piece.is_empty() {
            stream.reserve_capacity(piece.len());
            let Some(capacity) = poll_fn(|context| capacity(stream, context)).await else {
                return;
            };
            let part = piece.split_to(capacity.min(piece.len()));
            let ends = piece.is_empty() && body.is_empty();
            if stream.send_data(part, ends).is_err() {
                return;
            }
            if ends {
                return exchange.sent();
            }
        }
    }
    if stream.send_data(Bytes::new(), true).is_ok() {
        exchange.sent();
    }
}

/// Waits until some of what was reserved can be sent; nothing if the stream has ended.
fn capacity(
    stream: &mut SendStream<Bytes>,
    context: &mut std::task::Context<'_>,
) -> Poll<Option<usize>> {
    if stream.capacity() > 0 {
        // The server may have reset the stream.
        return match stream.poll_reset(context) {
            Poll::Pending => Poll::Ready(Some(stream.capacity())),
            Poll::Ready(_) => Poll::Ready(None),
        };
    }
    loop {
        match std::task::ready!(stream.poll_capacity(context)) {
            Some(Ok(0)) => {}
            Some(Ok(capacity)) => return Poll::Ready(Some(capacity)),
            Some(Err(_)) | None => return Poll::Ready(None),
        }
    }
}

async fn receive(
    exchange: &Exchange,
    response: ResponseFuture,
    block: &Block,
) -> Result<u64, Failure> {
    let response = final_response(response).await?;
    let (mut head, mut stream) = response.into_parts();
    let method = &exchange.head.method;
    check_size(&head.headers)?;
    let mut length = check_response(Version::H2, method, &mut head)?.length;
    let body = exchange.head(head, TCP_PIECES);
    let failure = loop {
        match exchange.piece(stream.data()).await {
            Some(Ok(chunk)) => {
                let bytes = chunk.len();
                if let Err(violation) = length.add(bytes) {
                    break violation.into();
                }
                if !exchange.pass_on(&body, chunk).await {
                    return Ok(length.received());
                }
                // An error means that the stream has ended, which the next piece shows.
                stream.flow_control().release_capacity(bytes).ok();
            }
            Some(Err(error)) => break failure(&error),
            None => match trailers(exchange, &mut stream, block).await {
                Err(failure) => break failure,
                Ok(trailers) => match length.end() {
                    Err(violation) => break violation.into(),
                    Ok(()) => {
                        body.send(Part::End(trailers)).await.ok();
                        return Ok(length.received());
                    }
                },
            },
        }
    };
    cut_off(&body, &failure).await;
    Err(failure)
}

/// Waits for the end of the stream, which only END_STREAM is: h2 reports anything else as an error.
async fn trailers(
    exchange: &Exchange,
    stream: &mut RecvStream,
    block: &Block,
) -> Result<Option<http::HeaderMap>, Failure> {
    let trailers = exchange.piece(stream.trailers()).await;
    let Some(mut fields) = trailers.map_err(|error| failure(&error))? else {
        return Ok(None);
    };
    if let Some(violation) = block.violation() {
        return Err(violation.into());
    }
    check_size(&fields)?;
    check_trailers(Version::H2, &mut fields)?;
    Ok(Some(fields))
}

fn check_size(fields: &http::HeaderMap) -> Result<(), Violation> {
    const MOST: usize = MAX_HEAD_BYTES as usize;
    match fields_bytes(fields) {
        0..=MOST => Ok(()),
        _ => Err(Violation::HeadTooLong(MOST)),
    }
}

/// Waits for the head of the final response.
async fn final_response(
    mut response: ResponseFuture,
) -> Result<http::Response<RecvStream>, Failure> {
    let mut interim = InterimCounter::default();
    poll_fn(|context| {
        while let Poll::Ready(Some(informational)) = response.poll_informational(context) {
            let informational = informational.map_err(|error| failure(&error))?;
            check_size(informational.headers())?;
            interim.add(Version::H2, informational.status(), informational.headers())?;
        }
        Pin::new(&mut response)
            .poll(context)
            .map_err(|error| failure(&error))
    })
    .await
}

/// Returns the failure of a request that h2 has not begun to send.
fn not_sent(error: &::h2::Error) -> Failure {
    if error.is_io() || error.is_go_away() {
        return Failure::gone_away();
    }
    tracing::debug!("h2 does not take the request: {error}");
    Failure::before_sending(Fault::Protocol)
}

fn failure(error: &::h2::Error) -> Failure {
    let reason = error.reason();
    if error.is_remote() {
        match reason {
            // RFC 9113 section 7: the server takes the request over HTTP/1.1.
            Some(Reason::HTTP_1_1_REQUIRED) => {
                return Failure::before_sending(Fault::Http11Required);
            }
            // RFC 9113 section 8.7: the server has done nothing.
            Some(Reason::REFUSED_STREAM) => return Failure::before_sending(Fault::Reset),
            _ => {}
        }
        // Streams above the last one that GOAWAY names fail by it; the others go on (RFC 9113 section 6.8).
        if error.is_go_away() {
            return Failure::gone_away();
        }
    }
    // What h2 itself refuses: a message on its stream, anything else with the connection.
    let fault = if error.is_library() && error.is_reset() {
        Fault::Malformed
    } else if error.is_library() || reason == Some(Reason::PROTOCOL_ERROR) {
        Fault::Protocol
    } else {
        Fault::Reset
    };
    Failure::after_sending(fault)
}
