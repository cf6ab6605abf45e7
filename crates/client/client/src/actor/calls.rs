//! Requests: accepted from the app, sent where the router decides, and answered exactly once.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::header::ALT_SVC;
use http::{HeaderValue, StatusCode};
use route::{CallId, ConnId, Origin, Reason, Replay};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::Actor;
use super::conns::ns_after;
use crate::body::Body;
use crate::conn::Exchange;
use crate::error::Error;
use crate::limits::Phase;
use crate::mailbox::OutboundRequest;
use crate::memory::hour;
use crate::message::{EndedRequest, Message, Submission};
use crate::metrics::{Outcome, RequestMeasurement};
use crate::report::{Progress, Report};
use crate::response::{Part, Response};
use crate::resume::resumable;

/// A request.
pub(super) struct Call {
    pub(super) origin: Origin,
    pub(super) label: Option<String>,
    #[cfg(feature = "sign")]
    pub(super) signer: Option<crate::signature::Signer>,
    pub(super) head: Arc<http::request::Parts>,
    pub(super) replayable: bool,
    pub(super) body: Body,
    pub(super) asked: Instant,
    pub(super) progress: Progress,
    /// Whether the reader of the response reports its end, because its rest may come elsewhere.
    pub(super) tells_its_end: bool,
    pub(super) reply: Option<oneshot::Sender<Result<Response, Error>>>,
    pub(super) ending: Arc<OnceLock<Error>>,
    pub(super) copies: HashMap<ConnId, RequestCopy>,
    pub(super) attempts: u32,
    /// Set once the app has the response.
    pub(super) status: Option<StatusCode>,
    pub(super) idle_limit: Option<Duration>,
    pub(super) connect_limit: Option<Duration>,
    /// Limits the present wait for a connection.
    pub(super) connect_timer: Option<AbortHandle>,
    /// Start of the present wait for a connection.
    pub(super) waits_since: Instant,
    /// Whether the server may have acted on a copy.
    pub(super) may_have_acted: bool,
    pub(super) timers: Vec<AbortHandle>,
}

/// A request on a connection.
pub(super) struct RequestCopy {
    pub(super) task: AbortHandle,
    pub(super) reused: bool,
    /// Whether the handshake is not done. If the server does not take it, it is sent once more.
    pub(super) early: bool,
    pub(super) sent: Option<Instant>,
    pub(super) head: Option<(Instant, http::response::Parts, mpsc::Receiver<Part>)>,
}

impl Call {
    /// Reports whether the rest of a response with this head can be requested elsewhere.
    fn is_resumable(&self, head: &http::response::Parts) -> bool {
        self.replayable && resumable(&self.head, head).is_some()
    }

    /// Returns the head of one copy; nothing if it cannot be signed.
    fn head_to_send(&self) -> Option<Arc<http::request::Parts>> {
        #[cfg(feature = "sign")]
        if let Some(signer) = &self.signer {
            let mut head = (*self.head).clone();
            signer.sign(&mut head)?;
            return Some(Arc::new(head));
        }
        Some(Arc::clone(&self.head))
    }
}

impl Actor {
    pub(super) fn submit(&mut self, submission: Submission) {
        let Submission {
            id,
            asked,
            outbound,
            reply,
        } = submission;
        let OutboundRequest {
            origin,
            traits,
            label,
            head,
            body,
            limits,
            progress,
            is_part,
            #[cfg(feature = "sign")]
            signer,
        } = outbound;
        let waits_since = Instant::now();
        let timers = limits.timed();
        let timers = timers.map(|(phase, limit)| self.timer(id, phase, limit));
        let call = Call {
            origin: origin.clone(),
            label,
            #[cfg(feature = "sign")]
            signer,
            head: Arc::new(head),
            replayable: traits.replayable && traits.resends,
            body,
            asked,
            progress,
            tells_its_end: is_part,
            reply: Some(reply),
            ending: Arc::default(),
            copies: HashMap::new(),
            attempts: 0,
            status: None,
            idle_limit: limits.idle,
            connect_limit: limits.connect,
            connect_timer: None,
            waits_since,
            may_have_acted: false,
            timers: timers.collect(),
        };
        self.calls.insert(id, call);
        self.queue.push_back((id, traits));
        self.route_queued();
        // Most requests have a connection by now.
        if let Some(call) = self.calls.get(&id)
            && call.copies.is_empty()
            && call.reply.is_some()
            && call.connect_timer.is_none()
            && let Some(limit) = call.connect_limit
        {
            let timer = self.timer(id, Phase::Connect, limit);
            if let Some(call) = self.calls.get_mut(&id) {
                call.connect_timer = Some(timer);
            }
        }
    }

