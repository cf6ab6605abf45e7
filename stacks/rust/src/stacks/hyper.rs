//! hyper: HTTP/1.1 and HTTP/2, with the library's defaults.

use std::collections::BTreeMap;

use driver::clock::monotonic_resolution_ns;
use driver::protocol::{CallError, Capability, Clock, Hello, Protocol, Reconnect, Setup, VERSION};
use http::header::HOST;
use http::{HeaderValue, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::Mutex;

use crate::call_error::{check_status, transport_error};
use crate::dial::{Dialer, conn_info};
use crate::exchange::{CODECS, codecs};
use crate::origin::Origin;
use crate::request::{Chunks, HttpRequest};
use crate::send_tracker::{SendTracker, TrackedBody, TrackedStream};
use crate::stack::{ConnInfo, Stack};
use crate::stack_error::StackError;
use crate::tls;
use crate::trace::{Phase, Trace};

/// hyper, set up for one origin and one version of HTTP.
pub struct Hyper {
    dialer: Dialer,
    protocol: Protocol,
}

/// A connection, which a task of its own drives.
pub struct Conn {
    sender: Sender,
    tracker: SendTracker,
    info: ConnInfo,
}

enum Sender {
    /// Locked during a call. The pool gives the connection to one call at a time.
    H1(Mutex<http1::SendRequest<TrackedBody<Chunks>>>),
    H2(http2::SendRequest<TrackedBody<Chunks>>),
}

impl Stack for Hyper {
    type Conn = Conn;
    type Request = HttpRequest;

    fn hello() -> Hello {
        Hello {
            version: VERSION,
            stack: "hyper".into(),
            stack_version: concat!(env!("HYPER_VERSION"), ", h2 ", env!("H2_VERSION")).into(),
            tls: tls::VERSION.into(),
            protocols: vec![Protocol::H1, Protocol::H2],
            capabilities: vec![
                Capability::Mtls,
                Capability::Resume,
                Capability::Parallel,
                Capability::Congestion,
                Capability::Cancel,
                Capability::Plaintext,
                Capability::Jwt,
                Capability::Hmac,
                Capability::Submit,
                Capability::Until,
                Capability::Origins,
                Capability::Fetch,
                Capability::Coding,
            ],
            clock: Clock::Monotonic,
            resolution_ns: monotonic_resolution_ns(),
            phases: phases(),
            settings: settings(),
            codecs: codecs(&CODECS),
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        let alpn: &[u8] = match setup.protocol {
            Protocol::H1 => b"http/1.1",
            _ => b"h2",
        };
        let dialer = Dialer::new(setup, alpn)?;
        if !dialer.origin().tls && setup.protocol != Protocol::H1 {
            let reason = "only HTTP/1.1 is offered without TLS";
            return Err(StackError::unsupported("plaintext", reason));
        }
        Ok(Self {
            dialer,
            protocol: setup.protocol,
        })
    }

    fn origin(&self) -> &Origin {
        self.dialer.origin()
    }

    fn shares_connection(&self) -> bool {
        self.protocol == Protocol::H2
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        let stream = self.dialer.dial(mode, trace).await?;
        let info = conn_info(&stream, self.protocol);
        let (stream, tracker) = TrackedStream::new(stream);
        let io = TokioIo::new(stream);
        let sender = match self.protocol {
            Protocol::H1 => {
                let (sender, conn) = http1::handshake(io)
                    .await
                    .map_err(|e| transport_error(&e))?;
                tokio::spawn(drive(conn));
                Sender::H1(Mutex::new(sender))
            }
            _ => {
                let executor = TokioExecutor::new();
                let (sender, conn) = http2::handshake(executor, io)
                    .await
                    .map_err(|e| transport_error(&e))?;
                tokio::spawn(drive(conn));
                Sender::H2(sender)
            }
        };
        Ok(Conn {
            sender,
            tracker,
            info,
        })
    }

    async fn call(
        &self,
        conn: &Conn,
        request: &HttpRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let mut message = request
            .head(self.dialer.origin())
            .map(|()| request.body(trace));
        let response = match &conn.sender {
            Sender::H1(sender) => {
                to_origin_form(&mut message);
                let mut sender = sender.lock().await;
                sender
                    .ready()
                    .await
                    .map_err(|error| transport_error(&error))?;
                trace.edit(|row| row.attempts += 1);
                sender
                    .send_request(message.map(|body| conn.tracker.wrap(body, trace)))
                    .await
            }
            Sender::H2(sender) => {
                let mut sender = sender.clone();
                sender
                    .ready()
                    .await
                    .map_err(|error| transport_error(&error))?;
                trace.edit(|row| row.attempts += 1);
                sender
                    .send_request(message.map(|body| conn.tracker.wrap(body, trace)))
                    .await
            }
        };
        let response = response.map_err(|error| transport_error(&error))?;
        trace.stamp(Phase::FirstByte);
        let status = response.status();
        trace.edit(|row| row.status = Some(status.as_u16()));
        receive(response.into_body(), trace).await?;
        check_status(status)
    }

    fn conn_info(&self, conn: &Conn) -> ConnInfo {
        conn.info
    }

    fn is_usable(&self, conn: &Conn) -> bool {
        match &conn.sender {
            Sender::H1(sender) => sender.try_lock().is_ok_and(|sender| !sender.is_closed()),
            Sender::H2(sender) => !sender.is_closed(),
        }
    }

    async fn close(&self, conn: Conn) {
        drop(conn.sender);
        conn.tracker.wait_closed().await;
    }

    fn discard_tickets(&self) {
        self.dialer.discard_tickets();
    }
}

/// Drives a connection until it ends. Its error is ignored, because its calls report it.
async fn drive<T, E>(conn: impl Future<Output = Result<T, E>>) {
    conn.await.ok();
}

/// Reads a response's body to its end.
async fn receive(mut body: Incoming, trace: &Trace) -> Result<(), CallError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| transport_error(&error))?;
        if let Ok(chunk) = frame.into_data() {
            trace.receive(chunk);
        }
    }
    Ok(())
}

/// Moves the authority from the URI to `Host`, as HTTP/1.1 requires of a client (RFC 9112 sections
/// 3.2 and 3.2.1).
fn to_origin_form<B>(message: &mut http::Request<B>) {
    let uri = std::mem::take(message.uri_mut()).into_parts();
    if let Some(authority) = &uri.authority
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        message.headers_mut().insert(HOST, host);
    }
    *message.uri_mut() = uri.path_and_query.map(Uri::from).unwrap_or_default();
}

fn phases() -> BTreeMap<String, String> {
    [
        ("dns", "getaddrinfo returned"),
        ("connect", "TCP connect returned"),
        ("tls", "rustls handshake complete"),
        ("request_sent", "last bytes written to the socket"),
        ("signed", "digest and signature computed"),
        ("first_byte", "response head delivered"),
        ("end", "end of body delivered"),
    ]
    .map(|(phase, source)| (phase.into(), source.into()))
    .into()
}

/// Returns the library's defaults.
fn settings() -> BTreeMap<String, String> {
    [
        ("h2 windows", "5 MiB connection, 2 MiB stream"),
        ("tcp_nodelay", "on"),
        ("retries", "none"),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}
