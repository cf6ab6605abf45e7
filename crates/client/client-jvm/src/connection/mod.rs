//! The engine's end of a socket: reads requests, sends them, and writes their responses, one after another.

mod fields;
mod response;
mod upload;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use client::{Engine, Error, Fault, Progress, Protocol, Report, Request, Response};
use http::header::HOST;

use crate::close_reason::{CloseKind, CloseReason};
use crate::http1::{self, Head, Malformed};
use crate::pipe::{Closed, EngineEnd};
use fields::{concerns_connection, is_end_to_end, names_origin};

/// The context of a connection: its engine, its origin, and the state of its socket.
pub(crate) struct ConnectionContext {
    /// Kept alive by requests under way, not by an idle socket.
    pub(crate) engine: Weak<Engine>,
    /// `https://host:port`, without the port if it is 443.
    pub(crate) origin: String,
    pub(crate) state: Arc<Mutex<SocketState>>,
}

/// Options of a call. OkHttp's pool passes sockets from call to call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOptions {
    /// How long a request may wait for a connection.
    pub(crate) connect_limit: Option<Duration>,
    /// Whether the engine may send a request again.
    pub(crate) resends: bool,
    /// Number of the app's connection pool.
    pub(crate) pool: i32,
}

/// The state of a socket and its requests, shared by both ends.
#[derive(Debug, Default)]
pub(crate) struct SocketState {
    /// How the next request is sent.
    pub(crate) options: CallOptions,
    /// Whether the last response is complete, no request has followed, and the socket may carry one.
    pub(crate) idle: bool,
    /// How the last response came; none while the next one is awaited.
    pub(crate) facts: Option<ResponseFacts>,
    /// The progress of the current request.
    pub(crate) progress: Progress,
    /// When the engine received it.
    pub(crate) asked: Option<Instant>,
    /// How the connection was opened that the first request will take.
    pub(crate) opened: Option<Report>,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            connect_limit: None,
            resends: true,
            pool: 0,
        }
    }
}

impl SocketState {
    fn begin(&mut self, progress: &Progress) {
        (self.facts, self.progress, self.idle) = (None, progress.clone(), false);
    }

    fn set_answered(&mut self, report: Report, chunked_here: bool) {
        self.facts = Some(self.facts_of(report, chunked_here));
        self.opened = None;
    }

    /// Converts the client's report to the facts for the app. Opening the connection is part of the request that takes
    /// it first.
    pub(crate) fn facts_of(&self, mut report: Report, chunked_here: bool) -> ResponseFacts {
        let mut asked = self.asked;
        if let Some(opened) = &self.opened
            && opened.connection == report.connection
        {
            asked = Some(opened.asked);
            report.include_opening(opened);
        }
        ResponseFacts {
            report,
            asked,
            chunked_here,
        }
    }
}

/// Facts about a response, for the app.
#[derive(Clone, Debug)]
pub(crate) struct ResponseFacts {
    pub(crate) report: Report,
    /// When the engine received the request.
    pub(crate) asked: Option<Instant>,
    /// Whether the response is chunked although the server's was not.
    pub(crate) chunked_here: bool,
}

/// The reason why a connection stops.
enum StopReason {
    /// The app closed it.
    ClosedByApp,
    ClosedByEngine(CloseReason),
}

/// Serves one socket until either end closes it.
pub(crate) async fn serve(context: ConnectionContext, pipe: EngineEnd<CloseReason>) {
    let mut connection = Connection {
        context,
        pipe: &pipe,
        unread: BytesMut::new(),
    };
    let stop = connection.run().await;
    drop(connection);
    if let Err(StopReason::ClosedByEngine(end)) = stop {
        pipe.end(end);
    }
}

struct Connection<'a> {
    context: ConnectionContext,
    pipe: &'a EngineEnd<CloseReason>,
    unread: BytesMut,
}

