//! Responses, from the engine to the app.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use client::{Engine, Error, Progress, Protocol, Response};
use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderMap, Method};

use super::{Connection, StopReason};
use crate::close_reason::{CloseKind, CloseReason};
use crate::http1::{self, Framing, InvalidLength, ResponsePlan};

/// Bytes of a response's head and body that are written at once, if so many have come.
const PIECE: usize = 64 << 10;
/// Bytes that are allocated for a response at first.
const FIRST_BYTES: usize = 4 << 10;
/// How long to wait for the end of a response whose body is complete by its length.
const SETTLE_LIMIT: Duration = Duration::from_millis(100);
/// How long to wait for that end after the app has the body.
const END_LIMIT: Duration = Duration::from_secs(10);

/// Buffers a response until it is written to the app.
struct ResponseWriter {
    bytes: BytesMut,
    /// Kept until the app has the whole response.
    engine: Option<Arc<Engine>>,
    /// Whether these bytes are its last.
    complete: bool,
    /// Whether the app may send another request on this socket.
    reusable: bool,
}

impl Connection<'_> {
    /// Passes a response on. The engine is released before the app sees the response's end.
    pub(super) async fn respond(
        &mut self,
        engine: Arc<Engine>,
        method: &Method,
        mut response: Response,
    ) -> Result<(), StopReason> {
        let report = response.report().clone();
        let over_h1 = report.protocol == Protocol::H1;
        let (status, headers) = (response.status(), response.headers());
        let plan = ResponsePlan::of(method, status, over_h1, headers)?;
        let chunked_by_server = over_h1 && headers.contains_key(TRANSFER_ENCODING);
        let chunked_here = plan.framing == Framing::Chunked && !chunked_by_server;
        self.state().set_answered(report, chunked_here);
        let mut writer = ResponseWriter {
            bytes: BytesMut::with_capacity(FIRST_BYTES),
            engine: Some(engine),
            complete: false,
            reusable: !closes(headers),
        };
        http1::response_head(&mut writer.bytes, status, over_h1, headers, plan);
        self.body(&mut response, plan, &mut writer).await?;
        writer.complete = true;
        if plan.framing == Framing::Chunked {
            http1::last_chunk(&mut writer.bytes, response.trailers());
            return self.flush(&mut writer).await;
        }
        // The app may ask for its connections to be closed as soon as it has the body.
        let mut end = Box::pin(end_of(response));
        let ended = tokio::time::timeout(SETTLE_LIMIT, &mut end).await.is_ok();
        self.flush(&mut writer).await?;
        if !ended {
            // The engine's runtime drops it when the engine ends.
            tokio::spawn(end);
        }
        Ok(())
    }

    /// Passes the body on. A body with a length over HTTP/1.1 is complete with its last byte. Over HTTP/2 and HTTP/3
    /// trailers may follow, and only the end of the stream ends the body.
    async fn body(
        &self,
        response: &mut Response,
        plan: ResponsePlan,
        writer: &mut ResponseWriter,
    ) -> Result<(), StopReason> {
        let mut received = 0;
        let is_complete = |received| match plan.framing {
            Framing::None => true,
            Framing::Length(length) => received == length,
            Framing::Chunked => false,
        };
        while !is_complete(received) {
            let Some(data) = self.next(response, writer).await? else {
                break;
            };
            received += data.len() as u64;
            if plan.body_bytes.is_some_and(|bytes| received > bytes) {
                let message = "the body is longer than its length";
                return Err(StopReason::ClosedByEngine(CloseReason::cut_off(message)));
            }
            match plan.framing {
                Framing::Chunked => http1::chunk(&mut writer.bytes, &data),
                _ => writer.bytes.extend_from_slice(&data),
            }
            if writer.bytes.len() >= PIECE && !is_complete(received) {
                self.flush(writer).await?;
            }
        }
        if plan.body_bytes.is_some_and(|bytes| received < bytes) {
            self.flush(writer).await?;
            let message = "the body is shorter than its length";
            return Err(StopReason::ClosedByEngine(CloseReason::cut_off(message)));
        }
        Ok(())
    }

    /// Returns the next piece of the body. The contents of `writer` are written first if no piece is ready.
    async fn next(
        &self,
        response: &mut Response,
        writer: &mut ResponseWriter,
    ) -> Result<Option<Bytes>, StopReason> {
        let cut_off =
            |error: Error| StopReason::ClosedByEngine(CloseReason::cut_off(error.to_string()));
        tokio::select! {
            biased;
            chunk = response.chunk() => {
                if chunk.is_err() {
                    self.flush(writer).await?;
                }
                return chunk.map_err(cut_off);
            }
            () = std::future::ready(()) => {}
        }
        self.flush(writer).await?;
        tokio::select! {
            chunk = response.chunk() => chunk.map_err(cut_off),
            () = self.pipe.closed() => Err(StopReason::ClosedByApp),
        }
    }

    async fn flush(&self, writer: &mut ResponseWriter) -> Result<(), StopReason> {
        if writer.bytes.is_empty() {
            return Ok(());
        }
        let let_go = || {
            if writer.complete && writer.engine.take().is_some() {
                let mut state = self.state();
                state.progress = Progress::default();
                state.idle = writer.reusable;
            }
        };
        Ok(self.pipe.move_after(&mut writer.bytes, let_go).await?)
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

impl From<InvalidLength> for StopReason {
    fn from(_: InvalidLength) -> Self {
        let message = "the server's content lengths conflict, or one is not a number";
        Self::ClosedByEngine(CloseReason::new(CloseKind::Protocol, message))
    }
}

/// Waits for the end of a response that is complete without it. A response that is dropped before its end is cancelled,
/// as is one that continues regardless.
async fn end_of(response: Response) {
    tokio::time::timeout(END_LIMIT, response.bytes(0))
        .await
        .ok();
}
