//! A request and its response on a connection, and how they fail.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_rules::{MAX_INTERIM_RESPONSES, Version, Violation, check_interim};
use route::{CallId, ConnId, Fault, Replay};
use tokio::sync::mpsc;

use crate::body::{Body, OutgoingBody, UploadGuard};
use crate::conn::load::CountGuard;
use crate::limits::Phase;
use crate::message::{Event, Message};
use crate::response::Part;

/// Pieces of a body over TCP that wait for the app. Each is a frame or what one read gave.
pub(super) const TCP_PIECES: usize = 4;

/// A request for one connection.
pub(crate) struct Exchange {
    pub(crate) call: CallId,
    pub(crate) conn: ConnId,
    pub(crate) head: Arc<http::request::Parts>,
    pub(crate) body: Body,
    pub(crate) idle_limit: Option<Duration>,
    /// Whether the request may be sent again although the server may have acted on it.
    pub(crate) replayable: bool,
    pub(crate) request: CountGuard,
    pub(crate) messages: mpsc::UnboundedSender<Message>,
}

/// Counts the interim responses before the final one.
#[derive(Debug, Default)]
pub(super) struct InterimCounter {
    count: u32,
}

/// The reason why an exchange failed.
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) replay: Replay,
    pub(crate) drain: Option<DrainReason>,
}

/// The reason why a connection takes no more requests.
#[derive(Clone, Copy)]
pub(crate) enum DrainReason {
    /// Its peer says so, or it has ended.
    GoesAway,
    /// Its peer closed it without an error.
    Finished,
}

impl Exchange {
    /// Takes the request's body for this connection.
    pub(super) fn outgoing(&self) -> (OutgoingBody, UploadGuard) {
        self.body.outgoing(self.call, self.messages.clone())
    }

    /// Reports the request sent.
    pub(super) fn sent(&self) {
        let (call, conn, at) = (self.call, self.conn, Instant::now());
        self.report(Event::Sent { call, conn, at });
    }

    /// Reports the head of the response; returns where its body goes. So many pieces of the body may wait for the app.
    pub(super) fn head(&self, head: http::response::Parts, pieces: usize) -> mpsc::Sender<Part> {
        let (sender, body) = mpsc::channel(pieces);
        let (call, conn, at) = (self.call, self.conn, Instant::now());
        self.report(Event::Head {
            call,
            conn,
            at,
            head: Box::new(head),
            body,
        });
        sender
    }

    /// Waits for the next piece of the response's body, at most for as long as the request allows.
    pub(super) async fn piece<T>(&self, piece: impl Future<Output = T>) -> T {
        let mut piece = pin!(piece);
        if let Some(limit) = self.idle_limit {
            match tokio::time::timeout(limit, &mut piece).await {
                Ok(piece) => return piece,
                Err(_) => {
                    let late = Message::TimedOut(self.call, Phase::Idle);
                    self.messages.send(late).ok();
                    // The request is cancelled.
                }
            }
        }
        piece.await
    }

    /// Passes a piece of the body on to the app. Returns false if the app dropped the response, whose guard cancels the
    /// request.
    pub(super) async fn pass_on(&self, body: &mpsc::Sender<Part>, chunk: Bytes) -> bool {
        let chunk = match body.try_send(Part::Data(chunk)) {
            Ok(()) => return true,
            Err(mpsc::error::TrySendError::Full(chunk)) => chunk,
            Err(mpsc::error::TrySendError::Closed(_)) => return false,
        };
        let _unread = self.request.unread();
        body.send(chunk).await.is_ok()
    }

    /// Reports how the exchange ended.
    pub(super) fn ended(&self, outcome: Result<u64, Failure>) {
        let (call, conn) = (self.call, self.conn);
        match outcome {
            Ok(bytes) => self.report(Event::Done { call, conn, bytes }),
            Err(failure) => self.failed(&failure),
        }
    }

    fn failed(&self, failure: &Failure) {
        let (call, conn) = (self.call, self.conn);
        let &Failure {
            fault,
            mut replay,
            drain,
        } = failure;
        match drain {
            Some(DrainReason::GoesAway) => self.report(Event::GoAway(conn)),
            Some(DrainReason::Finished) => self.report(Event::Finished(conn)),
            None => {}
        }
        if replay == Replay::Safe && !self.body.is_kept() {
            replay = Replay::BodyGone;
        }
        self.report(Event::Failed {
            call,
            conn,
            fault,
            replay,
        });
    }

    pub(super) fn report(&self, event: Event) {
        self.messages.send(Message::Event(event)).ok();
    }
}

impl InterimCounter {
    /// Checks and counts a response before the final one.
    pub(super) fn add(
        &mut self,
        version: Version,
        status: StatusCode,
        fields: &HeaderMap,
    ) -> Result<(), Violation> {
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Violation::SwitchingProtocols);
        }
        check_interim(version, fields)?;
        self.count += 1;
        if self.count > MAX_INTERIM_RESPONSES {
            return Err(Violation::TooManyInterim(MAX_INTERIM_RESPONSES));
        }
        Ok(())
    }
}

impl From<Violation> for Failure {
    fn from(violation: Violation) -> Self {
        tracing::debug!("malformed response: {violation} ({})", violation.section());
        Self::after_sending(Fault::Malformed)
    }
}

impl Failure {
    /// Creates a failure before anything was sent.
    pub(super) fn before_sending(fault: Fault) -> Self {
        Self {
            fault,
            replay: Replay::Safe,
            drain: None,
        }
    }

    /// Creates the failure of a request that had no effect, because the connection takes no more requests. Its peer
    /// sent GOAWAY (RFC 9113 section 6.8, RFC 9114 section 5.2), or the connection has ended.
    pub(super) fn gone_away() -> Self {
        Self {
            drain: Some(DrainReason::GoesAway),
            ..Self::before_sending(Fault::Reset)
        }
    }

    pub(super) fn after_sending(fault: Fault) -> Self {
        Self {
            fault,
            replay: Replay::MayHaveActed,
            drain: None,
        }
    }
}

/// Passes a failure on as the end of a body whose head the app already has.
pub(super) async fn cut_off(body: &mpsc::Sender<Part>, failure: &Failure) {
    let error = crate::Error::Failed {
        fault: failure.fault,
        may_have_acted: true,
    };
    body.send(Part::Failed(error)).await.ok();
}