impl Connection<'_> {
    async fn run(&mut self) -> Result<(), StopReason> {
        self.connect().await?;
        loop {
            let head = self.head().await?;
            self.exchange(head).await?;
        }
    }

    /// Opens a connection, so that its failure is a failure to connect for the app.
    async fn connect(&mut self) -> Result<(), StopReason> {
        let engine = self.engine()?;
        let opened = engine.connect(&self.context.origin);
        let limit = self.state().options.connect_limit;
        let connected = tokio::select! {
            connected = opened => connected?,
            () = within(limit) => return Err(StopReason::connect_timed_out()),
            () = self.pipe.closed() => return Err(StopReason::ClosedByApp),
        };
        if !connected.report.reused {
            self.state().opened = Some(connected.report);
        }
        self.pipe.connected();
        Ok(())
    }

    async fn head(&mut self) -> Result<Head, StopReason> {
        loop {
            if let Some(head) = http1::request_head(&mut self.unread)? {
                return Ok(head);
            }
            self.pipe.read(&mut self.unread).await?;
        }
    }

    async fn exchange(&mut self, head: Head) -> Result<(), StopReason> {
        let engine = self.engine()?;
        let progress = Progress::default();
        self.state().begin(&progress);
        let method = head.method.clone();
        let request = self.request(&engine, &head, &progress)?;
        if head.expects_continue {
            self.pipe.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let sent = self.send(head.body, request).await?;
        self.respond(engine, &method, sent.response).await?;
        self.state().progress = Progress::default();
        match sent.body_is_whole {
            true => Ok(()),
            // What is left of the body would be read as a request.
            false => Err(StopReason::ClosedByEngine(CloseReason::cut_off(
                "the request was not written whole",
            ))),
        }
    }

    fn engine(&self) -> Result<Arc<Engine>, StopReason> {
        self.context
            .engine
            .upgrade()
            .ok_or(StopReason::ClosedByEngine(CloseReason::default()))
    }

    fn state(&self) -> MutexGuard<'_, SocketState> {
        lock(&self.context.state)
    }

    fn request(
        &self,
        engine: &Engine,
        head: &Head,
        progress: &Progress,
    ) -> Result<Request, StopReason> {
        if !head.target.starts_with('/') {
            return Err(Malformed("the target is not a path").into());
        }
        if concerns_connection(&head.headers) {
            return Err(Malformed("the request asks to close or upgrade its connection").into());
        }
        let url = format!("{}{}", self.context.origin, head.target);
        let request = engine.request(head.method.clone(), &url);
        let mut request = request.progress(progress);
        let options = self.state().options;
        if let Some(limit) = options.connect_limit {
            request = request.connect_limit(limit);
        }
        if !options.resends {
            // Nor is the rest of a body asked for that breaks off.
            request = request.resends(false).idempotent(false);
        }
        for (name, value) in &head.headers {
            let differs = name == HOST && !names_origin(value, &self.context.origin);
            if differs || is_end_to_end(name, &head.headers) {
                request = request.header(name, value);
            }
        }
        Ok(request)
    }

    /// Sends the request, and records the time.
    fn sent(&self, request: Request) -> impl Future<Output = Result<Response, StopReason>> + use<> {
        let state = Arc::clone(&self.context.state);
        lock(&state).asked = Some(Instant::now());
        async move {
            let response = request.send().await;
            response.map_err(|error| stop_of(error, &lock(&state)))
        }
    }
}

/// Returns the reason why a request has no response. A response that is malformed over HTTP/1.1 may be one that OkHttp
/// reads.
fn stop_of(error: Error, state: &SocketState) -> StopReason {
    let malformed = matches!(
        error,
        Error::Failed {
            fault: Fault::Malformed,
            ..
        }
    );
    let report = state.progress.report();
    if malformed && report.is_some_and(|report| report.protocol == Protocol::H1) {
        return StopReason::ClosedByEngine(CloseReason::new(
            CloseKind::MalformedHead,
            error.to_string(),
        ));
    }
    StopReason::ClosedByEngine(error.into())
}

fn lock(state: &Mutex<SocketState>) -> MutexGuard<'_, SocketState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Completes after this time; never if there is none.
async fn within(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

impl StopReason {
    fn connect_timed_out() -> Self {
        let message = "no connection within the connect time-out";
        Self::ClosedByEngine(CloseReason::new(CloseKind::ConnectTimedOut, message))
    }
}

impl From<Closed> for StopReason {
    fn from(_: Closed) -> Self {
        Self::ClosedByApp
    }
}

impl From<Malformed> for StopReason {
    fn from(Malformed(message): Malformed) -> Self {
        Self::ClosedByEngine(CloseReason::new(CloseKind::Unavailable, message))
    }
}

impl From<Error> for StopReason {
    fn from(error: Error) -> Self {
        Self::ClosedByEngine(error.into())
    }
}

#[cfg(test)]
pub(crate) mod tests;
