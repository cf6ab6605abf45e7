//! Bodies of requests, from the app to the engine.

use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use client::{BodyWriter, Request, Response};

use super::{Connection, StopReason};
use crate::close_reason::CloseReason;
use crate::http1::Body;
use crate::pipe::EngineEnd;

/// Bodies up to this length are held, so that the engine can send them again.
pub(super) const HELD_BODY: u64 = 64 << 10;
/// How long the app may take to write a body that is held. A slower one is sent while the app writes it: the server may
/// answer before the end.
pub(super) const HELD_WAIT: Duration = Duration::from_millis(50);

/// A request that has been answered.
pub(super) struct AnsweredRequest {
    pub(super) response: Response,
    /// Whether the app has written the whole body.
    pub(super) body_is_whole: bool,
}

impl Connection<'_> {
    /// Sends a request and its body.
    pub(super) async fn send(
        &mut self,
        mut body: Body,
        request: Request,
    ) -> Result<AnsweredRequest, StopReason> {
        let length = body.length();
        let mut buffered = BytesMut::new();
        if length.is_some_and(|length| length <= HELD_BODY) {
            let holding = self.hold(&mut body, &mut buffered);
            if let Ok(held) = tokio::time::timeout(HELD_WAIT, holding).await {
                held?;
                let response = self.whole(request.body(buffered.freeze())).await?;
                return Ok(AnsweredRequest {
                    response,
                    body_is_whole: true,
                });
            }
        }
        let (request, writer) = request.streamed(length);
        self.streamed(buffered.freeze(), body, request, writer)
            .await
    }

    /// Reads a body to its end.
    async fn hold(&mut self, body: &mut Body, held: &mut BytesMut) -> Result<(), StopReason> {
        while !body.is_at_end() {
            match body.take(&mut self.unread)? {
                Some(data) if held.is_empty() => *held = data.into(),
                Some(data) => held.extend_from_slice(&data),
                None => self.pipe.read(&mut self.unread).await?,
            }
        }
        Ok(())
    }

    async fn whole(&self, request: Request) -> Result<Response, StopReason> {
        tokio::select! {
            response = self.sent(request) => response,
            () = self.pipe.closed() => Err(StopReason::ClosedByApp),
        }
    }

    /// Sends a request and its body at the same time. OkHttp reads no response before it has written the request, or
    /// has failed to. So if the engine takes no more of the body, the app's next write fails.
    async fn streamed(
        &mut self,
        buffered: Bytes,
        body: Body,
        request: Request,
        writer: BodyWriter,
    ) -> Result<AnsweredRequest, StopReason> {
        let mut sent = pin!(self.sent(request));
        let mut upload = pin!(upload(buffered, body, &mut self.unread, self.pipe, writer));
        let (mut response, mut whole) = (None, None);
        loop {
            tokio::select! {
                answer = &mut sent, if response.is_none() => response = Some(answer?),
                done = &mut upload, if whole.is_none() => whole = Some(done?),
                () = self.pipe.closed() => return Err(StopReason::ClosedByApp),
            }
            if let Some(body_is_whole) = whole
                && let Some(response) = response.take()
            {
                return Ok(AnsweredRequest {
                    response,
                    body_is_whole,
                });
            }
        }
    }
}

/// Passes a body on; returns whether the app has written all of it.
async fn upload(
    buffered: Bytes,
    mut body: Body,
    unread: &mut BytesMut,
    pipe: &EngineEnd<CloseReason>,
    mut writer: BodyWriter,
) -> Result<bool, StopReason> {
    if !buffered.is_empty() && writer.write(buffered).await.is_err() {
        return refuse(body, unread, pipe);
    }
    while !body.is_at_end() {
        let Some(data) = body.take(unread)? else {
            if !body.is_at_end() {
                pipe.read(unread).await?;
            }
            continue;
        };
        if writer.write(data).await.is_err() {
            // The response, or its error, says why no more is taken.
            return refuse(body, unread, pipe);
        }
    }
    writer.finish().await.ok();
    Ok(true)
}

/// Makes the app's next write fail, unless it has written all.
fn refuse(
    mut body: Body,
    unread: &mut BytesMut,
    pipe: &EngineEnd<CloseReason>,
) -> Result<bool, StopReason> {
    pipe.refuse(unread);
    while body.take(unread)?.is_some() {}
    let is_whole = body.is_at_end();
    if is_whole {
        pipe.accept();
    }
    Ok(is_whole)
}
