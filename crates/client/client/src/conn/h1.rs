//! Requests over HTTP/1.1.

use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use http::header::HOST;
use http::{HeaderValue, Uri};
use http_body_util::BodyExt;
use http_rules::{BodyLength, Framing, Version, check_response, check_trailers};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::ext::on_informational;
use hyper_util::rt::TokioIo;
use route::{ConnId, Fault};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, Notify, mpsc};

use super::{Exchange, Failure, InterimCounter, MAX_FIELDS, MAX_HEAD_BYTES, TCP_PIECES, cut_off};
use crate::body::{OutgoingBody, UploadGuard};
use crate::message::{Event, Message};
use crate::response::Part;

/// An HTTP/1.1 connection, which the router gives to one request at a time.
#[derive(Clone)]
pub(super) struct Requests(Arc<Mutex<SendRequest<OutgoingBody>>>);

/// Starts HTTP/1.1 on a connection, drives it, and reports its end.
pub(super) async fn start(
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    conn: ConnId,
    messages: mpsc::UnboundedSender<Message>,
) -> Result<Requests, Fault> {
    let mut builder = Builder::new();
    builder
        .max_headers(MAX_FIELDS)
        .max_header_size(MAX_HEAD_BYTES as usize);
    let handshake = builder.handshake(TokioIo::new(io)).await;
    let (sender, driver) = handshake.map_err(|_| Fault::Protocol)?;
    tokio::spawn(async move {
        driver.await.ok();
        let fault = Fault::Reset;
        let closed = Event::Closed { conn, fault };
        messages.send(Message::Event(closed)).ok();
    });
    Ok(Requests(Arc::new(Mutex::new(sender))))
}

impl Requests {
    /// Sends a request and reports its response. Shuts the connection down if the response comes before all of the
    /// request is sent, because the next request would wait for the rest.
    pub(super) async fn run(
        self,
        exchange: &Exchange,
        shut_down: impl Fn(),
    ) -> Result<u64, Failure> {
        let (body, upload) = exchange.outgoing();
        let _unsent = ShutdownGuard {
            upload,
            exchange,
            shut_down,
        };
        self.send(exchange, body).await
    }

    async fn send(self, exchange: &Exchange, body: OutgoingBody) -> Result<u64, Failure> {
        let mut request = http::Request::from_parts((*exchange.head).clone(), body);
        to_origin_form(&mut request);
        let excess = InterimLimit::of(&mut request);
        let mut sender = self.0.lock().await;
        sender.ready().await.map_err(|_| Failure::gone_away())?;
        let response = sender.send_request(request);
        exchange.sent();
        let response = tokio::select! {
            // The final response may have come with them.
            biased;
            () = excess.found() => return Err(Failure::after_sending(Fault::Malformed)),
            response = response => response.map_err(|error| failure(&error))?,
        };
        let (mut head, incoming) = response.into_parts();
        let framing = check_response(Version::H1, &exchange.head.method, &mut head)?;
        if !framing.reusable {
            exchange.report(Event::GoAway(exchange.conn));
        }
        let body = exchange.head(head, TCP_PIECES);
        match receive(exchange, incoming, &body, framing).await {
            Ok(bytes) => Ok(bytes),
            Err(failure) => {
                cut_off(&body, &failure).await;
                Err(failure)
            }
        }
    }
}

/// Shuts the connection down if its request ends before all of it is sent.
struct ShutdownGuard<'a, F: Fn()> {
    upload: UploadGuard,
    exchange: &'a Exchange,
    shut_down: F,
}

impl<F: Fn()> Drop for ShutdownGuard<'_, F> {
    fn drop(&mut self) {
        if !self.upload.is_over() {
            self.exchange.report(Event::GoAway(self.exchange.conn));
            (self.shut_down)();
        }
    }
}

/// Passes a body on to the app.
async fn receive(
    exchange: &Exchange,
    mut incoming: Incoming,
    body: &mpsc::Sender<Part>,
    framing: Framing,
) -> Result<u64, Failure> {
    let (mut length, mut trailers) = (framing.length, None);
    // hyper would wait for the connection's end.
    let is_over = |length: &BodyLength| framing.is_identity && length.missing() == Some(0);
    while !is_over(&length)
        && let Some(frame) = exchange.piece(incoming.frame()).await
    {
        match frame.map_err(|error| failure(&error))?.into_data() {
            Ok(chunk) => {
                length.add(chunk.len())?;
                if !exchange.pass_on(body, chunk).await {
                    return Ok(length.received());
                }
            }
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    length.end()?;
    if let Some(fields) = &mut trailers {
        check_trailers(Version::H1, fields)?;
    }
    body.send(Part::End(trailers)).await.ok();
    Ok(length.received())
}

/// Limits the number of interim responses. hyper would skip any number of them.
struct InterimLimit(Arc<Notify>);

impl InterimLimit {
    fn of(request: &mut http::Request<OutgoingBody>) -> Self {
        let excess = Arc::new(Notify::new());
        let (interim, notify) = (
            StdMutex::new(InterimCounter::default()),
            Arc::clone(&excess),
        );
        on_informational(request, move |response| {
            let mut interim = interim.lock().unwrap_or_else(PoisonError::into_inner);
            if interim
                .add(Version::H1, response.status(), response.headers())
                .is_err()
            {
                notify.notify_one();
            }
        });
        Self(excess)
    }

    /// Waits until there are too many.
    async fn found(&self) {
        self.0.notified().await;
    }
}

/// Moves the authority from the URI to `Host` (RFC 9112 sections 3.2 and 3.2.1).
fn to_origin_form<B>(request: &mut http::Request<B>) {
    let uri = std::mem::take(request.uri_mut()).into_parts();
    if let Some(authority) = &uri.authority
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(HOST, host);
    }
    *request.uri_mut() = uri.path_and_query.map(Uri::from).unwrap_or_default();
}

fn failure(error: &hyper::Error) -> Failure {
    if error.is_canceled() {
        return Failure::gone_away();
    }
    let fault = if error.is_parse() || is_bad_chunk(error) {
        Fault::Malformed
    } else {
        Fault::Reset
    };
    Failure::after_sending(fault)
}

/// Reports whether a chunk of a body breaks the syntax (RFC 9112 section 7.1).
fn is_bad_chunk(error: &hyper::Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref());
    source.is_some_and(|error: &io::Error| match error.kind() {
        io::ErrorKind::InvalidInput => true,
        // A length beyond 64 bits; TLS has errors of this kind, too.
        io::ErrorKind::InvalidData => error
            .get_ref()
            .is_none_or(|inner| !inner.is::<rustls::Error>()),
        _ => false,
    })
}
