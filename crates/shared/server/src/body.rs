//! Request and response bodies that report what passes through them to [`RequestAccounting`].
//!
//! What is left of a request's body is read after the response, within bounds: only at its end does it show whether the
//! message kept the rules. Over HTTP/2 and HTTP/3 it would otherwise be cut off, unchecked.

use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::accounting::RequestAccounting;
use crate::http1;

/// gRPC's status UNKNOWN, which stands until the trailers arrive.
const GRPC_UNKNOWN: u16 = 2;
/// How much of a request is read after its response, and for how long.
const REST_BYTES: usize = 64 << 10;
const REST_TIME: Duration = Duration::from_secs(1);

/// A request's body, counted; fails when it exceeds its limit.
struct CountedRequestBody<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    /// None once it has ended or failed.
    body: Option<B>,
    accounting: RequestAccounting,
    remaining: u64,
    /// Where the rest is read when nobody else will; none if it is cut off.
    rest: Option<TaskTracker>,
}

/// A request's body was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the request's body exceeds this server's limit")]
    TooLarge,
    #[error(transparent)]
    Transport(axum::BoxError),
}

/// A response's body, counted; dropping it writes the request's log line.
pub(crate) struct CountedResponseBody {
    body: Body,
    accounting: RequestAccounting,
    status: u16,
    /// The body has reached its end.
    ended: bool,
}

/// Counts a request's body, of at most `max_bytes`, and attaches its accounting as an extension. What the service leaves
/// unread is read on by a task of `rest`.
pub(crate) fn count_request<B>(
    request: Request<B>,
    accounting: &RequestAccounting,
    max_bytes: u64,
    rest: Option<TaskTracker>,
) -> Request<Body>
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
{
    let mut request = request.map(|body| {
        Body::new(CountedRequestBody {
            body: Some(body),
            accounting: accounting.clone(),
            remaining: max_bytes,
            rest,
        })
    });
    request.extensions_mut().insert(accounting.clone());
    request
}

/// Counts a response's body.
pub(crate) fn count_response(
    response: Response<Body>,
    accounting: RequestAccounting,
) -> Response<CountedResponseBody> {
    accounting.record_response();
    let mut status = response.status().as_u16();
    if accounting.is_grpc() {
        status = grpc_status(response.headers()).unwrap_or(GRPC_UNKNOWN);
    }
    response.map(|body| CountedResponseBody {
        ended: body.is_end_stream(),
        body,
        accounting,
        status,
    })
}

impl<B> HttpBody for CountedRequestBody<B>
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = match ready!(Pin::new(body).poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            ended => {
                self.body = None;
                let failed = ended.and_then(Result::err).map(Into::into);
                if let Some(error) = &failed {
                    http1::log_malformed_body(&**error, &self.accounting);
                }
                return Poll::Ready(failed.map(|error| Err(BodyError::Transport(error))));
            }
        };
        if let Some(data) = frame.data_ref() {
            let Some(remaining) = self.remaining.checked_sub(data.len() as u64) else {
                return Poll::Ready(Some(Err(BodyError::TooLarge)));
            };
            self.remaining = remaining;
            self.accounting.record_read();
            if !self.accounting.is_grpc() {
                self.accounting.add_received(data);
            }
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map_or(SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl<B> Drop for CountedRequestBody<B>
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
{
    fn drop(&mut self) {
        let (Some(mut body), Some(tasks)) = (self.body.take(), &self.rest) else {
            return;
        };
        if body.is_end_stream() {
            return;
        }
        // Over HTTP/3 the end of most requests has arrived, but was not read.
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut body).poll_frame(&mut context) {
            Poll::Ready(None | Some(Err(_))) => return,
            // None while the runtime shuts down.
            _ if Handle::try_current().is_err() => return,
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        tasks.spawn(timeout(REST_TIME, read_rest(body)));
    }
}

/// Reads what is left of a body that is of no use any more.
async fn read_rest(mut body: impl HttpBody<Data = Bytes> + Unpin) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > REST_BYTES {
            return;
        }
    }
}

impl HttpBody for CountedResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.ended = true,
            Some(Err(_)) => {}
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref().filter(|_| !self.accounting.is_grpc()) {
                    self.accounting.add_sent(data);
                }
                if let Some(status) = frame.trailers_ref().and_then(grpc_status) {
                    self.status = status;
                }
                // A transport that sees the end here does not poll again.
                self.ended = self.body.is_end_stream();
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl CountedResponseBody {
    /// Marks the response as broken although its body has ended: the transport could not send it.
    pub(crate) fn mark_broken(&mut self) {
        self.ended = false;
    }
}

impl Drop for CountedResponseBody {
    fn drop(&mut self) {
        self.accounting.finish(self.status, !self.ended);
    }
}

fn grpc_status(headers: &HeaderMap) -> Option<u16> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}
