//! State shared by all connections, whatever their transport.

use std::convert::Infallible;
use std::future::pending;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use bytes::Bytes;
use http::header::ALT_SVC;
use http::{HeaderValue, Request, Response, Version};
use http_body::Body as HttpBody;
use http_body_util::BodyExt as _;
use http_rules::check_received;
use server_log::{ConnectionEvent, ServerEvent, Transport};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::accounting::RequestAccounting;
use crate::admission::Admission;
use crate::body::{self, CountedResponseBody};
use crate::clock::monotonic_ns;
use crate::config::Limits;
use crate::connection::{Activity, ConnectionContext};
use crate::handshake::Handshake;
use crate::http1;
use crate::log::LogWriter;
use crate::rejection::Rejection;

/// One server's shared state.
pub(crate) struct Shared {
    pub(crate) router: Router,
    pub(crate) limits: Limits,
    /// Whether every request over QUIC is reset.
    pub(crate) resets_quic: bool,
    pub(crate) log: LogWriter,
    pub(crate) chain_bytes: u64,
    pub(crate) admission: Arc<Admission>,
    /// Connections so far.
    pub(crate) connections: AtomicU64,
    /// Every task of every port and connection.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when no new work is accepted; requests in flight finish.
    pub(crate) draining: CancellationToken,
    /// Cancelled when the time to drain is over; requests in flight are dropped.
    pub(crate) aborted: CancellationToken,
}

/// What the log records about a connection besides its handshake.
pub(crate) struct Peer {
    pub(crate) transport: Transport,
    pub(crate) address: SocketAddr,
    pub(crate) congestion: Option<String>,
}

impl Shared {
    pub(crate) fn new_connection(&self) -> ConnectionContext {
        ConnectionContext {
            number: 1 + self.connections.fetch_add(1, Ordering::Relaxed),
            activity: Activity::now(),
            log: self.log.clone(),
        }
    }

    /// Logs a connection whose handshake has completed.
    pub(crate) fn log_connection(
        &self,
        connection: &ConnectionContext,
        peer: Peer,
        handshake: Handshake,
    ) {
        let no_chain = handshake.resumed || handshake.tls_version.is_empty();
        let chain_bytes = if no_chain { 0 } else { self.chain_bytes };
        self.log.write(ServerEvent::Connection(ConnectionEvent {
            connection: connection.number,
            at_ns: monotonic_ns(),
            transport: peer.transport,
            peer_port: peer.address.port(),
            // An IPv6 socket sees IPv4 clients under mapped addresses (RFC 4291, 2.5.5.2).
            ip_version: match peer.address.ip().to_canonical() {
                IpAddr::V4(_) => 4,
                IpAddr::V6(_) => 6,
            },
            alpn: handshake.alpn,
            tls_version: handshake.tls_version,
            cipher: handshake.cipher,
            group: handshake.group,
            resumed: handshake.resumed,
            hello_retry: handshake.hello_retry,
            chain_bytes,
            client_cert: handshake.client_cert,
            congestion: peer.congestion,
        }));
    }

    /// Routes a request and returns the response, accounting for both.
    pub(crate) async fn answer<B>(
        &self,
        request: Request<B>,
        connection: &ConnectionContext,
        early_data: bool,
        alt_svc: Option<&HeaderValue>,
    ) -> Response<CountedResponseBody>
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
    {
        let (head, body) = request.into_parts();
        let accounting = RequestAccounting::start(connection, &head, early_data);
        // Over later versions a malformed request does not get here.
        let violation = match head.version {
            Version::HTTP_10 | Version::HTTP_11 => {
                check_received(http_rules::Version::H1, &head).err()
            }
            _ => None,
        };
        let request = Request::from_parts(head, body);
        // hyper itself reads on over HTTP/1.1.
        let rest = (request.version() > Version::HTTP_11).then(|| self.tasks.clone());
        let request: Request<Body> =
            body::count_request(request, &accounting, self.limits.body_bytes, rest);
        // The transport drops this future when its client leaves: that must be logged too.
        let unanswered = Unanswered(Some(accounting));
        let router = self.router.clone();
        let mut response = if let Some(violation) = violation {
            connection.log_refused(None, http1::BAD_REQUEST, &violation.to_string());
            Rejection::bad_request(&violation).into_response()
        } else {
            let answer = router.oneshot(request).await;
            answer.unwrap_or_else(|never| match never {})
        };
        if let Some(alt_svc) = alt_svc {
            response.headers_mut().insert(ALT_SVC, alt_svc.clone());
        }
        body::count_response(response, unanswered.answered())
    }

    /// Reads and accounts for a request that gets no answer, until dropped.
    pub(crate) async fn leave_unanswered<B>(
        &self,
        request: Request<B>,
        connection: &ConnectionContext,
        early_data: bool,
    ) -> Infallible
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
    {
        let (head, body) = request.into_parts();
        let accounting = RequestAccounting::start(connection, &head, early_data);
        let request = Request::from_parts(head, body);
        let mut request = body::count_request(request, &accounting, self.limits.body_bytes, None);
        let _unanswered = Unanswered(Some(accounting));
        while let Some(Ok(_)) = request.body_mut().frame().await {}
        pending().await
    }
}

/// Logs a request as unanswered when dropped before [`Self::answered`].
struct Unanswered(Option<RequestAccounting>);

impl Unanswered {
    fn answered(mut self) -> RequestAccounting {
        self.0
            .take()
            .expect("only this method takes it, and it takes self")
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(accounting) = self.0.take() {
            accounting.finish_unanswered();
        }
    }
}