    /// Passes waiting requests to the router, as long as it has room.
    pub(super) fn route_queued(&mut self) {
        while self.calls.len() - self.queue.len() < route::MAX_CALLS {
            let Some((id, traits)) = self.queue.pop_front() else {
                return;
            };
            if let Some(call) = self.calls.get(&id) {
                let origin = &call.origin.clone();
                self.handle(route::Event::Call { id, origin, traits });
            }
        }
    }

    /// Fails a request whose limit passed, unless the request kept the limit meanwhile.
    pub(super) fn time_out(&mut self, id: CallId, phase: Phase) {
        let is_late = |call: &Call| match phase {
            Phase::Connect => {
                let waited = call.waits_since.elapsed();
                call.copies.is_empty()
                    && call.reply.is_some()
                    && call.connect_limit.is_some_and(|limit| waited >= limit)
            }
            Phase::FirstByte => call.reply.is_some(),
            Phase::Idle | Phase::Whole => true,
        };
        let Some(call) = self.calls.get(&id).filter(|call| is_late(call)) else {
            return;
        };
        let phase = match phase {
            // An app may send what has had no connection again.
            Phase::Connect if call.may_have_acted => Phase::FirstByte,
            phase => phase,
        };
        self.refuse(id, Error::TimedOut(phase));
        self.handle(route::Event::TimedOut(id));
    }

