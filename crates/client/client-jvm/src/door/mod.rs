//! The engine's side of a socket: requests in, responses out, one after another.

mod answer;
mod body;
mod fields;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use client::{Engine, Error, Fault, Progress, Protocol, Report, Request, Response};
use http::header::HOST;

use crate::end::{End, Kind};
use crate::http1::{self, Head, Malformed};
use crate::pipe::{Closed, EngineEnd};
use fields::{concerns_connection, is_end_to_end, names_origin};

/// Where a socket leads.
pub(crate) struct Door {
    /// Kept alive by requests under way, not by an idle socket.
    pub(crate) engine: Weak<Engine>,
    /// `https://host:port`, without the port if it is 443.
    pub(crate) origin: String,
    pub(crate) news: Arc<Mutex<News>>,
}

/// How a call wants its requests sent. OkHttp's pool passes sockets from call to call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOptions {
    /// How long a request may wait for a connection.
    pub(crate) connect_limit: Option<Duration>,
    /// Whether the engine may send a request again.
    pub(crate) resends: bool,
    /// Number of the app's connection pool.
    pub(crate) pool: i32,
}

/// What both ends know of a socket's requests.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// How the next request is sent.
    pub(crate) options: CallOptions,
    /// Whether the last response is complete, no request has followed, and the socket may carry one.
    pub(crate) idle: bool,
    /// How the last response came; none while the next one is awaited.
    pub(crate) facts: Option<Facts>,
    /// How the request under way fares.
    pub(crate) progress: Progress,
    /// When the engine was asked for it.
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

impl News {
    fn begin(&mut self, progress: &Progress) {
        (self.facts, self.progress, self.idle) = (None, progress.clone(), false);
    }

    fn answered(&mut self, report: Report, chunked_here: bool) {
        self.facts = Some(self.facts_of(report, chunked_here));
        self.opened = None;
    }

    /// Converts the client's report to the facts for the app. Opening the connection is part of the request that takes
    /// it first.
    pub(crate) fn facts_of(&self, mut report: Report, chunked_here: bool) -> Facts {
        let mut asked = self.asked;
        if let Some(opened) = &self.opened
            && opened.connection == report.connection
        {
            asked = Some(opened.asked);
            report.include_opening(opened);
        }
        Facts {
            report,
            asked,
            chunked_here,
        }
    }
}

/// How a response came.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) report: Report,
    /// When the engine was asked.
    pub(crate) asked: Option<Instant>,
    /// Whether the response is chunked although the server's was not.
    pub(crate) chunked_here: bool,
}

/// Why a socket ends.
enum Stop {
    /// The app closed it.
    Closed,
    With(End),
}

/// Serves one socket until either end closes it.
pub(crate) async fn serve(door: Door, pipe: EngineEnd<End>) {
    let mut connection = Connection {
        door,
        pipe: &pipe,
        unread: BytesMut::new(),
    };
    let stop = connection.run().await;
    drop(connection);
    if let Err(Stop::With(end)) = stop {
        pipe.end(end);
    }
}

struct Connection<'a> {
    door: Door,
    pipe: &'a EngineEnd<End>,
    unread: BytesMut,
}

impl Connection<'_> {
    async fn run(&mut self) -> Result<(), Stop> {
        self.connect().await?;
        loop {
            let head = self.head().await?;
            self.exchange(head).await?;
        }
    }

    /// Opens a connection, so that what fails there fails for the app while it connects.
    async fn connect(&mut self) -> Result<(), Stop> {
        let engine = self.engine()?;
        let opened = engine.connect(&self.door.origin);
        let limit = self.news().options.connect_limit;
        let connected = tokio::select! {
            connected = opened => connected?,
            () = within(limit) => return Err(Stop::connect_timed_out()),
            () = self.pipe.closed() => return Err(Stop::Closed),
        };
        if !connected.report.reused {
            self.news().opened = Some(connected.report);
        }
        self.pipe.connected();
        Ok(())
    }

    async fn head(&mut self) -> Result<Head, Stop> {
        loop {
            if let Some(head) = http1::request_head(&mut self.unread)? {
                return Ok(head);
            }
            self.pipe.read(&mut self.unread).await?;
        }
    }

    async fn exchange(&mut self, head: Head) -> Result<(), Stop> {
        let engine = self.engine()?;
        let progress = Progress::default();
        self.news().begin(&progress);
        let method = head.method.clone();
        let request = self.request(&engine, &head, &progress)?;
        if head.expects_continue {
            self.pipe.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let sent = self.send(head.body, request).await?;
        self.answer(engine, &method, sent.response).await?;
        self.news().progress = Progress::default();
        match sent.body_is_whole {
            true => Ok(()),
            // What is left of the body would be read as a request.
            false => Err(Stop::With(End::cut_off(
                "the request was not written whole",
            ))),
        }
    }

    fn engine(&self) -> Result<Arc<Engine>, Stop> {
        self.door.engine.upgrade().ok_or(Stop::With(End::default()))
    }

    fn news(&self) -> MutexGuard<'_, News> {
        lock(&self.door.news)
    }

    fn request(&self, engine: &Engine, head: &Head, progress: &Progress) -> Result<Request, Stop> {
        if !head.target.starts_with('/') {
            return Err(Malformed("the target is not a path").into());
        }
        if concerns_connection(&head.headers) {
            return Err(Malformed("the request asks to close or upgrade its connection").into());
        }
        let url = format!("{}{}", self.door.origin, head.target);
        let request = engine.request(head.method.clone(), &url);
        let mut request = request.progress(progress);
        let options = self.news().options;
        if let Some(limit) = options.connect_limit {
            request = request.connect_limit(limit);
        }
        if !options.resends {
            // Nor is the rest of a body asked for that breaks off.
            request = request.resends(false).idempotent(false);
        }
        for (name, value) in &head.headers {
            let differs = name == HOST && !names_origin(value, &self.door.origin);
            if differs || is_end_to_end(name, &head.headers) {
                request = request.header(name, value);
            }
        }
        Ok(request)
    }

    /// Sends the request, and notes when.
    fn sent(&self, request: Request) -> impl Future<Output = Result<Response, Stop>> + use<> {
        let news = Arc::clone(&self.door.news);
        lock(&news).asked = Some(Instant::now());
        async move {
            let response = request.send().await;
            response.map_err(|error| stop_of(error, &lock(&news)))
        }
    }
}

/// Returns the reason why a request has no response. A response that is malformed over HTTP/1.1 may be one that OkHttp
/// reads.
fn stop_of(error: Error, news: &News) -> Stop {
    let malformed = matches!(
        error,
        Error::Failed {
            fault: Fault::Malformed,
            ..
        }
    );
    let report = news.progress.report();
    if malformed && report.is_some_and(|report| report.protocol == Protocol::H1) {
        return Stop::With(End::new(Kind::MalformedHead, error.to_string()));
    }
    Stop::With(error.into())
}

fn lock(news: &Mutex<News>) -> MutexGuard<'_, News> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Completes after this time; never if there is none.
async fn within(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

impl Stop {
    fn connect_timed_out() -> Self {
        let why = "no connection within the connect time-out";
        Self::With(End::new(Kind::ConnectTimedOut, why))
    }
}

impl From<Closed> for Stop {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl From<Malformed> for Stop {
    fn from(Malformed(why): Malformed) -> Self {
        Self::With(End::new(Kind::Unavailable, why))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::With(error.into())
    }
}

#[cfg(test)]
mod tests;
