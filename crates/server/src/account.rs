//! The account of each request: what came in, what went out, and the log line at its end.
//!
//! An [`Account`] is opened when a request's head has been read. The request's body is
//! wrapped in [`Incoming`], the response's in [`Outgoing`]; both count and digest what
//! passes. When the response's body is dropped, whole or not, the line is written: once,
//! whatever happens.
//!
//! Over gRPC the framing and the Protobuf tags are not content, and a client library does
//! not show them. There the service itself enters the content into the account.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, request};
use http_body::{Body as HttpBody, Frame, SizeHint};
use sha2::{Digest, Sha256};
use wire::Codec;

use crate::clock::monotonic_ns;
use crate::journal::Journal;
use record::server_log::{RequestEvent, ServerEvent};

/// The account of one request.
#[derive(Clone)]
pub(crate) struct Account(Arc<Inner>);

struct Inner {
    head: Head,
    request: Mutex<Tally>,
    response: Mutex<Tally>,
    exchange: OnceLock<Exchange>,
    activity: Activity,
    journal: Journal,
}

struct Head {
    id: Option<u32>,
    connection: u64,
    protocol: &'static str,
    method: String,
    path: String,
    start_ns: u64,
    early_data: bool,
}

/// What decoding and encoding came to.
struct Exchange {
    codec: Codec,
    decode_ns: u64,
    encode_ns: u64,
}

/// When something last moved on a connection.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<AtomicU64>);

/// Bytes and their digest.
#[derive(Clone, Default)]
struct Tally {
    bytes: u64,
    sha: Sha256,
}

/// What a connection lends each of its requests.
#[derive(Clone)]
pub(crate) struct Ledger {
    pub(crate) connection: u64,
    pub(crate) activity: Activity,
    pub(crate) journal: Journal,
}

impl Activity {
    pub(crate) fn now() -> Self {
        Self(Arc::new(AtomicU64::new(monotonic_ns())))
    }

    pub(crate) fn touch(&self) {
        self.0.store(monotonic_ns(), Ordering::Relaxed);
    }

    pub(crate) fn last_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Account {
    pub(crate) fn open(ledger: &Ledger, head: &request::Parts, early_data: bool) -> Self {
        ledger.activity.touch();
        let id = head
            .headers
            .get(CALL_ID)
            .and_then(|id| id.to_str().ok()?.parse().ok());
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        Self(Arc::new(Inner {
            head: Head {
                id,
                connection: ledger.connection,
                protocol: protocol(head),
                method: head.method.to_string(),
                path: path.to_owned(),
                start_ns: monotonic_ns(),
                early_data,
            },
            request: Mutex::default(),
            response: Mutex::default(),
            exchange: OnceLock::new(),
            activity: ledger.activity.clone(),
            journal: ledger.journal.clone(),
        }))
    }

    /// Whether the service enters the content itself.
    pub(crate) fn is_grpc(&self) -> bool {
        self.0.head.protocol == GRPC
    }

    /// Content received.
    pub(crate) fn received(&self, content: &[u8]) {
        self.0.activity.touch();
        add(&self.0.request, content);
    }

    /// Content sent.
    pub(crate) fn sent(&self, content: &[u8]) {
        self.0.activity.touch();
        add(&self.0.response, content);
    }

    /// A message was decoded and encoded anew; there is one in a request.
    pub(crate) fn exchanged(&self, codec: Codec, decode_ns: u64, encode_ns: u64) {
        self.0.exchange.get_or_init(|| Exchange {
            codec,
            decode_ns,
            encode_ns,
        });
    }

    /// The client went before there was an answer.
    pub(crate) fn abandon(&self) {
        self.close(NO_STATUS, true);
    }

    fn close(&self, status: u16, broken: bool) {
        let Head {
            id,
            connection,
            protocol,
            method,
            path,
            start_ns,
            early_data,
        } = &self.0.head;
        let (request_bytes, request_digest) = sum(&self.0.request);
        let (response_bytes, response_digest) = sum(&self.0.response);
        let exchange = self.0.exchange.get();
        self.0.journal.write(ServerEvent::Request(RequestEvent {
            id: *id,
            connection: *connection,
            protocol: (*protocol).to_owned(),
            method: method.clone(),
            path: path.clone(),
            start_ns: *start_ns,
            end_ns: monotonic_ns(),
            early_data: *early_data,
            request_bytes,
            request_digest,
            response_bytes,
            response_digest,
            status,
            broken,
            codec: exchange.map(|exchange| exchange.codec.to_string()),
            decode_ns: exchange.map(|exchange| exchange.decode_ns),
            encode_ns: exchange.map(|exchange| exchange.encode_ns),
        }));
    }
}

fn add(tally: &Mutex<Tally>, content: &[u8]) {
    // The lock is only ever contended by the two directions of one request.
    let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    tally.bytes += content.len() as u64;
    tally.sha.update(content);
}

fn sum(tally: &Mutex<Tally>) -> (u64, String) {
    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (tally.bytes, wire::hex(&tally.sha.finalize()))
}

fn protocol(head: &request::Parts) -> &'static str {
    let kind = head
        .headers
        .get(http::header::CONTENT_TYPE)
        .map(http::HeaderValue::as_bytes);
    match head.version {
        _ if kind.is_some_and(|kind| kind.starts_with(b"application/grpc")) => GRPC,
        http::Version::HTTP_3 => "h3",
        http::Version::HTTP_2 => "h2",
        _ => "http/1.1",
    }
}

