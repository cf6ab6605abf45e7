//! Responses, from the engine to the app.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use client::{Engine, Error, Progress, Protocol, Response};
use http::Method;
use http::header::TRANSFER_ENCODING;

use super::{Connection, Stop};
use crate::end::{End, Kind};
use crate::http1::{self, Framing};

/// Bytes of a response's head and body that are written at once.
const PIECE: usize = 16 << 10;
/// How long the end of a complete response is waited for.
const END_LIMIT: Duration = Duration::from_secs(10);

/// What is about to be written.
struct Out {
    bytes: BytesMut,
    /// Kept as long as the app misses something of the response.
    engine: Option<Arc<Engine>>,
    /// Whether these bytes are its last.
    complete: bool,
}

impl Connection<'_> {
    /// Passes a response on. The engine is let go before the app sees its end.
    pub(super) async fn answer(
        &mut self,
        engine: Arc<Engine>,
        method: &Method,
        mut response: Response,
    ) -> Result<(), Stop> {
        let Some(framing) = Framing::of(method, response.status(), response.headers()) else {
            let why = "the server's content length is malformed";
            return Err(Stop::With(End::new(Kind::Protocol, why)));
        };
        let report = response.report().clone();
        let over_h1 = report.protocol == Protocol::H1;
        let chunked_by_server = over_h1 && response.headers().contains_key(TRANSFER_ENCODING);
        let chunked_here = framing == Framing::Chunked && !chunked_by_server;
        self.news().answered(report, chunked_here);
        let mut left = match framing {
            Framing::Length(length) => length,
            Framing::None => 0,
            Framing::Chunked => u64::MAX,
        };
        let mut out = Out {
            bytes: BytesMut::with_capacity(PIECE),
            engine: Some(engine),
            complete: left == 0,
        };
        let (status, headers) = (response.status(), response.headers());
        http1::response_head(&mut out.bytes, status, over_h1, headers, framing);
        // What has a length is complete with its last byte; its server may end the stream much later.
        while left > 0 {
            let Some(data) = self.next(&mut response, &mut out).await? else {
                break;
            };
            left = left
                .checked_sub(data.len() as u64)
                .ok_or_else(|| Stop::With(End::cut_off("the body is longer than its length")))?;
            match framing {
                Framing::Chunked => http1::chunk(&mut out.bytes, &data),
                _ => out.bytes.extend_from_slice(&data),
            }
            out.complete = left == 0;
            if out.bytes.len() >= PIECE {
                self.flush(&mut out).await?;
            }
        }
        match framing {
            Framing::Chunked => {
                http1::last_chunk(&mut out.bytes, response.trailers());
                out.complete = true;
            }
            _ if left > 0 => {
                self.flush(&mut out).await?;
                return Err(Stop::With(End::cut_off(
                    "the body is shorter than its length",
                )));
            }
            _ => {}
        }
        let mut end = Box::pin(end_of(response));
        let ended = tokio::select! {
            biased;
            () = &mut end => true,
            () = std::future::ready(()) => false,
        };
        self.flush(&mut out).await?;
        if !ended {
            // The engine's runtime drops it when the engine ends.
            tokio::spawn(end);
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
                self.news().progress = Progress::default();
            }
        };
        self.pipe.write_after(&out.bytes, let_go).await?;
        out.bytes.clear();
        Ok(())
    }
}

/// Waits for the end of a response that is complete without it. A response that is dropped before is cancelled, as
/// is one that goes on regardless.
async fn end_of(response: Response) {
    tokio::time::timeout(END_LIMIT, response.bytes(0))
        .await
        .ok();
}
