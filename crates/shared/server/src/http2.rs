//! Checks requests over HTTP/2 where h2 leaves a rule to its user.
//!
//! hyper resets the stream of a request whose service fails, with the code of an `h2::Error` among the causes.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use axum::BoxError;
use bytes::Bytes;
use h2::Reason;
use http::{Request, Version};
use http_body::{Body, Frame, SizeHint};
use http_rules::{Violation, check_received, check_received_trailers};
use hyper::body::Incoming;

/// The rule that the trailers of a request have broken.
#[derive(Clone, Default)]
pub(crate) struct BrokenRule(Arc<OnceLock<Violation>>);

/// A request's body that fails at trailers that break a rule.
pub(crate) struct CheckedBody {
    body: Incoming,
    broken: BrokenRule,
    /// Over HTTP/1.1 hyper checks.
    is_h2: bool,
}

impl BrokenRule {
    /// Returns the rule, once the body has been read.
    pub(crate) fn get(&self) -> Option<Violation> {
        self.0.get().copied()
    }
}

/// Returns the error with which a service refuses a request.
pub(crate) fn refusal() -> h2::Error {
    Reason::PROTOCOL_ERROR.into()
}

/// Checks the head of a request over HTTP/2. Its body is checked when it is read.
///
/// # Errors
///
/// Returns the rule that the head breaks.
pub(crate) fn check(
    request: Request<Incoming>,
) -> Result<(Request<CheckedBody>, BrokenRule), Violation> {
    let (head, body) = request.into_parts();
    let is_h2 = head.version == Version::HTTP_2;
    if is_h2 {
        // h2 checks the length of the body.
        check_received(http_rules::Version::H2, &head)?;
    }
    let broken = BrokenRule::default();
    let body = CheckedBody {
        body,
        broken: broken.clone(),
        is_h2,
    };
    Ok((Request::from_parts(head, body), broken))
}

impl CheckedBody {
    fn check(&self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, BoxError> {
        match frame.into_trailers() {
            Ok(mut trailers) if self.is_h2 => {
                check_received_trailers(http_rules::Version::H2, &mut trailers)
                    .inspect_err(|violation| _ = self.broken.0.set(*violation))?;
                Ok(Frame::trailers(trailers))
            }
            Ok(trailers) => Ok(Frame::trailers(trailers)),
            Err(frame) => Ok(frame),
        }
    }
}

impl Body for CheckedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(frame.map(|frame| self.check(frame?)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
