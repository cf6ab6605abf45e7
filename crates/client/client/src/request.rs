//! A request as an app makes it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{IF_RANGE, RANGE};
use http::{HeaderName, HeaderValue, Method};
use http_rules::{MAX_REQUEST_FIELDS, check_request};
use route::{Policy, RequestTraits};

use crate::body::{Body, BodyWriter};
use crate::download::PartialDownload;
use crate::error::Error;
use crate::limits::Limits;
use crate::mailbox::{Mailbox, OutboundRequest};
use crate::metrics::Outcome;
use crate::origin::origin_of;
use crate::report::Progress;
use crate::response::Response;
use crate::resume::{RangeFetcher, coding_of, resumable};

/// A request before it is sent.
#[derive(Clone)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    mailbox: Mailbox,
    url: String,
    head: http::HeaderMap,
    invalid: Option<String>,
    method: Method,
    body: Body,
    kind: Option<String>,
    bytes: Option<u64>,
    urgent: bool,
    idempotent: Option<bool>,
    resends: bool,
    early_data: Option<bool>,
    policy: Policy,
    limits: Limits,
    progress: Progress,
    #[cfg(feature = "sign")]
    key: Option<std::sync::Arc<sign::Key>>,
}

impl Request {
    pub(crate) fn new(mailbox: Mailbox, method: Method, url: &str, policy: Policy) -> Self {
        Self {
            mailbox,
            url: url.to_owned(),
            head: http::HeaderMap::new(),
            invalid: None,
            method,
            body: Body::Whole(Bytes::new()),
            kind: None,
            bytes: None,
            urgent: false,
            idempotent: None,
            resends: true,
            early_data: None,
            policy,
            limits: Limits::default(),
            progress: Progress::default(),
            #[cfg(feature = "sign")]
            key: None,
        }
    }

