//! Faults by the id of a call: the client asks for something ordinary and gets it wrong.
//!
//! The client's side needs nothing for it, so that the same steps that measure a client
//! library also show what it does when its server fails.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

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
                let body = self.spoil_body(body, grpc).await;
                Response::from_parts(head, body)
            }
            Self::Stall => {
                tokio::time::sleep(STALL).await;
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
    async fn spoil_body(self, body: Body, grpc: bool) -> Body {
        let Ok(whole) = body.collect().await else {
            return Body::empty();
        };
        let trailers = whole.trailers().cloned();
        let bytes = whole.to_bytes();
        let half = bytes.slice(..bytes.len() / 2);
        match self {
            Self::Reset => {
                let pieces = [Ok(half), Err("broken off on demand")];
                Body::from_stream(stream::iter(pieces))
            }
            // Over gRPC the end of the stream without a status is what is wrong.
            Self::Truncate if grpc => Body::from_stream(stream::iter([infallible(half)])),
            Self::Truncate => Body::new(StreamBody::new(stream::iter([infallible(Frame::data(
                half,
            ))]))),
            _ => slowly(bytes, trailers),
        }
    }
}

fn slowly(bytes: Bytes, trailers: Option<HeaderMap>) -> Body {
    let step = bytes.len().div_ceil(PIECES).max(1);
    let ends = (0..bytes.len()).step_by(step);
    let pieces: Vec<Bytes> = ends
        .map(|from| bytes.slice(from..bytes.len().min(from + step)))
        .collect();
    let pieces = stream::iter(pieces).then(async |piece| {
        tokio::time::sleep(PAUSE).await;
        infallible(Frame::data(piece))
    });
    let trailers = trailers.map(|trailers| infallible(Frame::trailers(trailers)));
    Body::new(StreamBody::new(
        pieces.chain(stream::iter(trailers)).boxed(),
    ))
}

fn infallible<T>(value: T) -> Result<T, Infallible> {
    Ok(value)
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
