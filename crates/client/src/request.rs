//! A request as an app makes it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use route::{Ask, Policy};
use tokio::sync::oneshot;

use crate::engine::{Engine, origin_of};
use crate::error::Error;
use crate::message::{Message, Submission};
use crate::report::Progress;
use crate::response::{Guard, Response};

/// A request before it is sent.
#[must_use = "a request does nothing until it is sent"]
pub struct Request<'a> {
    engine: &'a Engine,
    url: String,
    head: http::request::Builder,
    method: Method,
    body: Bytes,
    kind: Option<String>,
    bytes: Option<u64>,
    urgent: bool,
    idempotent: Option<bool>,
    policy: Policy,
    limit: Option<Duration>,
    progress: Progress,
}

impl<'a> Request<'a> {
    pub(crate) fn new(engine: &'a Engine, method: Method, url: &str, policy: Policy) -> Self {
        Self {
            engine,
            url: url.to_owned(),
            head: http::Request::builder().method(method.clone()),
            method,
            body: Bytes::new(),
            kind: None,
            bytes: None,
            urgent: false,
            idempotent: None,
            policy,
            limit: None,
            progress: Progress::default(),
        }
    }

    /// Adds a header.
    pub fn header<K, V>(mut self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: Into<http::Error>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<http::Error>,
    {
        self.head = self.head.header(name, value);
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Requests with the same label are compared with each other to learn which transport is
    /// faster. Without one, those with the same method and about the same size are.
    pub fn kind(mut self, label: &str) -> Self {
        self.kind = Some(label.to_owned());
        self
    }

    /// Tells about how large the response will be.
    pub fn expect_bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Never takes this request to learn from it.
    pub fn urgent(mut self) -> Self {
        self.urgent = true;
        self
    }

    /// Says whether the request may be sent twice, where its method does not (RFC 9110 section
    /// 9.2.2), e.g. a POST with an `Idempotency-Key`.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// Routes this request by another policy than the engine's.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Limits the time until the response is complete.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Reports here, too, how the request fares.
    pub fn progress(mut self, progress: &Progress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// Sends the request and waits for the head of the response. Dropping the future cancels it.
    pub async fn send(self) -> Result<Response, Error> {
        let (origin, uri) = origin_of(&self.url).map_err(Error::Invalid)?;
        let replayable = self
            .idempotent
            .unwrap_or_else(|| self.method.is_idempotent());
        let ask = Ask {
            replayable,
            bytes: Some(self.bytes.unwrap_or(0).max(self.body.len() as u64)),
            kind: kind(&self),
            urgent: self.urgent,
            policy: self.policy,
        };
        let head = self.head.uri(uri).body(());
        let (head, ()) = head
            .map_err(|error| Error::Invalid(error.to_string()))?
            .into_parts();
        let id = self.engine.next_call();
        let (reply, response) = oneshot::channel();
        let guard = Guard::new(id, self.engine.messages());
        let (body, limit, progress) = (self.body, self.limit, self.progress);
        let asked = Instant::now();
        let submission = Submission {
            id,
            origin,
            ask,
            head,
            body,
            limit,
            asked,
            progress,
            reply,
        };
        self.engine.tell(Message::Submit(Box::new(submission)));
        let mut response = response.await.map_err(|_| Error::Ended)??;
        response.hold(guard);
        Ok(response)
    }
}

fn kind(request: &Request<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match &request.kind {
        Some(label) => label.hash(&mut hasher),
        None => {
            let size = request.bytes.unwrap_or(0).max(request.body.len() as u64);
            (request.method.as_str(), size.checked_ilog2()).hash(&mut hasher);
        }
    }
    hasher.finish() >> 1
}
