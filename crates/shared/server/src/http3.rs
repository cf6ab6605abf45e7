//! HTTP/3 on one QUIC connection, including gRPC over HTTP/3.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::{Code, ConnectionError, LocalError, StreamError};
use h3::quic::{ConnectionErrorIncoming, SendStream as _};
use h3::server::RequestStream;
use h3_quic::{AcceptedRequests, Connection, RecvStream, Refused, SendStream};
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_rules::{BodyLength, Version, Violation, check_received, check_received_trailers};
use quinn::VarInt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accounting::RequestAccounting;
use crate::body::CountedResponseBody;
use crate::connection::ConnectionContext;
use crate::early::EarlyStreams;
use crate::shared::Shared;
use crate::stall::StallingConnection;

/// H3_NO_ERROR, RFC 9114 section 8.1.
pub(crate) const NO_ERROR: VarInt = VarInt::from_u32(0x100);

type Resolver = h3::server::RequestResolver<Connection, Bytes>;

/// Serves requests until the client closes the connection, it is idle for too long, or the
/// server drains.
pub(crate) async fn serve(
    quic: quinn::Connection,
    early: &EarlyStreams,
    context: &ConnectionContext,
    stalling: Option<&StallingConnection>,
    shared: &Arc<Shared>,
) {
    let (connection, accepted) = Connection::with_accepted_requests(quic.clone());
    let mut builder = h3::server::builder();
    let header_bytes = u64::from(shared.limits.header_bytes);
    builder.max_field_section_size(header_bytes);
    // A longer head is refused by itself; only what is far longer costs the connection.
    let connection = connection.max_frame_bytes(header_bytes.max(h3_quic::MAX_FRAME_BYTES));
    let Ok(mut h3) = builder.build::<_, Bytes>(connection).await else {
        return;
    };
    let requests = TaskTracker::new();
    let mut draining = false;
    let idle = || context.activity.idle_for(shared.limits.idle_time);
    loop {
        let next = tokio::select! {
            next = h3.accept() => next,
            () = shared.draining.cancelled(), if !draining => {
                draining = true;
                // GOAWAY: requests in flight finish, later ones are refused. h3 adds to the last stream that it
                // accepted, but GOAWAY names the first that is not processed (RFC 9114 section 5.2).
                if h3.shutdown(1).await.is_err() {
                    return;
                }
                requests.close();
                continue;
            }
            () = requests.wait(), if draining => break,
            () = idle() => break,
        };
        match next {
            // h3 takes one request too many after that.
            Ok(Some(mut resolver)) if draining => {
                (resolver.frame_stream).reset(Code::H3_REQUEST_REJECTED.value());
            }
            Ok(Some(resolver)) => {
                let request = RequestTask {
                    accepted: accepted.clone(),
                    early: early.clone(),
                    context: context.clone(),
                    is_answered: stalling.is_none(),
                    shared: shared.clone(),
                }
                .run(resolver);
                let end = match stalling {
                    None => shared.aborted.clone(),
                    Some(stalling) => {
                        stalling.fall_silent();
                        shared.draining.clone()
                    }
                };
                requests.spawn(async move { end.run_until_cancelled(request).await });
            }
            // The client sends no more requests.
            Ok(None) => {
                requests.close();
                tokio::select! {
                    () = requests.wait() => break,
                    () = idle() => break,
                }
            }
            Err(error) => {
                log_refused_connection(&error, context);
                return;
            }
        }
    }
    quic.close(NO_ERROR, b"");
}

/// Logs the error that ended a connection if it refuses what the client has sent.
fn log_refused_connection(error: &ConnectionError, context: &ConnectionContext) {
    match error {
        ConnectionError::Local {
            error: LocalError::Application { code, reason, .. },
        } => context.log_refused(None, &code.to_string(), reason),
        ConnectionError::Remote(ConnectionErrorIncoming::Undefined(source)) => {
            if let Some(refused) = source.downcast_ref::<Refused>() {
                context.log_refused(None, &refused.code().to_string(), &refused.to_string());
            }
        }
        // The client has gone.
        _ => {}
    }
}

/// Logs an error of a request's stream if it refuses what the client has sent. Returns whether it does.
fn log_refused(error: &StreamError, stream: u64, context: &ConnectionContext) -> bool {
    let (code, reason) = match error {
        StreamError::StreamError { code, reason } => (code.to_string(), reason.clone()),
        StreamError::HeaderTooBig {
            actual_size,
            max_size,
        } => {
            let reason = format!("a head of {actual_size} bytes, where {max_size} are accepted");
            (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
                    .as_str()
                    .to_owned(),
                reason,
            )
        }
        StreamError::ConnectionError(ConnectionError::Local {
            error: LocalError::Application { code, reason, .. },
        }) => (code.to_string(), reason.clone()),
        StreamError::Undefined(source) => match source.downcast_ref::<Refused>() {
            Some(refused) => (refused.code().to_string(), refused.to_string()),
            None => return false,
        },
        // The client has gone, or has cancelled the request.
        _ => return false,
    };
    context.log_refused(Some(stream), &code, &reason);
    true
}

/// Serves one request.
struct RequestTask {
    accepted: AcceptedRequests,
    early: EarlyStreams,
    context: ConnectionContext,
    is_answered: bool,
    shared: Arc<Shared>,
}

