//! Request and response bodies that report what passes through them to [`RequestAccounting`].

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::accounting::RequestAccounting;

/// gRPC's status UNKNOWN, which stands until the trailers arrive.
const GRPC_UNKNOWN: u16 = 2;

/// A request's body, counted; fails when it exceeds its limit.
struct CountedRequestBody<B> {
    body: B,
    accounting: RequestAccounting,
    remaining: u64,
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

/// Counts a request's body, of at most `max_bytes`, and attaches its accounting as an extension.
pub(crate) fn count_request<B>(
    request: Request<B>,
    accounting: &RequestAccounting,
    max_bytes: u64,
) -> Request<Body>
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
{
    let mut request = request.map(|body| {
        Body::new(CountedRequestBody {
            body,
            accounting: accounting.clone(),
            remaining: max_bytes,
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
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else {
            return Poll::Ready(None);
        };
        let frame = frame.map_err(|error| BodyError::Transport(error.into()))?;
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
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
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
