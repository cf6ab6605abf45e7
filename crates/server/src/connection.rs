//! What every connection shares, whatever its transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::header::ALT_SVC;
use http::{HeaderValue, Request, Response};
use http_body::Body as HttpBody;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::account::{self, Account, Activity, Ledger, Outgoing};
use crate::clock::monotonic_ns;
use crate::config::Limits;
use crate::handshake::Handshake;
use crate::journal::Journal;
use record::server_log::{ConnectionEvent, ServerEvent, Transport};

/// One server's shared state.
pub(crate) struct Shared {
    pub(crate) router: Router,
    pub(crate) limits: Limits,
    pub(crate) journal: Journal,
    pub(crate) chain_bytes: u64,
    pub(crate) connections: Arc<Semaphore>,
    pub(crate) counter: AtomicU64,
    /// Every task; done when the last connection is.
    pub(crate) tasks: TaskTracker,
    /// No new work; finish what is begun.
    pub(crate) draining: CancellationToken,
    /// Drop what is left.
    pub(crate) killed: CancellationToken,
}

/// What is known of a connection besides its handshake.
pub(crate) struct Peer {
    pub(crate) transport: Transport,
    pub(crate) port: u16,
    pub(crate) congestion: Option<String>,
}

impl Shared {
    /// Opens the books of a new connection.
    pub(crate) fn ledger(&self) -> Ledger {
        Ledger {
            connection: 1 + self.counter.fetch_add(1, Ordering::Relaxed),
            activity: Activity::now(),
            journal: self.journal.clone(),
        }
    }

    /// Enters a finished handshake into the log.
    pub(crate) fn connected(&self, ledger: &Ledger, peer: Peer, handshake: Handshake) {
        self.journal.write(ServerEvent::Connection(ConnectionEvent {
            connection: ledger.connection,
            at_ns: monotonic_ns(),
            transport: peer.transport,
            peer_port: peer.port,
            alpn: handshake.alpn,
            tls_version: handshake.tls_version,
            cipher: handshake.cipher,
            group: handshake.group,
            resumed: handshake.resumed,
            hello_retry: handshake.hello_retry,
            chain_bytes: if handshake.resumed {
                0
            } else {
                self.chain_bytes
            },
            client_cert: handshake.client_cert,
            congestion: peer.congestion,
        }));
    }

    /// Answers a request.
    pub(crate) async fn answer<B>(
        &self,
        request: Request<B>,
        ledger: &Ledger,
        early_data: bool,
        alt_svc: Option<&HeaderValue>,
    ) -> Response<Outgoing>
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static,
    {
        let (head, body) = request.into_parts();
        let account = Account::open(ledger, &head, early_data);
        let request = Request::from_parts(head, body);
        let request: Request<Body> = account::incoming(request, &account, self.limits.body_bytes);
        // The caller may drop this future, when its client has gone: the log must know.
        let unanswered = Unanswered(Some(account));
        let router = self.router.clone();
        let mut response = router
            .oneshot(request)
            .await
            .unwrap_or_else(|never| match never {});
        if let Some(alt_svc) = alt_svc {
            response.headers_mut().insert(ALT_SVC, alt_svc.clone());
        }
        account::outgoing(response, unanswered.answered())
    }
}

/// Closes the account of a request whose answer nobody waited for.
struct Unanswered(Option<Account>);

impl Unanswered {
    fn answered(mut self) -> Account {
        self.0
            .take()
            .expect("only this method takes it, and it takes self")
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(account) = self.0.take() {
            account.abandon();
        }
    }
}

/// Returns when nothing has moved on a connection for so long.
pub(crate) async fn idle(activity: &Activity, limit: Duration) {
    loop {
        let still_ns = monotonic_ns().saturating_sub(activity.last_ns());
        match limit.checked_sub(Duration::from_nanos(still_ns)) {
            None | Some(Duration::ZERO) => return,
            Some(left) => tokio::time::sleep(left).await,
        }
    }
}