    /// Adds a header field. `Host` replaces the authority of the URL in what the server gets, over every version of
    /// HTTP. The connection still goes to the URL's host, whose certificate must be valid. Fields that concern one
    /// connection, e.g. `Connection`, are refused when the request is sent, as is a `Content-Length` that is not the
    /// body's.
    pub fn header<K, V>(mut self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: std::fmt::Display,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: std::fmt::Display,
    {
        match (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            // The map itself would panic at some number; the request is refused before.
            (Ok(_), Ok(_)) if self.head.len() > MAX_REQUEST_FIELDS => {}
            (Ok(name), Ok(value)) => {
                self.head.append(name, value);
            }
            (Err(error), _) => self.invalid = Some(error.to_string()),
            (_, Err(error)) => self.invalid = Some(error.to_string()),
        }
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Body::Whole(body.into());
        self
    }

    /// Lets the body be written while it is sent; `length` is its length if it is known, which
    /// servers may need over HTTP/1.1. Such a request is not sent again once a part of its body was
    /// taken.
    pub fn streamed(mut self, length: Option<u64>) -> (Self, BodyWriter) {
        let (body, writer) = Body::streamed(length);
        self.body = body;
        (self, writer)
    }

    /// Sets the label by which requests are compared to learn which transport is faster: those of the same label and
    /// about the same size. The next response is expected to be as large as the last one of its label. Without a label
    /// the method takes its place. A good label is the route's pattern, e.g. `/v1/users/{id}`.
    pub fn kind(mut self, label: &str) -> Self {
        self.kind = Some(label.to_owned());
        self
    }

    /// Sets about how large the response will be, in bytes.
    pub fn expect_bytes(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Marks the request as urgent: it is never used to learn.
    pub fn urgent(mut self) -> Self {
        self.urgent = true;
        self
    }

    /// Sets whether the request may be sent twice, where its method does not say so (RFC 9110 section 9.2.2), e.g. a
    /// POST with an `Idempotency-Key`.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// Sets whether the engine may send the request again by itself, which it does where that is safe.
    pub fn resends(mut self, resends: bool) -> Self {
        self.resends = resends;
        self
    }

    /// Sets whether the request may be sent before the handshake is done (0-RTT), where the engine says otherwise
    /// ([`Builder::early_data`](crate::Builder::early_data)). Requests with a body, or with another method than GET,
    /// HEAD or OPTIONS, never are. Nor are those that the engine may not send again: a server that does not take early
    /// data wants them again.
    pub fn early_data(mut self, early_data: bool) -> Self {
        self.early_data = Some(early_data);
        self
    }

    /// Routes this request by another policy than the engine's.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Limits the time until the response is complete. Without this and the other limits a request on a path that
    /// failed waits for as long as its connection does.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limits.whole = Some(limit);
        self
    }

    /// Limits the time until the request has a connection, from resolving the name to the end of the handshake, all
    /// attempts together. If that connection fails, the wait for the next has the same limit. If the server may have
    /// acted meanwhile, the error is that of [`Phase::FirstByte`](crate::Phase::FirstByte).
    pub fn connect_limit(mut self, limit: Duration) -> Self {
        self.limits.connect = Some(limit);
        self
    }

    /// Limits the time until the head of the response is there, including that for a connection.
    pub fn first_byte_limit(mut self, limit: Duration) -> Self {
        self.limits.first_byte = Some(limit);
        self
    }

    /// Limits the time between two pieces of the response's body. An app that reads slowly is not counted.
    pub fn idle_limit(mut self, limit: Duration) -> Self {
        self.limits.idle = Some(limit);
        self
    }

    /// Reports here, too, how the request fares.
    pub fn progress(mut self, progress: &Progress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// Signs the request with a key that the server shares: method, authority, path, query and body,
    /// with the time and a nonce. A copy that is sent again, or elsewhere, has a signature of its
    /// own. A streamed body cannot be signed.
    #[cfg(feature = "sign")]
    pub fn sign(mut self, key: &std::sync::Arc<sign::Key>) -> Self {
        self.key = Some(std::sync::Arc::clone(key));
        self
    }

    /// Sends the request and waits for the head of the response. Dropping the future cancels it.
    pub async fn send(self) -> Result<Response, Error> {
        let (outbound, until) = self.outbound()?;
        let again = outbound.clone();
        let mut response = self.mailbox.submit(outbound).await?;
        let fits = resumable(&again.head, response.head());
        if let Some((length, etag)) =
            fits.filter(|_| again.traits.replayable && again.traits.resends)
        {
            let fetcher = RangeFetcher {
                etag: etag.clone(),
                coding: coding_of(response.head()),
                mailbox: self.mailbox,
                outbound: again,
                length,
                until,
            };
            response.resume_by(fetcher, 0);
        }
        Ok(response)
    }

    /// Requests the rest of a body; [`Error::Refused`] if it is no longer the same one.
    pub(crate) async fn send_from(self, partial: &PartialDownload) -> Result<Response, Error> {
        let (outbound, until) = self.outbound()?;
        let fetcher = RangeFetcher {
            mailbox: self.mailbox,
            outbound,
            etag: partial.etag.clone(),
            coding: partial.coding.clone(),
            length: partial.length,
            until,
        };
        let part = partial.position..partial.length;
        let response = fetcher.fetch(part, fetcher.outbound.traits.policy).await;
        let mut response =
            response.inspect_err(|error| fetcher.report_end(0, Outcome::of(error)))?;
        response.resume_by(fetcher, partial.position);
        Ok(response)
    }

    /// Reports whether the request may resume a body that an earlier request began.
    pub(crate) fn may_go_on(&self) -> bool {
        let asks_for_part = self.head.contains_key(RANGE) || self.head.contains_key(IF_RANGE);
        let without_body = self.body.length() == Some(0);
        self.method == Method::GET && self.is_idempotent() && without_body && !asks_for_part
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Checks the request; returns when its time is up, too.
    fn outbound(&self) -> Result<(OutboundRequest, Option<Instant>), Error> {
        let (origin, uri) = origin_of(&self.url).map_err(Error::Invalid)?;
        if let Some(invalid) = &self.invalid {
            return Err(Error::Invalid(invalid.clone()));
        }
        let idempotent = self.is_idempotent();
        let safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&self.method);
        let without_body = self.body.length() == Some(0);
        let early_data = self.early_data.unwrap_or(self.mailbox.early_data);
        let traits = RequestTraits {
            early: early_data && safe && without_body && idempotent && self.resends,
            replayable: idempotent && matches!(self.body, Body::Whole(_)),
            resends: self.resends,
            bytes: Some(size(self)),
            kind: kind(self),
            urgent: self.urgent,
            policy: self.policy,
        };
        let request = http::Request::builder().method(self.method.clone());
        let request = request.uri(uri).body(());
        let request = request.map_err(|error| Error::Invalid(error.to_string()))?;
        let (mut head, ()) = request.into_parts();
        head.headers.clone_from(&self.head);
        check_request(&mut head, self.body.length()).map_err(|violation| {
            Error::Invalid(format!("{violation} ({})", violation.section()))
        })?;
        #[cfg(feature = "sign")]
        let signer = match (&self.key, &self.body) {
            (None, _) => None,
            (Some(key), Body::Whole(body)) => {
                Some(crate::signature::Signer::new(key.clone(), body))
            }
            (Some(_), Body::Streamed { .. }) => {
                let cannot = "a body that is streamed cannot be signed";
                return Err(Error::Invalid(cannot.to_owned()));
            }
        };
        let outbound = OutboundRequest {
            #[cfg(feature = "sign")]
            signer,
            origin,
            traits,
            label: self.kind.clone(),
            head,
            is_part: false,
            body: self.body.clone(),
            limits: self.limits,
            progress: self.progress.clone(),
        };
        // A limit beyond the range of the clock is none.
        let whole = self.limits.whole;
        let until = whole.and_then(|limit| Instant::now().checked_add(limit));
        Ok((outbound, until))
    }

    fn is_idempotent(&self) -> bool {
        let told = self.idempotent;
        told.unwrap_or_else(|| self.method.is_idempotent())
    }
}

/// Returns the bytes of the larger body, as far as is known.
fn size(request: &Request) -> u64 {
    let (response, body) = (request.bytes, request.body.length());
    response.unwrap_or(0).max(body.unwrap_or(0))
}

fn kind(request: &Request) -> u64 {
    let label = request.kind.as_deref();
    let mut hasher = DefaultHasher::new();
    label.unwrap_or(request.method.as_str()).hash(&mut hasher);
    hasher.finish()
}
