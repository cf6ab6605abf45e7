//! Ways to go wrong, on demand: for the tests of clients, drivers and lab.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream;
use http_body::{Frame, SizeHint};

use crate::files::FileBody;

/// `/fault/...`
pub(crate) fn router() -> Router {
    Router::new()
        .route("/fault/stall/{ms}", get(stall))
        .route("/fault/reset/{bytes}", get(reset))
        .route("/fault/truncate", get(async || truncate()))
        .route("/fault/garbage", get(async || garbage()))
}

/// Nothing for a while, then an answer.
async fn stall(Path(ms): Path<u64>) -> Response {
    let stall = Duration::from_millis(ms);
    if stall > LONGEST_STALL {
        let text = format!("at most {} ms\n", LONGEST_STALL.as_millis());
        return (StatusCode::BAD_REQUEST, text).into_response();
    }
    tokio::time::sleep(stall).await;
    "stalled\n".into_response()
}

/// So many bytes, then the stream (HTTP/1.1: the connection) breaks off. The length was
/// promised twice as long.
async fn reset(Path(bytes): Path<u32>) -> Response {
    let pieces = FileBody::new(0..u64::from(bytes)).map(Ok);
    let pieces = pieces.chain([Err("broken off on demand")]);
    let promised = (u64::from(bytes) + 1) * 2;
    (
        [(CONTENT_LENGTH, promised)],
        Body::from_stream(stream::iter(pieces)),
    )
        .into_response()
}

/// A length is promised, and half of it sent as if it were all.
fn truncate() -> Response {
    (
        [(CONTENT_LENGTH, FAULTY_BYTES)],
        Body::new(Short(FileBody::new(0..FAULTY_BYTES / 2))),
    )
        .into_response()
}

/// As long as `/bytes/1000`, and every bit of it wrong.
fn garbage() -> Response {
    let file = FileBody::new(0..FAULTY_BYTES).flatten();
    file.map(|byte| !byte).collect::<Vec<u8>>().into_response()
}

/// Hides the length of its file, which would contradict the header.
struct Short(FileBody);

impl http_body::Body for Short {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

const LONGEST_STALL: Duration = Duration::from_secs(600);
const FAULTY_BYTES: u64 = 1000;