impl RequestTask {
    async fn run(self, resolver: Resolver) {
        let header_time = self.shared.limits.header_time;
        let number = resolver.frame_stream.id().into_inner();
        // Too slow, too long or malformed: h3, or dropping the stream, has ended it.
        let (request, mut stream) = match timeout(header_time, resolver.resolve_request()).await {
            Ok(Ok(resolved)) => resolved,
            Ok(Err(error)) => {
                log_refused(&error, number, &self.context);
                return;
            }
            Err(_) => return,
        };
        let (head, ()) = request.into_parts();
        let length = match check_received(Version::H3, &head) {
            Ok(length) => length,
            Err(violation) => {
                let code = Code::H3_MESSAGE_ERROR;
                stream.stop_stream(code);
                stream.stop_sending(code);
                let reason = violation.to_string();
                (self.context).log_refused(Some(number), &code.to_string(), &reason);
                return;
            }
        };
        let Some(info) = self.accepted.take(stream.id()) else {
            return;
        };
        let early = self.early.contains(number);
        if self.shared.resets_quic {
            RequestAccounting::start(&self.context, &head, early).finish_unanswered();
            // Dropped before its end, the stream is reset.
            return;
        }
        let (mut send, recv) = stream.split();
        let refused = CancellationToken::new();
        let body = Http3RequestBody {
            stream: recv,
            data_ended: false,
            length,
            context: self.context.clone(),
            refused: refused.clone(),
        };
        let request = Request::from_parts(head, body);
        let mut delivery = pin!(info.delivery.wait());
        let answer = async {
            match self.is_answered {
                true => {
                    self.shared
                        .answer(request, &self.context, early, None)
                        .await
                }
                false => match self
                    .shared
                    .leave_unanswered(request, &self.context, early)
                    .await {},
            }
        };
        let response = tokio::select! {
            response = answer => response,
            // The client has cancelled the request.
            _ = &mut delivery => return,
        };
        let (head, mut body) = response.into_parts();
        let sent = tokio::select! {
            biased;
            () = refused.cancelled() => None,
            sent = send_response(&mut send, Response::from_parts(head, ()), &mut body) => Some(sent),
        };
        if !matches!(sent, Some(Ok(()))) {
            body.mark_broken();
            if sent.is_none() {
                send.stop_stream(Code::H3_MESSAGE_ERROR);
            }
            return;
        }
        drop(body);
        // A drain must not close the connection while data is still in flight.
        delivery.await;
    }
}

async fn send_response(
    send: &mut RequestStream<SendStream<Bytes>, Bytes>,
    head: Response<()>,
    body: &mut CountedResponseBody,
) -> Result<(), Incomplete> {
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

/// The response was not sent completely: its stream or its body failed.
struct Incomplete;

impl From<StreamError> for Incomplete {
    fn from(_: StreamError) -> Self {
        Self
    }
}

impl From<axum::Error> for Incomplete {
    fn from(_: axum::Error) -> Self {
        Self
    }
}

/// A request's body, read from its stream and checked.
struct Http3RequestBody {
    stream: RequestStream<RecvStream, Bytes>,
    data_ended: bool,
    length: BodyLength,
    context: ConnectionContext,
    /// Cancelled when the message breaks a rule.
    refused: CancellationToken,
}

impl Http3RequestBody {
    /// Ends the stream of a malformed message.
    fn refuse(&mut self, violation: Violation) -> axum::BoxError {
        let code = Code::H3_MESSAGE_ERROR;
        self.stream.stop_sending(code);
        self.refused.cancel();
        let (number, reason) = (self.stream.id().into_inner(), violation.to_string());
        (self.context).log_refused(Some(number), &code.to_string(), &reason);
        violation.into()
    }

    /// Passes on an error of the stream.
    fn fail(&mut self, error: StreamError) -> axum::BoxError {
        if log_refused(&error, self.stream.id().into_inner(), &self.context) {
            self.refused.cancel();
        }
        error.into()
    }
}

impl Body for Http3RequestBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if !self.data_ended {
            let received = ready!(self.stream.poll_recv_data(cx));
            let data =
                received.map(|data| data.map(|mut data| data.copy_to_bytes(data.remaining())));
            let checked = match data {
                Ok(Some(data)) => match self.length.add(data.len()) {
                    Ok(()) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                    Err(violation) => Err(violation),
                },
                Ok(None) => self.length.end(),
                Err(error) => return Poll::Ready(Some(Err(self.fail(error)))),
            };
            if let Err(violation) = checked {
                return Poll::Ready(Some(Err(self.refuse(violation))));
            }
            self.data_ended = true;
        }
        match ready!(self.stream.poll_recv_trailers(cx)) {
            Ok(None) => Poll::Ready(None),
            Ok(Some(mut trailers)) => {
                let checked = check_received_trailers(Version::H3, &mut trailers);
                Poll::Ready(Some(match checked {
                    Ok(()) => Ok(Frame::trailers(trailers)),
                    Err(violation) => Err(self.refuse(violation)),
                }))
            }
            Err(error) => Poll::Ready(Some(Err(self.fail(error)))),
        }
    }
}
