//! Faults injected by request id: the client sends an ordinary request and the answer fails.
//!
//! The client needs no support for it, so the steps that measure a client library also show
//! how it behaves when its server fails.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::time::{Sleep, sleep};

use crate::head;

const NAMES: [(&str, Fault); 7] = [
    ("reset", Fault::Reset),
    ("truncate", Fault::Truncate),
    ("garbage", Fault::Garbage),
    ("stall", Fault::Stall),
    ("slow", Fault::Slow),
    ("unavailable", Fault::Unavailable),
    ("redirect", Fault::Redirect),
];
const STALL: Duration = Duration::from_secs(30);
const SLOW_CHUNKS: usize = 10;
const SLOW_PAUSE: Duration = Duration::from_millis(50);

/// How the answer to a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Half of the body, then the stream (over HTTP/1.1, the connection) is reset.
    Reset,
    /// Half of the body, ended as if it were complete. gRPC's status is missing too.
    Truncate,
    /// A body of the right length with every bit flipped.
    Garbage,
    /// No answer for 30 s, then the right one.
    Stall,
    /// The body in ten chunks, 50 ms apart.
    Slow,
    /// 503, or gRPC's UNAVAILABLE.
    Unavailable,
    /// 302 to `/health`. gRPC has no redirects and is answered normally.
    Redirect,
}

/// The faults to inject, by request id.
pub type Faults = BTreeMap<u32, Fault>;

/// The text is not the name of a fault.
#[derive(Debug, thiserror::Error)]
#[error("unknown fault; use one of {}", NAMES.map(|(name, _)| name).join(", "))]
pub struct UnknownFault;

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, fault)| *fault).ok_or(UnknownFault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().find(|(_, fault)| fault == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// Wraps a router so that it injects these faults.
pub(crate) fn inject(router: Router, faults: Faults) -> Router {
    if faults.is_empty() {
        return router;
    }
    let faults = Arc::new(faults);
    router.layer(from_fn(move |request: Request, next: Next| {
        let id = head::request_id(request.headers());
        let fault = id.and_then(|id| faults.get(&id).copied());
        async move {
            match fault {
                None => next.run(request).await,
                Some(fault) => fault.apply(request, next).await,
            }
        }
    }))
}

impl Fault {
    async fn apply(self, request: Request, next: Next) -> Response {
        let grpc = head::is_grpc(request.headers());
        match self {
            Self::Reset | Self::Truncate | Self::Garbage | Self::Slow => {
                let (head, body) = next.run(request).await.into_parts();
                Response::from_parts(head, self.apply_to_body(body).await)
            }
            Self::Stall => {
                sleep(STALL).await;
                next.run(request).await
            }
            Self::Unavailable if grpc => tonic::Status::unavailable("injected").into_http(),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "injected\n").into_response(),
            Self::Redirect if grpc => next.run(request).await,
            Self::Redirect => {
                let location = [(LOCATION, HeaderValue::from_static("/health"))];
                (StatusCode::FOUND, location).into_response()
            }
        }
    }

    /// Applies the fault to the whole body, which it buffers first: bodies that get faults are
    /// small.
    async fn apply_to_body(self, body: Body) -> Body {
        let Ok(whole) = body.collect().await else {
            return Body::empty();
        };
        let trailers = whole.trailers().cloned().map(Frame::trailers);
        let bytes = whole.to_bytes();
        // h3's client takes an empty DATA frame for the end of the body.
        let half = Some(bytes.slice(..bytes.len() / 2)).filter(|half| !half.is_empty());
        let half = half.into_iter().map(Frame::data).collect();
        Body::new(match self {
            Self::Reset => FaultyBody::new(half, Duration::ZERO, true),
            Self::Truncate => FaultyBody::new(half, Duration::ZERO, false),
            Self::Garbage => {
                let flipped = bytes.iter().map(|byte| !byte).collect::<Bytes>();
                let frames = [Frame::data(flipped)].into_iter().chain(trailers);
                FaultyBody::new(frames.collect(), Duration::ZERO, false)
            }
            _ => {
                let step = bytes.len().div_ceil(SLOW_CHUNKS).max(1);
                let chunk = |from| bytes.slice(from..bytes.len().min(from + step));
                let chunks = (0..bytes.len()).step_by(step).map(chunk).map(Frame::data);
                FaultyBody::new(chunks.chain(trailers).collect(), SLOW_PAUSE, false)
            }
        })
    }
}

/// A response body with a fault.
struct FaultyBody {
    frames: VecDeque<Frame<Bytes>>,
    /// The pause before each frame and before the end.
    pause: Duration,
    pausing: Option<Pin<Box<Sleep>>>,
    resets: bool,
}

impl FaultyBody {
    fn new(frames: VecDeque<Frame<Bytes>>, pause: Duration, resets: bool) -> Self {
        Self {
            frames,
            pause,
            pausing: None,
            resets,
        }
    }
}

impl HttpBody for FaultyBody {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        let pause = self.pause;
        let pausing = self.pausing.get_or_insert_with(|| Box::pin(sleep(pause)));
        ready!(pausing.as_mut().poll(cx));
        self.pausing = None;
        Poll::Ready(match self.frames.pop_front() {
            Some(frame) => Some(Ok(frame)),
            None if self.resets => Some(Err("injected reset")),
            None => None,
        })
    }

    /// Reports whether all frames were sent. Some transports do not poll again after the last byte
    /// they expect.
    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && !self.resets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_names_round_trip() {
        for (name, fault) in NAMES {
            assert_eq!(name.parse::<Fault>().unwrap(), fault);
            assert_eq!(fault.to_string(), name);
        }
        let refused = "fire".parse::<Fault>().unwrap_err().to_string();
        assert!(refused.contains("unavailable"), "{refused}");
    }
}