/// A request's body, counted, and cut off where it becomes too long.
pub(crate) struct Incoming<B> {
    body: B,
    account: Account,
    left: u64,
}

/// Why a request's body was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the request's body is longer than this server takes")]
    TooLong,
    #[error(transparent)]
    Transport(axum::BoxError),
}

/// Puts a request on an account.
pub(crate) fn incoming<B>(request: Request<B>, account: &Account, most: u64) -> Request<Body>
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
{
    let mut request = request.map(|body| {
        Body::new(Incoming {
            body,
            account: account.clone(),
            left: most,
        })
    });
    request.extensions_mut().insert(account.clone());
    request
}

impl<B> HttpBody for Incoming<B>
where
    B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else {
            return Poll::Ready(None);
        };
        let frame = frame.map_err(|error| BodyError::Transport(error.into()))?;
        if let Some(data) = frame.data_ref() {
            let Some(left) = self.left.checked_sub(data.len() as u64) else {
                return Poll::Ready(Some(Err(BodyError::TooLong)));
            };
            self.left = left;
            if self.account.is_grpc() {
                self.account.0.activity.touch();
            } else {
                self.account.received(data);
            }
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response's body, counted; its drop closes the account.
pub(crate) struct Outgoing {
    body: Body,
    account: Account,
    status: u16,
    /// The body has said that nothing follows.
    ended: bool,
}

/// Puts a response on its request's account.
pub(crate) fn outgoing(response: Response<Body>, account: Account) -> Response<Outgoing> {
    let mut status = response.status().as_u16();
    if account.is_grpc() {
        status = grpc_status(response.headers()).unwrap_or(GRPC_UNKNOWN);
    }
    response.map(|body| Outgoing {
        ended: body.is_end_stream(),
        body,
        account,
        status,
    })
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.ended = true,
            Some(Err(_)) => {}
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref().filter(|_| !self.account.is_grpc()) {
                    self.account.sent(data);
                }
                if let Some(status) = frame.trailers_ref().and_then(grpc_status) {
                    self.status = status;
                }
                // A transport that sees the end here does not poll again.
                self.ended = self.body.is_end_stream();
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Outgoing {
    /// The transport gave up on the response though its body had ended.
    pub(crate) fn broke(&mut self) {
        self.ended = false;
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.account.close(self.status, !self.ended);
    }
}

fn grpc_status(headers: &HeaderMap) -> Option<u16> {
    headers.get("grpc-status")?.to_str().ok()?.parse().ok()
}

/// The call's id, in HTTP headers and gRPC metadata.
pub(crate) const CALL_ID: &str = "x-commute-id";
const GRPC: &str = "grpc";
/// Nothing was answered.
const NO_STATUS: u16 = 0;
/// gRPC's status UNKNOWN, until the trailers say better.
const GRPC_UNKNOWN: u16 = 2;
