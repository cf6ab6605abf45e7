//! A response as an app reads it.

use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use route::CallId;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::message::Message;
use crate::report::Report;

/// A response, whose body may still be on its way. Dropping it cancels the rest.
pub struct Response {
    head: http::response::Parts,
    body: mpsc::Receiver<Part>,
    /// Set before the body is cut off.
    ending: Arc<OnceLock<Error>>,
    complete: bool,
    trailers: Option<HeaderMap>,
    report: Report,
    guard: Option<Guard>,
}

/// A piece of a body.
#[derive(Debug)]
pub(crate) enum Part {
    Data(Bytes),
    End(Option<HeaderMap>),
    Failed(Error),
}

/// Cancels a request unless it has ended.
pub(crate) struct Guard {
    id: CallId,
    messages: Option<mpsc::UnboundedSender<Message>>,
}

impl Response {
    pub(crate) fn new(
        head: http::response::Parts,
        body: mpsc::Receiver<Part>,
        ending: Arc<OnceLock<Error>>,
        report: Report,
    ) -> Self {
        Self {
            head,
            body,
            ending,
            complete: false,
            trailers: None,
            report,
            guard: None,
        }
    }

    pub(crate) fn hold(&mut self, guard: Guard) {
        self.guard = Some(guard);
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The header fields.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// How the response came.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the next piece of the body, nothing at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        if self.complete {
            return Ok(None);
        }
        match self.body.recv().await {
            Some(Part::Data(data)) => Ok(Some(data)),
            Some(Part::End(trailers)) => {
                (self.complete, self.trailers) = (true, trailers);
                if let Some(mut guard) = self.guard.take() {
                    guard.messages = None;
                }
                Ok(None)
            }
            Some(Part::Failed(error)) => Err(error),
            None => Err(self.ending.get().cloned().unwrap_or(Error::Ended)),
        }
    }

    /// The fields that came after the body; none before [`chunk`](Self::chunk) told its end.
    pub fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    /// Returns the rest of the body, which is refused if it is longer than `limit` bytes.
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, Error> {
        let mut all = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if all.len() + chunk.len() > limit {
                return Err(Error::Invalid(format!(
                    "the body is longer than {limit} bytes"
                )));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all.freeze())
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.head.status)
            .finish_non_exhaustive()
    }
}

impl Guard {
    pub(crate) fn new(id: CallId, messages: mpsc::UnboundedSender<Message>) -> Self {
        Self {
            id,
            messages: Some(messages),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(messages) = self.messages.take() {
            messages.send(Message::Cancel(self.id)).ok();
        }
    }
}