    fn timer(&self, id: CallId, phase: Phase, limit: Duration) -> AbortHandle {
        let messages = self.messages.clone();
        let timer = tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            messages.send(Message::TimedOut(id, phase)).ok();
        });
        timer.abort_handle()
    }

    /// Takes a request from a connection. If it has none left, the wait for the next has the same limit as the first.
    pub(super) fn take_from(
        &mut self,
        id: CallId,
        conn: ConnId,
        replay: Replay,
    ) -> Option<RequestCopy> {
        let call = self.calls.get_mut(&id)?;
        call.may_have_acted |= replay == Replay::MayHaveActed;
        let copy = call.copies.remove(&conn)?;
        if call.copies.is_empty()
            && call.reply.is_some()
            && let Some(limit) = call.connect_limit
        {
            call.waits_since = Instant::now();
            let timer = self.timer(id, Phase::Connect, limit);
            let before = self.calls.get_mut(&id)?.connect_timer.replace(timer);
            if let Some(before) = before {
                before.abort();
            }
        }
        Some(copy)
    }

    /// Cancels a request that the app dropped.
    pub(super) fn cancel(&mut self, id: CallId) {
        self.measure(id, 0, Outcome::Cancelled);
        self.handle(route::Event::Cancel(id));
        self.connecting.remove(&id);
        self.end(id);
    }

    pub(super) fn head(
        &mut self,
        call: CallId,
        conn: ConnId,
        at: Instant,
        head: http::response::Parts,
        body: mpsc::Receiver<Part>,
    ) {
        // Several lines are one list (RFC 9110 section 5.3).
        let alt_svc = head.headers.get_all(ALT_SVC).iter();
        let alt_svc = alt_svc.map(HeaderValue::as_bytes).collect::<Vec<_>>();
        let alt_svc = alt_svc.join(&b", "[..]);
        let asked = self.calls.get(&call);
        let resumable = asked.is_some_and(|call| call.is_resumable(&head));
        let kept = asked.is_some_and(|call| call.body.is_kept());
        let misdirected = head.status == StatusCode::MISDIRECTED_REQUEST;
        let Some(copy) = self.copy(call, conn) else {
            return;
        };
        copy.head = Some((at, head, body));
        self.handle(route::Event::Head {
            call,
            conn,
            misdirected,
            kept,
            alt_svc: &alt_svc,
            resumable,
        });
    }

    pub(super) fn copy(&mut self, call: CallId, conn: ConnId) -> Option<&mut RequestCopy> {
        self.calls.get_mut(&call)?.copies.get_mut(&conn)
    }

    pub(super) fn send(&mut self, id: CallId, conn_id: ConnId) {
        let (Some(call), Some(slot)) = (self.calls.get_mut(&id), self.conns.get_mut(&conn_id))
        else {
            return;
        };
        let Some(conn) = &slot.conn else {
            return;
        };
        if !conn.has_room(&slot.load) {
            // The router's next commands say where it goes instead.
            let now = self.now();
            let (call, conn) = (id, conn_id);
            return self.router.handle(route::Event::Full { call, conn }, now);
        }
        let Some(head) = call.head_to_send() else {
            let unsigned = "there are no random numbers to sign the request with";
            self.refuse(id, Error::Invalid(unsigned.to_owned()));
            // The router is busy with this one.
            self.messages.send(Message::Cancel(id)).ok();
            return;
        };
        call.attempts += 1;
        let exchange = Exchange {
            call: id,
            conn: conn_id,
            head,
            body: call.body.clone(),
            idle_limit: call.idle_limit,
            replayable: call.replayable,
            request: slot.load.request(),
            messages: self.messages.clone(),
        };
        // One that was sent early and is sent again opened it all the same.
        let reused = *slot.opener.get_or_insert(id) != id;
        let copy = RequestCopy {
            task: conn.start(exchange),
            reused,
            early: slot.tls.is_none(),
            sent: None,
            head: None,
        };
        call.copies.insert(conn_id, copy);
        if let (Some(report), Some(call)) = (self.report(id, conn_id), self.calls.get(&id)) {
            call.progress.set(report);
        }
    }

    pub(super) fn deliver(&mut self, id: CallId, conn_id: ConnId) {
        let report = self.report(id, conn_id);
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        // A connection may end as soon as its last response has come.
        let Some(report) = report.or_else(|| call.progress.report()) else {
            return;
        };
        let head = call
            .copies
            .get_mut(&conn_id)
            .and_then(|copy| copy.head.take());
        if let (Some((_, head, body)), Some(reply)) = (head, call.reply.take()) {
            call.progress.set(report.clone());
            call.status = Some(head.status);
            call.tells_its_end |= call.is_resumable(&head);
            let response = Response::new(head, body, Arc::clone(&call.ending), report);
            // If the receiver was dropped, the response's guard cancels the request.
            reply.send(Ok(response)).ok();
        }
    }

    /// Reports how a request fares on a connection.
    pub(super) fn report(&self, id: CallId, conn_id: ConnId) -> Option<Report> {
        let (call, slot) = (self.calls.get(&id)?, self.conns.get(&conn_id)?);
        let copy = call.copies.get(&conn_id)?;
        let reason = self.router.reason(id).unwrap_or(Reason::Opening);
        let mut report = slot.report(conn_id, reason, call.asked);
        report.reused |= copy.reused;
        report.early_data = copy.early;
        report.attempts = call.attempts;
        report.phases.request_sent_ns = ns_after(call.asked, copy.sent);
        let head = copy.head.as_ref().map(|(at, ..)| *at);
        report.phases.first_byte_ns = ns_after(call.asked, head);
        Some(report)
    }

    /// Records the measurements of a request that ends now, unless its reader does.
    pub(super) fn measure(&mut self, id: CallId, response_bytes: u64, outcome: Outcome) {
        let Some(call) = self.calls.get(&id).filter(|call| !call.tells_its_end) else {
            return;
        };
        let reason = self.router.reason(id);
        let mut report = call.progress.report();
        if let (Some(report), Some(reason)) = (&mut report, reason) {
            report.reason = reason;
        }
        let ended = EndedRequest {
            origin: call.origin.clone(),
            method: call.head.method.clone(),
            status: call.status,
            label: call.label.clone(),
            request_bytes: call.body.length().unwrap_or(0),
            response_bytes,
            asked: call.asked,
            report,
            outcome,
        };
        let attempts = call.attempts;
        self.record(ended, attempts);
    }

    /// Adds a request that has ended to the metrics.
    pub(super) fn record(&mut self, ended: EndedRequest, attempts: u32) {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let report = ended.report;
        self.metrics.add(RequestMeasurement {
            origin: format!("{}:{}", ended.origin.host, ended.origin.port),
            method: ended.method,
            status: ended.status,
            label: ended.label,
            network: self.router.network(),
            h3_on: self.router.h3_is_on(),
            protocol: report.as_ref().map(|report| report.protocol),
            reason: report
                .as_ref()
                .map_or("opening", |report| report.reason.code()),
            first: report.as_ref().is_none_or(|report| !report.reused),
            attempts,
            start_ns: ns(ended.asked.saturating_duration_since(self.began)),
            hour: hour(),
            phases: report.map(|report| report.phases).unwrap_or_default(),
            end_ns: ns(ended.asked.elapsed()),
            request_bytes: ended.request_bytes,
            response_bytes: ended.response_bytes,
            outcome: ended.outcome,
        });
    }

    /// Ends a request with an error.
    pub(super) fn refuse(&mut self, id: CallId, error: Error) {
        if let Some(connecting) = self.connecting.remove(&id) {
            // The receiver may have been dropped.
            connecting.reply.send(Err(error)).ok();
            return;
        }
        self.measure(id, 0, Outcome::of(&error));
        if let Some(call) = self.calls.get_mut(&id) {
            call.ending.set(error.clone()).ok();
            if let Some(reply) = call.reply.take() {
                // The receiver may have been dropped.
                reply.send(Err(error)).ok();
            }
        }
        self.end(id);
    }

    pub(super) fn end(&mut self, id: CallId) {
        if let Some(call) = self.calls.remove(&id) {
            if !self.queue.is_empty() {
                self.queue.retain(|(queued, _)| *queued != id);
                // Not now: the router may be busy with this one.
                self.messages.send(Message::Room).ok();
            }
            for task in call
                .copies
                .into_values()
                .map(|copy| copy.task)
                .chain(call.timers)
                .chain(call.connect_timer)
            {
                task.abort();
            }
        }
    }
}
