//! Faults by the id of a call: the client asks for something ordinary and gets it wrong.
//!
//! The client's side needs nothing for it, so that the same steps that measure a client
//! library also show what it does when its server fails.

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
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt;
use tokio::time::{Sleep, sleep};

use crate::account::CALL_ID;

/// What goes wrong with one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Half of the body, then the stream (HTTP/1.1: the connection) breaks off.
    Reset,
    /// Half of the body, ended as if it were all; of gRPC also the status is missing.
    Truncate,
    /// No answer for half a minute.
    Stall,
    /// The body in ten pieces, a twentieth of a second apart.
    Slow,
    /// 503, or gRPC's UNAVAILABLE.
    Unavailable,
    /// 302 to another route; gRPC knows no such thing, and is answered.
    Redirect,
}

/// Which calls go wrong, and how.
pub type Faults = BTreeMap<u32, Fault>;

/// Not the name of a fault.
#[derive(Debug, thiserror::Error)]
#[error("no such fault; there are {}", NAMES.map(|(name, _)| name).join(", "))]
pub struct UnknownFault;

const NAMES: [(&str, Fault); 6] = [
    ("reset", Fault::Reset),
    ("truncate", Fault::Truncate),
    ("stall", Fault::Stall),
    ("slow", Fault::Slow),
    ("unavailable", Fault::Unavailable),
    ("redirect", Fault::Redirect),
];

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

/// Lets these calls go wrong.
pub(crate) fn inject(router: Router, faults: &Faults) -> Router {
    if faults.is_empty() {
        return router;
    }
    let faults = Arc::new(faults.clone());
    router.layer(from_fn(move |request: Request, next: Next| {
        let id = request.headers().get(CALL_ID);
        let id = id.and_then(|id| id.to_str().ok()?.parse().ok());
        let fault = id.and_then(|id: u32| faults.get(&id).copied());
        async move {
            match fault {
                None => next.run(request).await,
                Some(fault) => fault.spoil(request, next).await,
            }
        }
    }))
}

impl Fault {
    async fn spoil(self, request: Request, next: Next) -> Response {
        let grpc = is_grpc(request.headers());
        match self {
            Self::Reset | Self::Truncate | Self::Slow => {
                let (head, body) = next.run(request).await.into_parts();
                let body = self.spoil_body(body).await;
                Response::from_parts(head, body)
            }
            Self::Stall => {
                sleep(STALL).await;
                next.run(request).await
            }
            Self::Unavailable if grpc => tonic::Status::unavailable("on demand").into_http(),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "on demand\n").into_response(),
            Self::Redirect if grpc => next.run(request).await,
            Self::Redirect => {
                let elsewhere = [(LOCATION, HeaderValue::from_static("/health"))];
                (StatusCode::FOUND, elsewhere).into_response()
            }
        }
    }

    /// The body is held whole first; those that are spoilt are small.
    async fn spoil_body(self, body: Body) -> Body {
        let Ok(whole) = body.collect().await else {
            return Body::empty();
        };
        let trailers = whole.trailers().cloned();
        let bytes = whole.to_bytes();
        let half = || VecDeque::from([Frame::data(bytes.slice(..bytes.len() / 2))]);
        Body::new(match self {
            Self::Reset => Spoilt::new(half(), Duration::ZERO, true),
            Self::Truncate => Spoilt::new(half(), Duration::ZERO, false),
            _ => {
                let step = bytes.len().div_ceil(PIECES).max(1);
                let piece = |from| bytes.slice(from..bytes.len().min(from + step));
                let pieces = (0..bytes.len()).step_by(step).map(piece).map(Frame::data);
                let frames = pieces.chain(trailers.map(Frame::trailers)).collect();
                Spoilt::new(frames, PAUSE, false)
            }
        })
    }
}

/// What is left of a body.
struct Spoilt {
    frames: VecDeque<Frame<Bytes>>,
    /// Before each frame.
    pause: Duration,
    pausing: Option<Pin<Box<Sleep>>>,
    breaks_off: bool,
}

impl Spoilt {
    fn new(frames: VecDeque<Frame<Bytes>>, pause: Duration, breaks_off: bool) -> Self {
        Self {
            frames,
            pause,
            pausing: None,
            breaks_off,
        }
    }
}

impl HttpBody for Spoilt {
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
            None if self.breaks_off => Some(Err("broken off on demand")),
            None => None,
        })
    }

    /// Some transports do not poll again after the last byte they expect.
    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && !self.breaks_off
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"application/grpc"))
}

const STALL: Duration = Duration::from_secs(30);
const PIECES: usize = 10;
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_names() {
        for (name, fault) in NAMES {
            assert_eq!(name.parse::<Fault>().unwrap(), fault);
            assert_eq!(fault.to_string(), name);
        }
        let refused = "fire".parse::<Fault>().unwrap_err().to_string();
        assert!(refused.contains("unavailable"), "{refused}");
    }
}
