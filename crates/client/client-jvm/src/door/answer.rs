//! Responses, from the engine to the app.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use client::{Engine, Error, Progress, Protocol, Response};
use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderMap, Method};

use super::{Connection, Stop};
use crate::end::{End, Kind};
use crate::http1::{self, Framing, InvalidLength, Shape};

/// Bytes of a response's head and body that are written at once.
const PIECE: usize = 16 << 10;
/// How long the end of a response is waited for whose body is complete by its length.
const SETTLE_LIMIT: Duration = Duration::from_millis(100);
/// How long it is waited for after the app has the body.
const END_LIMIT: Duration = Duration::from_secs(10);

/// What is about to be written.
struct Out {
    bytes: BytesMut,
    /// Kept as long as the app misses something of the response.
    engine: Option<Arc<Engine>>,
    /// Whether these bytes are its last.
    complete: bool,
    /// Whether the app may send another request on this socket.
    reusable: bool,
}

impl Connection<'_> {
    /// Passes a response on. The engine is released before the app sees the response's end.
    pub(super) async fn answer(
        &mut self,
        engine: Arc<Engine>,
        method: &Method,
        mut response: Response,
    ) -> Result<(), Stop> {
        let report = response.report().clone();
        let over_h1 = report.protocol == Protocol::H1;
        let (status, headers) = (response.status(), response.headers());
        let shape = Shape::of(method, status, over_h1, headers)?;
        let chunked_by_server = over_h1 && headers.contains_key(TRANSFER_ENCODING);
        let chunked_here = shape.framing == Framing::Chunked && !chunked_by_server;
        self.news().answered(report, chunked_here);
        let mut out = Out {
            bytes: BytesMut::with_capacity(PIECE),
            engine: Some(engine),
            complete: false,
            reusable: !closes(headers),
        };
        http1::response_head(&mut out.bytes, status, over_h1, headers, shape);
        self.body(&mut response, shape, &mut out).await?;
        out.complete = true;
        if shape.framing == Framing::Chunked {
            http1::last_chunk(&mut out.bytes, response.trailers());
            return self.flush(&mut out).await;
        }
        // The app may ask for its connections to be closed as soon as it has the body.
        let mut end = Box::pin(end_of(response));
        let ended = tokio::time::timeout(SETTLE_LIMIT, &mut end).await.is_ok();
        self.flush(&mut out).await?;
        if !ended {
            // The engine's runtime drops it when the engine ends.
            tokio::spawn(end);
        }
        Ok(())
    }

    /// Passes the body on. A body with a length over HTTP/1.1 is complete with its last byte. Over HTTP/2 and HTTP/3
    /// trailers may follow, and only the end of the stream ends the body.
    async fn body(&self, response: &mut Response, shape: Shape, out: &mut Out) -> Result<(), Stop> {
        let mut received = 0;
        let is_complete = |received| match shape.framing {
            Framing::None => true,
            Framing::Length(length) => received == length,
            Framing::Chunked => false,
        };
        while !is_complete(received) {
            let Some(data) = self.next(response, out).await? else {
                break;
            };
            received += data.len() as u64;
            if shape.body_bytes.is_some_and(|bytes| received > bytes) {
                let why = "the body is longer than its length";
                return Err(Stop::With(End::cut_off(why)));
            }
            match shape.framing {
                Framing::Chunked => http1::chunk(&mut out.bytes, &data),
                _ => out.bytes.extend_from_slice(&data),
            }
            if out.bytes.len() >= PIECE && !is_complete(received) {
                self.flush(out).await?;
            }
        }
        if shape.body_bytes.is_some_and(|bytes| received < bytes) {
            self.flush(out).await?;
            let why = "the body is shorter than its length";
            return Err(Stop::With(End::cut_off(why)));
        }
        Ok(())
    }

    /// Returns the next piece of the body. What is in `out` is written first if there is none yet.
    async fn next(&self, response: &mut Response, out: &mut Out) -> Result<Option<Bytes>, Stop> {
        let cut_off = |error: Error| Stop::With(End::cut_off(error.to_string()));
        tokio::select! {
            biased;
            chunk = response.chunk() => {
                if chunk.is_err() {
                    self.flush(out).await?;
                }
                return chunk.map_err(cut_off);
            }
            () = std::future::ready(()) => {}
        }
        self.flush(out).await?;
        tokio::select! {
            chunk = response.chunk() => chunk.map_err(cut_off),
            () = self.pipe.closed() => Err(Stop::Closed),
        }
    }

    async fn flush(&self, out: &mut Out) -> Result<(), Stop> {
        if out.bytes.is_empty() {
            return Ok(());
        }
        let let_go = || {
            if out.complete && out.engine.take().is_some() {
                let mut news = self.news();
                news.progress = Progress::default();
                news.idle = out.reusable;
            }
        };
        self.pipe.write_after(&out.bytes, let_go).await?;
        out.bytes.clear();
        Ok(())
    }
}

/// Reports whether the server closes its connection after this response, and OkHttp its socket.
fn closes(headers: &HeaderMap) -> bool {
    let values = headers.get_all(CONNECTION).iter();
    let mut options = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    options.any(|option| option.trim().eq_ignore_ascii_case("close"))
}

impl From<InvalidLength> for Stop {
    fn from(_: InvalidLength) -> Self {
        let why = "the server's content lengths conflict, or one is not a number";
        Self::With(End::new(Kind::Protocol, why))
    }
}

/// Waits for the end of a response that is complete without it. A response that is dropped before its end is cancelled,
/// as is one that continues regardless.
async fn end_of(response: Response) {
    tokio::time::timeout(END_LIMIT, response.bytes(0))
        .await
        .ok();
}
